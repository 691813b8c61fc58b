/* An origin that takes a stated time for each answer, however many ask at once.

   usage: slow_origin PORT MILLISECONDS      GET: 200 with 1 KiB; anything else: 204. The number of requests: GET /count */
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct event_base *base;
static struct timeval delay;
static long requests;
static char body[1024];

static void answer(evutil_socket_t fd, short what, void *context) {
  (void)fd; (void)what;
  struct evhttp_request *request = context;
  struct evkeyvalq *fields = evhttp_request_get_output_headers(request);
  if (evhttp_request_get_command(request) != EVHTTP_REQ_GET) {
    evhttp_send_reply(request, 204, "No Content", NULL);
    return;
  }
  struct evbuffer *buffer = evbuffer_new();
  evhttp_add_header(fields, "Content-Type", "application/octet-stream");
  evhttp_add_header(fields, "Cache-Control", "max-age=3600");
  evbuffer_add_reference(buffer, body, sizeof body, NULL, NULL);
  evhttp_send_reply(request, 200, "OK", buffer);
  evbuffer_free(buffer);
}

static void on_request(struct evhttp_request *request, void *context) {
  (void)context;
  if (strcmp(evhttp_request_get_uri(request), "/count") == 0) {
    struct evbuffer *buffer = evbuffer_new();
    evbuffer_add_printf(buffer, "%ld\n", requests);
    evhttp_send_reply(request, 200, "OK", buffer);
    evbuffer_free(buffer);
    return;
  }
  requests++;
  if (delay.tv_sec == 0 && delay.tv_usec == 0) answer(-1, 0, request);
  else event_base_once(base, -1, EV_TIMEOUT, answer, request, &delay);
}

int main(int count, char **arguments) {
  if (count != 3) { fprintf(stderr, "usage: slow_origin PORT MILLISECONDS\n"); return 2; }
  memset(body, 'x', sizeof body);
  long milliseconds = atol(arguments[2]);
  delay = (struct timeval){.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
  /* Timers of a microsecond: rounded to a millisecond they would hide what a proxy adds. */
  struct event_config *config = event_config_new();
  event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
  base = event_base_new_with_config(config);
  struct evhttp *http = evhttp_new(base);
  evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT | EVHTTP_REQ_POST |
                                       EVHTTP_REQ_DELETE | EVHTTP_REQ_PATCH);
  evhttp_set_gencb(http, on_request, NULL);
  if (evhttp_bind_socket(http, "127.0.0.1", (ev_uint16_t)atoi(arguments[1])) != 0) { perror("listen"); return 1; }
  return event_base_dispatch(base);
}
