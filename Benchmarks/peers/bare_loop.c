/* The yardstick for hits: a libevent loop that reads a request head and writes the same bytes as Holdfast would, with no
   parsing, no cache and no policy. What Holdfast needs beyond it is the price of being a cache.

   usage: bare_loop PORT FILE     FILE holds the whole answer, head and body */
#include <arpa/inet.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/tcp.h>

static char *answer;
static size_t answer_length;

typedef struct {
  struct event *readable;
  size_t held; /* bytes of an incomplete head */
  char bytes[16384];
} connection;

static void end(connection *c, evutil_socket_t fd) {
  event_free(c->readable);
  close(fd);
  free(c);
}

static void on_readable(evutil_socket_t fd, short what, void *context) {
  (void)what;
  connection *c = context;
  ssize_t count = read(fd, c->bytes + c->held, sizeof c->bytes - c->held);
  if (count <= 0) { end(c, fd); return; }
  size_t length = c->held + (size_t)count;
  char *from = c->bytes, *stop = c->bytes + length, *blank;
  while ((blank = memmem(from, (size_t)(stop - from), "\r\n\r\n", 4)) != NULL) {
    from = blank + 4;
    if (write(fd, answer, answer_length) != (ssize_t)answer_length) { end(c, fd); return; }
  }
  c->held = (size_t)(stop - from);
  memmove(c->bytes, from, c->held);
}

static void on_connection(
    struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int length, void *context) {
  (void)address; (void)length; (void)context;
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  connection *c = calloc(1, sizeof *c);
  c->readable = event_new(evconnlistener_get_base(listener), fd, EV_READ | EV_PERSIST, on_readable, c);
  event_add(c->readable, NULL);
}

int main(int count, char **arguments) {
  if (count != 3) { fprintf(stderr, "usage: bare_loop PORT FILE\n"); return 2; }
  FILE *file = fopen(arguments[2], "rb");
  if (file == NULL) { perror(arguments[2]); return 1; }
  fseek(file, 0, SEEK_END);
  answer_length = (size_t)ftell(file);
  rewind(file);
  answer = malloc(answer_length);
  if (fread(answer, 1, answer_length, file) != answer_length) { perror("read"); return 1; }
  struct event_base *base = event_base_new();
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (evconnlistener_new_bind(base, on_connection, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, 1024,
                              (struct sockaddr *)&address, sizeof address) == NULL) { perror("listen"); return 1; }
  return event_base_dispatch(base);
}
