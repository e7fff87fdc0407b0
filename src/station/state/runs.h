// The runs in flight: sent and not ended, by plan id. A cache with timers: what counts is the run
// that the core and Redis have, and one that is not found here is looked up there.
#pragma once

#include "ballot.h"
#include "station_state.h"

enum {
    RUN_PROGRESS_MAX = 256,
    // A run with a heartbeat is dropped this long after its lease: the store has it anyway.
    RUN_FORGET_US = 5000000,
    RUNS_WHOLE_MAX = 8192 // in flight: of more runs neither the plan nor the progress is kept
};

struct active_run {
    uint64_t plan_id;
    struct station *station;
    struct run run;                         // what the rules need
    struct plan *plan;                      // NULL: too large to be kept, it is looked up again
    char key_station[STATION_NAME_MAX + 1]; // of the message key
    uint64_t number;                        // of the runs that were sent, from 1 on; 0 = looked up
    bool unanswered;                        // it uses credit: sent, and no status yet
    bool kept;           // unanswered, and its target answers nothing: max_runs does not count it
    int64_t extended_us; // when its lease was extended last without a status, monotonic; 0 = never
    int64_t leasing_us;  // when the lease that is being written was decided, monotonic; 0 = none is
    char *progress;      // the worker's last words, UTF-8; NULL = none
    struct ballot *ballot;     // of a vote; NULL = none
    int64_t end_us;            // when it times out, by its vote or its timeout: monotonic; 0 = none
    struct target *target;     // it was sent to; NULL when it was looked up
    uint64_t connection;       // of the target, 0 = unknown
    struct heap_node deadline; // unanswered: no status in time; else: to be forgotten
};

void runs_start (struct station *self);
void runs_stop (struct station *self);

// Add a run, which owns the plan from now on. An earlier run of the plan is dropped.
struct active_run *runs_add (struct station *self, struct plan *plan, struct span key_station,
                             struct run run);

struct active_run *runs_find (struct station *self, uint64_t plan_id);

// The same, if this is its run.
struct active_run *runs_find_run (struct station *self, uint64_t plan_id, uint64_t exec_id);

// By the number of the run. Looks at every run in flight.
struct active_run *runs_find_exec (struct station *self, uint64_t exec_id);

// The run that a message without any name on the target's present connection belongs to: the oldest
// that has no status yet, else the only one. NULL: unknown. Looks at every run in flight.
struct active_run *runs_next_to_answer (struct station *self, const struct target *target);

// A target is taken away: what was sent to it has no connection any more.
void runs_forget_target (struct station *self, const struct target *target);

// Drop it: later messages look it up again.
void runs_drop (struct active_run **run);

// Keep the worker's report of its progress: UTF-8 without NUL, else nothing is done; cut at
// RUN_PROGRESS_MAX bytes. When very many runs are in flight it is not kept.
void runs_note_progress (struct active_run *run, struct span words);

// Set end_us by the plan's vote or timeout, if any. Needs run->plan.
void runs_set_end (struct active_run *run);

// Its plan was changed meanwhile: the run owns this one now, and ends by that one's times.
void runs_set_plan (struct active_run *run, struct plan *plan);

// It was sent: wait for its status until this moment, in monotonic microseconds.
void runs_wait_status (struct active_run *run, int64_t deadline_us);

// It has none, and is kept until its target answers; it is checked again then.
void runs_keep (struct active_run *run, int64_t deadline_us);

// It needs no status (any more): forget it at this moment. Until then answers find it here.
void runs_forget_at (struct active_run *run, int64_t deadline_us);

// The same when its lease would be over, or at its end, if that is earlier. Returns whether it is.
bool runs_forget_later (struct active_run *run);

// Whether a run of the plan is in flight. One of an unqueued plan has no lease in Redis:
// it counts while this station gets its heartbeats, or as long as a lease would be.
bool runs_in_progress (struct station *self, const struct plan *plan,
                       const struct store_loaded *answer);
