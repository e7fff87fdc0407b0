// Requests to the station, many in flight at once (zplan_client_send), and no more than it takes: a
// station that is busy says how long to wait, and then the request is resent. So is, some times
// within seconds, one that Redis was away for, unless it is a plan without an id, or
// `restore history`. Other commands that must not be repeated have no place here.
#pragma once

#include "call.h"

struct pipeline;

enum { PIPELINE_ROOM = 256 }; // requests in flight

// What became of a request, `item` as it was given with it; once for each, possibly from within
// pipeline_send. `outcome` is an enum zplan_error; the reply is borrowed for the call, and NULL
// unless that is ZPLAN_OK. After ZPLAN_OK one request may be sent from here: its place is free.
typedef void pipeline_fn (void *owner, void *item, int outcome, const struct zplan_reply *reply);

// NULL: reported on stderr, and the verb ends with `ret_exit`.
struct pipeline *pipeline_open (const struct cli *cli, pipeline_fn *answered, void *owner,
                                int *ret_exit);

// Requests in flight are dropped, without their callbacks.
void pipeline_destroy (struct pipeline **self);

// Send a request; its bytes are copied. At most 32 frames, with the REQUEST_ID that it is given
// unless it has one. Waits while it is full. One with the REQUEST_ID of another in flight is sent
// when that is answered. False: the station is unresponsive, now or before; all in flight have
// ended with ZPLAN_ERROR_NO_ANSWER, this one was not sent and has no callback.
bool pipeline_send (struct pipeline *self, uint8_t command, const struct zplan_frame *frames,
                    size_t count, void *item);

// An admin command, as zplan_client_manage.
bool pipeline_manage (struct pipeline *self, const char *word, const char *const *args,
                      size_t count, void *item);

// Wait until nothing is in flight any more. False as above.
bool pipeline_drain (struct pipeline *self);
