// A small HTTP/1.1 server: GET /metrics, and nothing else. One thread, bounded.
#pragma once

#include "reason.h"

// Makes the text to serve, which the server frees. Called at most once a second.
typedef char *metrics_make_fn (void *owner);

// Which addresses the server may bind to.
enum metrics_reach { METRICS_LOCAL, METRICS_ANYBODY };

// Bind to ADDRESS:PORT or [ADDRESS]:PORT, port 0 for any; `ret_port` is the bound port. EXIT_DONE,
// or EXIT_USAGE or EXIT_REFUSED with a reason.
int metrics_bind (const char *address, enum metrics_reach reach, int *ret_listener, int *ret_port,
                  struct reason *reason);

// Serve until `stop_fd` is readable.
void metrics_serve (int listener, int stop_fd, metrics_make_fn *make, void *owner);
