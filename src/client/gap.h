// What a watcher knows of the results it has passed on, and what the seq of the next one means.
// Pure: no sockets, no clock.
//
// The station numbers its broadcasts 1, 2, 3, ... within an epoch, and one connection brings them
// in this order. Everything up to `last` is passed on or was there before the watch began, so a
// number that is not the next one tells what is missing. One that is not larger is either a result
// that the history told first, or the station has lost its latest writes and gives numbers again:
// then the run is another one, and has another exec_id.
//
// Of several connections, as when another station takes over, the last results of one may come
// behind the first of the other, and behind what the history told meanwhile: so the runs of the
// last numbers are kept.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    EPOCH_SIZE = 64,
    GAP_SEEN_MAX = 4096 // numbers whose runs are kept: more than a queue holds
};

// A number and its run, in the place of the number modulo GAP_SEEN_MAX.
struct gap_seen {
    int64_t seq, exec_id;
};

struct gap {
    bool known;      // there is a last one
    bool fresh;      // nothing has come since the watch began: the first may be before `last`
    int64_t last;    // seq
    int64_t exec_id; // of the run that `last` is about; 0 = not known
    int64_t told;    // from here to `last` the history told them; 0 = what comes told `last`
    char epoch[EPOCH_SIZE];  // of `last`; empty: not known yet
    char former[EPOCH_SIZE]; // the one before: what is on its way may still be of it
    struct gap_seen *seen;   // GAP_SEEN_MAX of them, borrowed; NULL: there is one connection
};

// What a broadcast says of itself.
struct gap_mark {
    int64_t seq;       // 0 = it has none
    int64_t exec_id;   // 0 = it has none
    const char *epoch; // NULL or empty: it has none
};

enum gap_sort {
    GAP_NEXT,    // pass it on: the one that was to come
    GAP_STRAY,   // pass it on, but it counts for nothing: without seq, or of the former epoch
    GAP_AGAIN,   // was passed on already
    GAP_MISSING, // pass it on after those between `last` and it
    GAP_BACK,    // pass it on: the station has lost its latest results and counts from there
    GAP_ANEW     // pass it on after those before it: the station counts anew, `last` says nothing
};

// What this result is.
enum gap_sort gap_sort (const struct gap *self, const struct gap_mark *mark);

// Begin to watch where the station is: results after `last` are wanted. What it published while it
// was asked for that is on its way, and new too.
void gap_begin (struct gap *self, int64_t last, const char *epoch);

// Go on where an earlier watch ended: `last` was passed on. `epoch` may be NULL: not known.
void gap_resume (struct gap *self, int64_t last, const char *epoch);

// This result, which is neither stray nor again, is passed on.
void gap_pass (struct gap *self, const struct gap_mark *mark);

// Whether an outcome that the history tells was missed, where `before` is the seq of the result
// that is here already (INT64_MAX: none is).
bool gap_misses (const struct gap *self, int64_t seq, int64_t before);

// What the history told is passed on.
void gap_tell (struct gap *self, const struct gap_mark *mark);

// The history holds no more up to this seq of this epoch.
void gap_reach (struct gap *self, int64_t seq, const char *epoch);

// The station counts anew: all results of this epoch are wanted.
void gap_anew (struct gap *self, const char *epoch);

// Whether this is another epoch than that of the last one.
bool gap_is_elsewhere (const struct gap *self, const char *epoch);

// Whether the station, whose last broadcast is this one, has published more than came here.
bool gap_is_behind (const struct gap *self, int64_t last, const char *epoch);
