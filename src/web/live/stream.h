// Events of the station, for all streams.
//
// The history is the source, a broadcast only the bell: at each result that is published, and each
// two seconds without one, the history is read from the last known run on, once for all. So an
// event that is live has the same bytes as one that is sent again. Without followers nothing is
// read.
#pragma once

#include <stdbool.h>

#include "gateway.h"
#include "ring.h"
#include "web_settings.h"

struct stream;
struct follower;
struct server;

// NULL with a reason: the events sockets cannot be connected to.
struct stream *stream_new (struct server *server, struct reason *reason);

// All streams end.
void stream_stop (struct stream *self);
void stream_destroy (struct stream **self);

const struct ring *stream_ring (const struct stream *self);

// Whether the epoch and the last run are known; "up", or "down".
bool stream_is_known (const struct stream *self);
const char *stream_state (const struct stream *self);

// The filter for a page of the history after a broadcast; `after`: the `next` of the page before,
// "" = there was none.
enum { STREAM_PAGE_SIZE = 128 + RING_EPOCH_SIZE + RING_ENTRY_SIZE };
void stream_page (char ret[STREAM_PAGE_SIZE], int64_t since, const char *epoch, const char *after,
                  int limit);

// An event as it is sent. `id` NULL: it has none.
char *stream_text (const char *id, const char *name, const json_t *data, size_t *ret_size);

// The event of a run of the history, in the wire's names. False: it has no number.
bool stream_run (const char *epoch, const json_t *run, struct ring_event *ret);

// How many followers are like this.
typedef bool stream_match_fn (const struct follower *one, const void *of);
size_t stream_count (const struct stream *self, stream_match_fn *is, const void *of);

// ---- followers, follower.c

// Someone follows; `wants` as bits of enum ring_kind.
void stream_join (struct stream *self, struct follower *follower, unsigned wants);
void stream_leave (struct stream *self, struct follower *follower, unsigned wants);

// There may be something to send: called for each at every event, and each second.
void follower_wake (struct follower *self);
void follower_end (struct follower *self);
void follower_tick (struct follower *self);
struct follower **follower_next (struct follower *self);
