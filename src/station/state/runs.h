// The runs in flight, sent and not ended, by plan id. A cache with timers: the core and Redis are
// authoritative, and a run that is not found here is looked up there.
#pragma once

#include "ballot.h"
#include "station_state.h"

enum {
    RUN_PROGRESS_MAX = 256,
    // A run with a heartbeat is dropped this long after its lease: the store has it anyway.
    RUN_FORGET_US = 5000000,
    RUNS_WHOLE_MAX = 8192 // in flight: above that, neither plan nor progress of a run is kept
};

struct active_run {
    struct table_node node; // first: its address is that of the run
    uint64_t plan_id;
    struct station *station;
    struct run run;                         // the facts that the rules need
    struct plan *plan;                      // NULL: too large to be kept; looked up when needed
    char key_station[STATION_NAME_MAX + 1]; // station of the message key
    uint64_t number;                        // sequence number of sent runs, from 1; 0 = looked up
    bool unanswered;                        // sent, with no status yet: it uses credit
    bool kept;           // unanswered, and its target is unresponsive: max_runs does not count it
    int64_t extended_us; // when its lease was last extended without a status, monotonic; 0 = never
    int64_t leasing_us;  // when the lease now being written was decided, monotonic; 0 = none
    char *progress;      // the worker's last progress text, UTF-8; NULL = none
    struct ballot *ballot; // votes of a vote run; NULL = none
    int64_t end_us;        // when its vote or timeout ends, monotonic; 0 = never
    struct target
        *target;         // it was sent to this target; NULL = it was looked up, or that was removed
    uint64_t connection; // number of the connection it was sent on, 0 = unknown
    struct heap_node deadline; // unanswered: for its status; else: when to drop it from here
};

void runs_stop (struct station *self);

// The run in flight after this one, or the first one for NULL, in no particular order; NULL: there
// are no more.
struct active_run *runs_next (const struct station *self, const struct active_run *run);

// Add a run, which owns the plan from now on. An earlier run of the plan is dropped.
struct active_run *runs_add (struct station *self, struct plan *plan, struct span key_station,
                             struct run run);

// The run in flight of this plan; NULL: none is known.
struct active_run *runs_find (struct station *self, uint64_t plan_id);

// The run in flight of this plan if it has this exec_id, else NULL.
struct active_run *runs_find_run (struct station *self, uint64_t plan_id, uint64_t exec_id);

// The run in flight with this exec_id; NULL: none is known. Looks at every run in flight.
struct active_run *runs_find_exec (struct station *self, uint64_t exec_id);

// The run that a message on the target's present connection belongs to when it names none: the
// oldest run without a status, else the only run. NULL: unknown. Looks at every run in flight.
struct active_run *runs_next_to_answer (struct station *self, const struct target *target);

// Remove the target from its runs, as it is removed: they have no connection any more.
void runs_forget_target (struct station *self, const struct target *target);

// Drop the run from the cache: later messages look it up again.
void runs_drop (struct active_run **run);

// Keep the worker's progress text, cut at RUN_PROGRESS_MAX bytes. Ignored unless it is UTF-8
// without NUL, and when very many runs are in flight.
void runs_note_progress (struct active_run *run, struct span words);

// Set end_us by the plan's vote or timeout, if any. Needs run->plan.
void runs_set_end (struct active_run *run);

// Replace the plan, which was changed meanwhile: the run owns the new one and uses its timeouts.
void runs_set_plan (struct active_run *run, struct plan *plan);

// Wait for the status of a sent run until this time, in monotonic microseconds.
void runs_wait_status (struct active_run *run, int64_t deadline_us);

// Keep a run without a status until its target answers; check it again at this time.
void runs_keep (struct active_run *run, int64_t deadline_us);

// Drop a run that needs no status (any more) at this time. Until then answers find it here.
void runs_forget_at (struct active_run *run, int64_t deadline_us);

// runs_forget_at some time after the lease would expire, or at end_us if that is earlier. Returns
// whether end_us is earlier.
bool runs_forget_later (struct active_run *run);

// Whether a run of the plan is in flight. The run of an unqueued plan has no lease in Redis: it
// counts while this station gets its heartbeats, or for the length of a lease.
bool runs_in_progress (struct station *self, const struct plan *plan,
                       const struct store_loaded *answer);
