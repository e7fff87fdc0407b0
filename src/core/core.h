// The owner's decisions on the plans of one Redis: which plan runs next, which run is in flight,
// the rows of a batch. Pure: it does no I/O and never waits. The store reads and writes for it; the
// station carries out a decision when its batch is acknowledged.
//
// A plan is open while it is being read, has a run, or has rows that are not acknowledged. While it
// is open its record here is authoritative, and what is read from Redis is older. Times are of
// Redis' clock, in microseconds.
#pragma once

#include "limit_state.h"
#include "plan.h"
#include "rows.h"

struct core;

enum { CORE_OFFERS = 16384, CORE_READY_BYTES = 128 << 20 };

struct core_bounds {
    int64_t plans, plans_station, plans_caller; // in all, per target, per caller; 0 = no bound
    int64_t outcomes;                           // kept in the history
    int64_t ready_bytes; // memory for due plans that wait for their turn; 0 =
                         // CORE_READY_BYTES
    int64_t offers;      // to workers of a target, of one priority and above; 0 = CORE_OFFERS
};

struct core *core_new (const struct core_bounds *bounds);
void core_destroy (struct core **self);
void core_set_bounds (struct core *self, const struct core_bounds *bounds);

// Drop everything, to load it again. Numbers never go back.
void core_reset (struct core *self);
uint64_t core_resets (const struct core *self); // how often core_reset was called

// -- loading: before anything else after a reset

struct core_numbers {
    int64_t plans;             // in plan:ids
    uint64_t exec_id, plan_id; // the last ones that were assigned
    int64_t seq, sub;          // of the last broadcast; outcomes kept after it
    char epoch[24];            // of the broadcasts
    bool classes;              // some plans have a priority or a group
};

void core_load_numbers (struct core *self, const struct core_numbers *numbers);
void core_load_count (struct core *self, struct span target, int64_t plans);

// A field of plan:run.
void core_load_run (struct core *self, struct span target, uint64_t id, struct span run);

// The class of a plan that has one. Needed for plans that have runs only.
void core_load_class (struct core *self, struct span target, uint64_t id, struct span class);

// Whether some plans have a class.
bool core_has_classes (const struct core *self);

// -- the queue, read in pages

enum { CORE_PAGE = 1000 };

// The last member that was read; the core does not know those after it.
struct core_cursor {
    int64_t score_us; // INT64_MIN = nothing was read
    bool all;         // all members of that score were read
    char target[STATION_NAME_MAX + 1];
    uint64_t id;
};

// Whether a page is to be read now, after this cursor. It is in flight until core_page.
bool core_wants_page (struct core *self, int64_t now_us, struct core_cursor *ret);

struct core_member {
    struct span target;
    uint64_t id;
    int64_t score_us;
    struct span class; // "PRIORITY:GROUP", empty = neither
};

// The page that was read: its members with a valid target and id, and in `all` the number of all
// members. Fewer than CORE_PAGE: the end of the queue was reached.
void core_page (struct core *self, const struct core_member *members, size_t count, size_t all,
                int64_t now_us);

// The page could not be read.
void core_page_lost (struct core *self);

// Whether Redis has all that was decided, and no page is in flight.
bool core_is_quiet (const struct core *self);

// How many members of the queue should be due until `ret_until_us`, to compare with Redis; -1:
// unknown at present. If they differ, somebody changed the queue by hand: call core_reread.
int64_t core_expects_due (struct core *self, int64_t now_us, int64_t *ret_until_us);

// Read all that is due again.
void core_reread (struct core *self);

// When a plan is due next, or a rate allows a run; INT64_MAX: nothing known.
int64_t core_next_us (const struct core *self);

// -- batches

// The number of the open batch, which takes the present decisions; from 1 on in each process.
int64_t core_batch (const struct core *self);

// Whether there is anything to write.
bool core_has_rows (const struct core *self);

// The size of the open batch in bytes, approximately.
size_t core_bytes (const struct core *self);

// Release the memory of batches, unless one has rows or is in flight.
void core_trim (struct core *self);

// Whether the open batch has more than leases: a submission, a claim or a result waits for it.
bool core_hurries (const struct core *self);

// Close the open batch and return its rows, valid until core_acked. None may be in flight.
const struct rows *core_take_rows (struct core *self);

// The batch in flight was applied.
void core_acked (struct core *self, int64_t now_us);

// Redis rejected the batch for lack of memory: drop its submissions, return the rows without.
const struct rows *core_without_submissions (struct core *self);

// Add a command that belongs to no plan to the open batch. The words are copied.
void core_write (struct core *self, const struct span *words, size_t count);

// -- submissions

// The group of plans that are exempt from all limits: timers of flows. If they had to wait, runs
// that use up a limit would never end.
#define CORE_FREE ":timers"

struct core_submission {
    struct span target;
    uint64_t id;
    struct span message; // copied
    int64_t revision;
    bool queued;
    int64_t due_us;
    int priority;
    struct span group;  // may be empty
    struct span caller; // as a field of plan:count
    bool made_here;     // the id is new; else keys of a former plan are deleted, unless `first`
    bool first;         // no plan had this id before, but such ids do not ascend
    struct span missed; // an outcome for the history, empty = none
    bool follows;       // from an outcome of the same batch: kept when Redis lacks memory
};

enum core_result {
    CORE_DONE,
    CORE_IN_USE,      // a plan with this id exists
    CORE_FULL,        // a bound is reached
    CORE_NONE,        // there is no such plan
    CORE_NOT_CURRENT, // the run is not the one in flight
    CORE_CHANGED,     // the plan was changed since
    CORE_UNREAD       // something must be read first (core_pull.h)
};

// CORE_FULL: the name of the bound, and its value.
struct core_refusal {
    const char *bound;
    int64_t most;
};

// Add a plan. Its id is new, or was looked up and is not in Redis.
enum core_result core_submit (struct core *self, const struct core_submission *submission,
                              int64_t now_us, struct core_refusal *ret);

// Add a plan that a decision of the core requires: it is exempt from the bounds, and is kept when
// Redis lacks memory.
void core_place (struct core *self, const struct core_submission *submission, int64_t now_us);

// The greatest plan id that this owner or an earlier one assigned: ids ascend.
uint64_t core_last_id (const struct core *self);

// Subtract the runs in flight from these counts of queue scores, as their scores are ends of
// leases: `count` intervals of `step_s` seconds each, from `from_s` on.
void core_take_off_leases (const struct core *self, int64_t from_s, int64_t step_s, int64_t *counts,
                           size_t count);

// The next ids after `after`, ascending, of plans with a run in progress; at most `most`, of this
// target, empty = of any. Returns how many.
size_t core_running (const struct core *self, struct span target, uint64_t after, uint64_t *ids,
                     size_t most);

// How many plans there are. When plan:ids had `found` members where `counted` were expected: the
// missing ones were removed by hand.
int64_t core_plan_count (const struct core *self);
void core_correct_plan_count (struct core *self, int64_t counted, int64_t found);

// Whether the core knows the number of the caller's plans, if a bound needs it; if not, read the
// caller's field of plan:count for core_load_caller.
bool core_knows_caller (const struct core *self, struct span caller);
void core_load_caller (struct core *self, struct span caller, int64_t plans);

// -- taking plans

struct core_slots {
    struct span target;
    int64_t free_slots; // plans that it takes
    bool pull;          // workers fetch them: limits apply when they do
    uint64_t probe;     // a plan that it takes even without free slots; 0 = none
};

struct core_wish {
    int64_t limit;    // plans
    int64_t ahead_us; // plans that are due within this time are taken too
    int64_t lease_us;
    const struct core_slots *targets; // all other targets take any number
    size_t target_count;
    bool writes; // set the state in the messages to running at once
};

// A plan that was chosen.
struct core_choice {
    struct open_plan *plan;
    int64_t due_us;
    bool needs_read; // its message and its score must be read
};

// Whether a target that takes plans now has some that are due, or will be within `ahead_us`.
bool core_has_due (struct core *self, const struct core_wish *wish, int64_t now_us);

// Choose at most `max`: they are open, and stay chosen until core_take or core_unchoose.
size_t core_choose (struct core *self, const struct core_wish *wish, int64_t now_us,
                    struct core_choice *out, size_t max);

// Whether a limit prevented plans from being chosen the last time.
bool core_waits_for_limit (const struct core *self);

struct span core_choice_target (const struct core_choice *choice);
uint64_t core_choice_id (const struct core_choice *choice);

// Whether the fields of plan:run must be read together with the plans.
bool core_wants_runs (const struct core *self);

// Return at most `max` plans that are likely to run next, to be prefetched. core_prepared ends each
// of these choices.
size_t core_look_ahead (struct core *self, struct core_choice *out, size_t max);
void core_prepared (struct core *self, const struct core_choice *choice, bool read);

// What was read of a chosen plan: its message (data NULL = there is none), its score (-1 = not
// queued) and, if core_wants_runs, its field of plan:run.
void core_found_message (const struct core_choice *choice, struct span message);
void core_found_score (const struct core_choice *choice, int64_t score_us);
void core_found_run (const struct core_choice *choice, struct span run);

struct core_taken {
    struct span target;
    uint64_t id;
    struct span message; // as it was before this run; valid until core_acked of this batch
    uint64_t exec_id;
    bool earlier_may_answer; // an earlier run of this occurrence has not ended
    uint64_t lost;           // the run whose lease expired without a result; 0 = none
    int64_t at_us;           // now, or when it is due if that is later
    bool written;            // the state in its message was set to running
};

// Begin the run of a chosen plan. CORE_NONE: it is no longer due; CORE_CHANGED: it has no message
// and was removed from the queue, `ret` names it.
enum core_result core_take (struct core *self, const struct core_choice *choice,
                            const struct core_wish *wish, int64_t now_us, struct core_taken *ret);

// Return a chosen plan to the queue: it was not read.
void core_unchoose (struct core *self, const struct core_choice *choice);

// -- ends and leases of runs

enum core_end {
    CORE_LEASE, // the run continues, with a new lease
    CORE_FLOW,  // the same for the run of a flow: it counts toward its target's limit only, and
                // keeps its exec_id
    CORE_DOUBT, // over, but a late answer counts until the retry
    CORE_RETRY, // over, and the plan is retried
    CORE_PAST,  // the same, but a late answer may still arrive and does not count
    CORE_OVER,  // over: the plan waits for its next time, or leaves the queue
    CORE_GONE   // the plan has ended: its keys are deleted
};

struct core_commit {
    struct span target;
    uint64_t id, exec_id;
    enum core_end end;
    bool queued;
    int64_t due_us;
    struct span message; // copied; data NULL = unchanged
    int64_t revision;    // of that message
    int64_t decided_on;  // the revision, or -1 = any
    enum { CORE_SILENT, CORE_PUBLISHED, CORE_FAILURE } broadcast;
    bool waits; // until its target connects: then it is due at once
    bool has_work, has_team;
    struct span caller;
    struct span record, missed, output; // empty = none
};

struct core_committed {
    int64_t seq;         // of the broadcast to be sent; 0 = none
    struct span message; // CORE_CHANGED: the present one
};

enum core_result core_commit (struct core *self, const struct core_commit *commit, int64_t now_us,
                              struct core_committed *ret);

// Extend the lease of this run, if it is the plan's current one.
void core_extend (struct core *self, struct span target, uint64_t id, uint64_t exec_id,
                  int64_t due_us, int64_t now_us);

// The epoch of the broadcasts.
const char *core_epoch (const struct core *self);
int64_t core_seq (const struct core *self);
uint64_t core_exec_id (const struct core *self);

// An outcome for the history that is not broadcast.
void core_outcome (struct core *self, struct span target, uint64_t id, int64_t ended_ms,
                   struct span record, struct span output);

// -- admin commands

struct core_change {
    struct span target;
    uint64_t id;
    struct span message; // copied
    int64_t revision, was_revision;
    uint64_t exec_id; // of the run in flight, 0 = none
    enum { CORE_KEEP, CORE_OUT, CORE_AT, CORE_AT_LEASE } place;
    int64_t due_us;
    bool resets_team; // CORE_AT: its former workers do not count for its next run
    int priority;
    struct span group;
    struct span caller_before, caller;
    struct span missed;
};

enum core_result core_change (struct core *self, const struct core_change *change, int64_t now_us);

struct core_removal {
    struct span target;
    uint64_t id;
    struct span caller; // empty = not known
};

// Delete a plan, whatever its state.
void core_remove (struct core *self, const struct core_removal *removal, int64_t now_us);

// Make a plan with the run of a flow due at this time. False: it has no such run.
bool core_flow_due (struct core *self, struct span target, uint64_t id, int64_t due_us);

// The target that this plan waits for has connected: a plan that is queued for later is due now.
// `member` is as read from Redis, with score -1 if it is not queued.
void core_wake (struct core *self, const struct core_member *member, int64_t now_us);

// Whether plans may wait for the target; `ret_number` changes when another begins to wait. With the
// same number core_none_waiting says that none waits; with another one it is ignored.
bool core_has_waiting (const struct core *self, struct span target, uint64_t *ret_number);
void core_none_waiting (struct core *self, struct span target, uint64_t number);

// What the core knows of an open plan. False: the plan is not open.
struct core_view {
    bool gone;
    bool submitted; // Redis has not acknowledged it, and may still reject it
    bool settled;   // nothing of it is left to write
    struct span target;
    struct span message; // data NULL = as Redis has it
    int64_t revision;    // -1 = not known
    bool placed, queued; // `queued` is known; the plan is in the queue
    int64_t score_us;
    bool counted; // it counts toward the limits of its target and group
    uint64_t exec_id;
    bool earlier_may_answer, no_status, offered;
};
bool core_view (const struct core *self, uint64_t id, struct core_view *ret);

// Whether a plan that is queued at this score is due and waits for its turn.
bool core_is_ready (const struct core *self, struct span target, uint64_t id, int64_t score_us);

// Call for each target that has plans, with their number.
typedef void core_target_fn (void *owner, struct span target, int64_t plans);
void core_each_target (const struct core *self, core_target_fn *call, void *owner);

// How many due plans of a target are in Redis only, as memory was full: they are read when half of
// the ready ones have been taken.
int64_t core_unread (const struct core *self, struct span target);

// How many ready plans a target has in memory.
int64_t core_ready (const struct core *self, struct span target);

// Since when the oldest plan waits that is ready, or offered to workers and not taken; 0 = there is
// none.
int64_t core_oldest_us (const struct core *self, struct span target);

// How many ready plans of a target precede a plan of this priority and group due at `due_us`.
int64_t core_before (const struct core *self, struct span target, int priority, struct span group,
                     int64_t due_us, uint64_t id);

// -- limits

void core_set_limit (struct core *self, struct span name, const struct limit *limit);
// Replace the limits set by admins: core_end_limits drops those not set since core_begin_limits.
void core_begin_limits (struct core *self);
void core_end_limits (struct core *self);
void core_configure_limit (struct core *self, struct span name, const struct limit *limit);
void core_load_tokens (struct core *self, struct span name, double used_us);
const struct limit_state *core_limit (const struct core *self, struct span name);

// Call for each limit with how many more runs it allows now, and when it allows the next (INT64_MAX
// = when a run ends).
void core_each_limit (const struct core *self, int64_t now_us,
                      void (*call) (void *owner, const char *name, int64_t left, int64_t wake_us),
                      void *owner);
