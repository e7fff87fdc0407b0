// What a watcher knows of the results it has passed on, and what the seq of the next one means.
// Pure: no sockets, no clock.
//
// The station numbers its broadcasts 1, 2, 3, ... within an epoch, and one connection delivers them
// in this order. Everything up to `last` is passed on or was there before the watch began, so a
// number that is not the next one shows what is missing. One that is not larger is either a result
// that the history returned first, or the station has lost its latest writes and reuses numbers:
// then the run is another one, and has another exec_id.
//
// Of several connections, as when another station takes over, the last results of one may come
// after the first of the other, and after those of the history meanwhile: so the runs of the last
// numbers are kept.
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
    bool known;           // there is a last one
    bool fresh;           // nothing has come since the watch began: the first may be before `last`
    int64_t last;         // seq
    int64_t exec_id;      // of the run that `last` is about; 0 = not known
    int64_t from_history; // the first seq that came from it, up to `last`; 0 = it was broadcast
    char epoch[EPOCH_SIZE];  // of `last`; empty: not known yet
    char former[EPOCH_SIZE]; // the one before: results in flight may still be of it
    struct gap_seen *seen;   // GAP_SEEN_MAX of them, borrowed; NULL: there is one connection
};

// The marks of a broadcast.
struct gap_mark {
    int64_t seq;       // 0 = it has none
    int64_t exec_id;   // 0 = it has none
    const char *epoch; // NULL or empty: it has none
};

enum gap_sort {
    GAP_NEXT,    // deliver it: it is `last` + 1
    GAP_STRAY,   // deliver it; it does not advance `last`: no seq, or of the former epoch
    GAP_AGAIN,   // drop it: it was delivered before
    GAP_MISSING, // deliver it after those between `last` and it
    GAP_BACK,    // deliver it: the station has lost its latest results and counts from there
    GAP_ANEW     // deliver it after those before it: the station has restarted its numbers
};

// The sort of this result.
enum gap_sort gap_sort (const struct gap *self, const struct gap_mark *mark);

// Begin to watch where the station is: results after `last` are wanted. Those that it published
// during the request are in flight, and new too.
void gap_begin (struct gap *self, int64_t last, const char *epoch);

// Go on where an earlier watch ended: `last` was passed on. `epoch` may be NULL: not known.
void gap_resume (struct gap *self, int64_t last, const char *epoch);

// This result, which is neither stray nor again, is passed on.
void gap_pass (struct gap *self, const struct gap_mark *mark);

// Whether an outcome of the history was missed, where `before` is the seq of the result that is
// here already (INT64_MAX: none is).
bool gap_misses (const struct gap *self, int64_t seq, int64_t before);

// A result of the history is passed on.
void gap_pass_history (struct gap *self, const struct gap_mark *mark);

// The history holds no more up to this seq of this epoch.
void gap_reach (struct gap *self, int64_t seq, const char *epoch);

// The station has restarted its numbers: all results of this epoch are wanted.
void gap_anew (struct gap *self, const char *epoch);

// Whether this is another epoch than that of the last one.
bool gap_is_elsewhere (const struct gap *self, const char *epoch);

// Whether the station, whose last broadcast is this one, has published more than came here.
bool gap_is_behind (const struct gap *self, int64_t last, const char *epoch);
