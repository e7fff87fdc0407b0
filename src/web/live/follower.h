// Declarations shared by the files of the stream: the stream, and its followers. A follower is one
// response of server-sent events.
#pragma once

#include "curve.h"
#include "exchange.h"
#include "ring.h"
#include "stream.h"

enum {
    STREAM_KINDS = RING_STATION + 1,
    STREAM_PAGE_SIZE = 128 + RING_EPOCH_SIZE + RING_ENTRY_SIZE
};

struct stream {
    struct server *server;
    struct zplan_events *events; // connected from the start, so that a selection takes effect soon
    struct source source;
    struct timer read_timer, tick;
    struct ring ring;
    bool known; // epoch and last run: the history was read since the first follower joined
    bool reading, read_again, asking_stats, stopped, down;
    int64_t read_us; // when the history was read last
    // Cursor of the next page of the history; "" = after the last broadcast. Sequence numbers are
    // not used, since a whole page may have none.
    char after[RING_ENTRY_SIZE];
    char filter[STREAM_PAGE_SIZE]; // filter of the history request in flight
    struct follower *first;
    size_t wanted[STREAM_KINDS];
    size_t selected;        // index in the choices of select_events
    int64_t selected_us;    // when a selection of this size was last wanted
    int64_t grown_us;       // when the selection grew: events may be missing; 0: long ago
    bool grown_unconfirmed; // the selection grew, and no event has shown yet that the station uses
                            // it
};

struct follower {
    struct follower *next;
    struct exchange *exchange; // NULL: the stream has ended, and a question is still in flight
    struct stream *stream;
    unsigned wants;                     // a bit for each enum ring_kind
    char stations[CURVE_STATIONS_SIZE]; // targets that the key is limited to; "" = all
    char target[RING_TARGET_SIZE], title[65];
    uint64_t plan;
    bool greeted, ending, question_in_flight;
    bool down_sent; // the client was notified that the station is away
    bool left;      // the client has closed the connection
    bool has_id;    // the request named the event to begin after
    char epoch[RING_EPOCH_SIZE];
    int64_t seq;                 // seq of the last run that was sent
    int64_t place;               // position in the ring of the next event
    char after[RING_ENTRY_SIZE]; // while it is behind: cursor of the next history page
    char filter[STREAM_PAGE_SIZE];
    char *pending; // output to be sent
    size_t size, sent;
    int64_t comment_us, permissions_us;
};

const char *stream_state (const struct stream *self);

// Write the filter for a page of the history after a broadcast; `after`: the `next` of the previous
// page, "" = none.
void stream_write_filter (char ret[STREAM_PAGE_SIZE], int64_t since, const char *epoch,
                          const char *after, int limit);

// The text of a server-sent event; the caller frees it. `id` NULL: no id.
char *stream_event_text (const char *id, const char *name, const json_t *data, size_t *ret_size);

// Make the event of a run of the history, which has the wire's names. False: the run has no
// sequence number.
bool stream_run_event (const char *epoch, const json_t *run, struct ring_event *ret);

// Add a follower, which has `wants`.
void stream_join (struct stream *self, struct follower *follower);
void stream_leave (struct stream *self, struct follower *follower);

// ---- follower.c

void follower_tick (struct follower *self);

// Answer the request with a stream, which begins after the event that is named.
void api_stream (struct exchange *exchange);
