// The latest events of the station, shared by all followers. Pure.
//
// Events have positions, which this program counts up; runs also have the sequence number of their
// broadcast. All runs with a number above `base` are in the ring, in order.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    RING_EVENTS = 4096,
    RING_BYTES = 8 << 20,
    RING_EPOCH_SIZE = 64,
    RING_ENTRY_SIZE = 48, // a cursor of the history
    RING_TARGET_SIZE = 65
};

enum ring_kind {
    RING_RUN,     // of the history
    RING_PLAN,    // a plan has changed
    RING_STATS,   // the station's numbers
    RING_STATION, // the station became unreachable or reachable; or a gap
};

struct ring_event {
    enum ring_kind kind;
    int64_t seq;   // number of the run's broadcast; 0: not a run
    uint64_t plan; // id of the plan; 0: none
    char target[RING_TARGET_SIZE];
    char *title; // "" = none
    char *text;  // as it is sent: lines, then an empty one
    size_t size;
};

struct ring {
    struct ring_event events[RING_EVENTS];
    int64_t first, end; // positions: of the oldest event, and after the last one
    size_t bytes;
    int64_t base; // broadcast number: every run with a higher one is in the ring
    int64_t last; // number of the last broadcast
    char epoch[RING_EPOCH_SIZE];
};

// Append an event, and drop the oldest ones if the ring is full. `title` and `text` are taken.
void ring_put (struct ring *self, const struct ring_event *event);

// The event at a position that was not dropped yet; NULL: after the last one.
const struct ring_event *ring_at (const struct ring *self, int64_t place);

// Drop all events, and begin after the run with number `last` of this epoch.
void ring_reset (struct ring *self, const char *epoch, int64_t last);
