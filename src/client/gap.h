// Detects gaps in the sequence numbers of results, from the results delivered so far. Pure: no
// sockets, no clock.
//
// The station numbers its broadcasts 1, 2, 3, ... within an epoch, and one connection delivers them
// in this order. Everything up to `last` was delivered or is older than the watch, so a skipped
// number shows what is missing. A number that is not larger is either a result that the history
// returned first, or a reused number: the station has lost its latest writes, and the run has
// another exec_id.
//
// With several connections, as during a takeover, the last results of one station may arrive after
// the first of another, and after those read from the history: so the runs of the latest numbers
// are remembered.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    EPOCH_SIZE = 64,
    GAP_SEEN_MAX = 4096 // numbers whose runs are remembered: more than a queue holds
};

// A number and its run, at index seq % GAP_SEEN_MAX.
struct gap_seen {
    int64_t seq, exec_id;
};

struct gap {
    bool known;           // `last` is valid
    bool fresh;           // no result yet since the watch began; the first one may be below `last`
    int64_t last;         // seq up to which everything was delivered
    int64_t exec_id;      // run with number `last`; 0 = not known
    int64_t from_history; // the history returned the results from this seq to `last`; 0 = none
    char epoch[EPOCH_SIZE];  // epoch of `last`; empty: not known yet
    char former[EPOCH_SIZE]; // the previous epoch: results in flight may still belong to it
    struct gap_seen *seen;   // GAP_SEEN_MAX entries, borrowed; NULL: there is one connection
};

// What identifies a broadcast result.
struct gap_mark {
    int64_t seq;       // 0 = it has none
    int64_t exec_id;   // 0 = it has none
    const char *epoch; // NULL or empty: it has none
};

enum gap_sort {
    GAP_NEXT,      // deliver it: it is `last` + 1
    GAP_STRAY,     // deliver it; it does not advance `last`: no seq, or of the former epoch
    GAP_DUPLICATE, // drop it: the same run was delivered before
    GAP_MISSING,   // deliver it after the missing results before it
    GAP_REWOUND,   // deliver it: the station has lost its latest results and reuses their numbers
    GAP_RESTARTED  // deliver it after those before it: the epoch is new, and numbered from 1
};

// Classify this result.
enum gap_sort gap_sort (const struct gap *self, const struct gap_mark *mark);

// Start watching after the station's current `last`. Results published during the request are still
// in flight and count as new too.
void gap_begin (struct gap *self, int64_t last, const char *epoch);

// Continue where an earlier watch ended: `last` was delivered. `epoch` may be NULL: not known.
void gap_resume (struct gap *self, int64_t last, const char *epoch);

// Record the delivery of a broadcast result that is neither GAP_STRAY nor GAP_DUPLICATE.
void gap_record (struct gap *self, const struct gap_mark *mark);

// Whether the outcome `seq` of the history was missed: it is after `last` and before `before`, the
// seq of the result that waits (INT64_MAX: none).
bool gap_is_missed (const struct gap *self, int64_t seq, int64_t before);

// Record the delivery of a result from the history.
void gap_record_history (struct gap *self, const struct gap_mark *mark);

// Record that the history has no more results up to this seq of this epoch.
void gap_skip_to (struct gap *self, int64_t seq, const char *epoch);

// Record that the station has restarted its numbering: all results of this epoch are new.
void gap_restart (struct gap *self, const char *epoch);

// Whether this epoch differs from that of `last`. False if one of them is not known.
bool gap_epoch_differs (const struct gap *self, const char *epoch);

// Whether the station, whose last broadcast is `last`, has published results that are not delivered
// here: `last` is larger than ours, or of another epoch.
bool gap_is_behind (const struct gap *self, int64_t last, const char *epoch);
