// Events of the station, for all streams.
//
// Events of runs are read from the history; a broadcast is only the trigger: after each published
// result, and after two seconds without one, new runs are read from the history once for all
// streams. So a live event has the same bytes as a resent one. Without followers nothing is read.
#pragma once

#include <stdbool.h>

#include "gateway.h"
#include "ring.h"
#include "web_settings.h"

struct stream;
struct follower;
struct server;

// Create the stream and connect to the events sockets. NULL with a reason.
struct stream *stream_new (struct server *server, struct reason *reason);

// End all streams.
void stream_stop (struct stream *self);
void stream_destroy (struct stream **self);

const struct ring *stream_ring (const struct stream *self);

// Whether the epoch and the last run are known: the history was read since the first follower
// joined.
bool stream_is_known (const struct stream *self);
const char *stream_state (const struct stream *self);

// Write the filter for a page of the history after a broadcast; `after`: the `next` of the previous
// page, "" = none.
enum { STREAM_PAGE_SIZE = 128 + RING_EPOCH_SIZE + RING_ENTRY_SIZE };
void stream_write_filter (char ret[STREAM_PAGE_SIZE], int64_t since, const char *epoch,
                          const char *after, int limit);

// The text of a server-sent event; the caller frees it. `id` NULL: no id.
char *stream_event_text (const char *id, const char *name, const json_t *data, size_t *ret_size);

// Make the event of a run of the history, which has the wire's names. False: the run has no
// sequence number.
bool stream_run_event (const char *epoch, const json_t *run, struct ring_event *ret);

// The number of followers for which `is` returns true.
typedef bool stream_match_fn (const struct follower *one, const void *of);
size_t stream_count (const struct stream *self, stream_match_fn *is, const void *of);

// ---- followers, follower.c

// Add a follower; `wants` has a bit for each enum ring_kind.
void stream_join (struct stream *self, struct follower *follower, unsigned wants);
void stream_leave (struct stream *self, struct follower *follower, unsigned wants);

// Resume the output of a follower, as there may be something to send.
void follower_wake (struct follower *self);
void follower_end (struct follower *self);
void follower_tick (struct follower *self);
struct follower **follower_next (struct follower *self);
