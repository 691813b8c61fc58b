int hl_placeholder(void);
