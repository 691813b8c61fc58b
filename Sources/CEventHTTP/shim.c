int hl_placeholder(void){return 0;}
