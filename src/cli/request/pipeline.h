// Sends requests to the station, many in flight at once (zplan_client_send). A busy station replies
// with a delay, after which the request is resent. A request that failed because Redis was away is
// resent a few times within seconds, unless it is a plan without an id or `restore history`. Other
// commands that must not be repeated may not be sent here.
#pragma once

#include "call.h"

struct pipeline;

enum { PIPELINE_ROOM = 256 }; // requests in flight

// Called once with the result of each request, possibly from within pipeline_send. `item` is the
// argument of pipeline_send, `outcome` an enum zplan_error; the reply is valid during the call, and
// NULL unless `outcome` is ZPLAN_OK. After ZPLAN_OK the callback may send one request.
typedef void pipeline_fn (void *owner, void *item, int outcome, const struct zplan_reply *reply);

// Connect. NULL: reported on stderr, and the verb ends with `ret_exit`.
struct pipeline *pipeline_open (const struct cli *cli, pipeline_fn *answered, void *owner,
                                int *ret_exit);

// Close the connection. Requests in flight are dropped, without their callbacks.
void pipeline_destroy (struct pipeline **self);

// Send a request; its bytes are copied. At most 32 frames, including the REQUEST_ID, which is added
// if it is missing. Waits while PIPELINE_ROOM requests are in flight. A request with the REQUEST_ID
// of one in flight is sent when that is answered. False: the station is, or was before,
// unresponsive; all requests in flight have ended with ZPLAN_ERROR_NO_ANSWER, and this one was not
// sent and gets no callback.
bool pipeline_send (struct pipeline *self, uint8_t command, const struct zplan_frame *frames,
                    size_t count, void *item);

// Send an admin command, as zplan_client_manage does. False: as for pipeline_send.
bool pipeline_manage (struct pipeline *self, const char *word, const char *const *args,
                      size_t count, void *item);

// Wait until no request is in flight. False: the station is unresponsive.
bool pipeline_drain (struct pipeline *self);
