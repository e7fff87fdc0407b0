// The owner's decisions on the plans of one Redis: which plan runs next, which run is in flight,
// the rows of a batch. Pure: it does no I/O and never waits. The store reads and writes for it; the
// station carries out a decision when its batch is acknowledged.
//
// A plan is open while it is being read, has a run, or has rows that are not acknowledged. While it
// is open its record here is authoritative, and what is read from Redis is older. Times are in
// microseconds of Redis' clock.
#pragma once

#include "limit_state.h"
#include "plan.h"
#include "rows.h"

struct core;

// The defaults of core_bounds.
enum { CORE_OFFERS = 16384, CORE_READY_BYTES = 128 << 20 };

struct core_bounds {
    int64_t plans;         // most plans; 0 = no bound
    int64_t plans_station; // most plans of a target; 0 = no bound
    int64_t plans_caller;  // most plans of a caller; 0 = no bound
    int64_t outcomes;      // most outcomes in the history
    int64_t ready_bytes;   // memory for due plans that wait for their turn; 0 =
                           // CORE_READY_BYTES
    int64_t offers;        // a plan is not offered while its target has so many offers of this or a
                           // higher priority; 0 = CORE_OFFERS
};

// Create a core; `bounds` is copied.
struct core *core_new (const struct core_bounds *bounds);
void core_destroy (struct core **self);

// Change the bounds. The numbers of callers' plans must be loaded again.
void core_set_bounds (struct core *self, const struct core_bounds *bounds);

// Drop everything, to load it again. The last assigned ids and the last acknowledged sequence
// number are kept: they never decrease.
void core_reset (struct core *self);
uint64_t core_resets (const struct core *self); // how often core_reset was called

// -- loading: before anything else after a reset

struct core_numbers {
    int64_t plans;             // number of plans in plan:ids
    uint64_t exec_id, plan_id; // the last ids that were assigned
    int64_t seq;               // number of the last broadcast
    int64_t sub;               // number of outcomes added after it
    char epoch[24];            // the series that the broadcast numbers belong to
    bool classes;              // some plans have a priority or a group
};

// Load the numbers of plans, ids and broadcasts.
void core_load_numbers (struct core *self, const struct core_numbers *numbers);
// Load the number of plans of a target.
void core_load_count (struct core *self, struct span target, int64_t plans);

// Load a field of plan:run: the run of a plan.
void core_load_run (struct core *self, struct span target, uint64_t id, struct span run);

// Load the class of a plan with a run. The class of any other plan comes with the queue.
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

// Whether to read a page of the queue now: the members after `ret`. If true, the core requests no
// other page until core_load_page or core_page_lost.
bool core_wants_page (struct core *self, int64_t now_us, struct core_cursor *ret);

struct core_member {
    struct span target;
    uint64_t id;
    int64_t score_us;
    struct span class; // "PRIORITY:GROUP", empty = neither
};

// Load the page that was read: its members with a valid target and id. `all` is the number of all
// members read; fewer than CORE_PAGE: the end of the queue was reached.
void core_load_page (struct core *self, const struct core_member *members, size_t count, size_t all,
                     int64_t now_us);

// The page could not be read: core_wants_page will request it again.
void core_page_lost (struct core *self);

// Whether Redis has all that was decided, and no page is in flight.
bool core_is_quiet (const struct core *self);

// How many members of the queue should be due until `ret_until_us`, to compare with Redis; -1:
// unknown at present. If Redis has another number, somebody changed the queue by hand: call
// core_reread.
int64_t core_expected_due (struct core *self, int64_t now_us, int64_t *ret_until_us);

// Forget the due plans, and read the queue again from its start.
void core_reread (struct core *self);

// When the next plan is due, the next lease or worker times out, or a rate allows a waiting run;
// INT64_MAX: none is known.
int64_t core_next_us (const struct core *self);

// -- batches

// The number of the open batch, to which decisions are added. Each process counts from 1.
int64_t core_batch (const struct core *self);

// Whether there is anything to write.
bool core_has_rows (const struct core *self);

// The size of the open batch in bytes, approximately.
size_t core_batch_bytes (const struct core *self);

// Release the memory of batches, unless one has rows or is in flight.
void core_release_memory (struct core *self);

// Whether the open batch is to be written soon: it has a submission, a claim or a result, not only
// extended leases.
bool core_batch_is_urgent (const struct core *self);

// Close the open batch and return its rows, valid until core_batch_acked. No other batch may be in
// flight.
const struct rows *core_close_batch (struct core *self);

// Redis applied the batch in flight: free its rows, and close plans that need not stay open.
void core_batch_acked (struct core *self, int64_t now_us);

// Redis rejected the batch in flight for lack of memory: drop its submissions, and return the rows
// that are left.
const struct rows *core_drop_submissions (struct core *self);

// Add a Redis command that belongs to no plan to the open batch. `words`, its name and arguments,
// are copied.
void core_add_command (struct core *self, const struct span *words, size_t count);

// -- submissions

// The group of plans that are exempt from all limits: timers of flows. If they had to wait, runs
// that use up a limit would never end.
#define CORE_EXEMPT_GROUP ":timers"

struct core_submission {
    struct span target;
    uint64_t id;
    struct span message; // copied
    int64_t revision;
    bool queued;
    int64_t due_us;
    int priority;
    struct span group;  // may be empty
    struct span caller; // its field of plan:count
    bool made_here; // this station assigned the id; else keys of a former plan are deleted, unless
                    // `first`
    bool first;     // no plan had this id before, though the station did not assign it
    struct span missed; // record of missed occurrences for the history, empty = none
    bool is_required;   // an outcome of the same batch requires it: kept when Redis lacks memory
};

enum core_result {
    CORE_DONE,
    CORE_IN_USE,      // a plan with this id exists
    CORE_FULL,        // a bound is reached
    CORE_NONE,        // there is no such plan
    CORE_NOT_CURRENT, // the run is not the one in flight
    CORE_CHANGED,     // the plan is not the one that the decision was based on
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
void core_submit_internal (struct core *self, const struct core_submission *submission,
                           int64_t now_us);

// The greatest plan id that this owner or an earlier one assigned: ids ascend.
uint64_t core_last_id (const struct core *self);

// Subtract the runs in flight from counts of queue members by score, as the score of a run is the
// end of its lease. `counts` has `count` intervals of `step_s` seconds, from `from_s` (Unix
// seconds) on.
void core_subtract_leases (const struct core *self, int64_t from_s, int64_t step_s, int64_t *counts,
                           size_t count);

// Write the ids of plans with a run in progress to `ids`: the lowest `most` above `after`,
// ascending; only plans of this target, unless it is empty. Returns their number.
size_t core_running (const struct core *self, struct span target, uint64_t after, uint64_t *ids,
                     size_t most);

// How many plans there are.
int64_t core_plan_count (const struct core *self);

// plan:ids has `found` members, but `counted` were expected: lower the number of plans by the
// missing ones, which somebody removed by hand.
void core_correct_plan_count (struct core *self, int64_t counted, int64_t found);

// Whether the number of the caller's plans is known, or no bound needs it. False: read the caller's
// field of plan:count, and call core_load_caller with it.
bool core_knows_caller (const struct core *self, struct span caller);

// Load the number of a caller's plans.
void core_load_caller (struct core *self, struct span caller, int64_t plans);

// -- choosing plans to run

struct core_slots {
    struct span target;
    int64_t free_slots; // how many plans it takes now
    bool pull;          // workers fetch its plans: limits apply when they do, not now
    uint64_t probe;     // a plan that it takes even without free slots; 0 = none
};

struct core_wish {
    int64_t limit;    // most plans to choose
    int64_t ahead_us; // plans that are due within this time are taken too
    int64_t lease_us;
    const struct core_slots *targets; // other targets take any number; used by core_choose only
    size_t target_count;
    bool writes; // core_begin_run: set the state in the messages to running at once
};

// A plan that was chosen.
struct core_choice {
    struct open_plan *plan;
    int64_t due_us;
    bool needs_read; // its message and its score must be read
};

// Whether a target has plans that are due, or will be within `ahead_us`, and free slots by the
// `targets` of the last core_choose.
bool core_has_due (struct core *self, const struct core_wish *wish, int64_t now_us);

// Choose the plans that run next, at most `max`. They are open, and stay chosen until
// core_begin_run or core_unchoose. Returns their number.
size_t core_choose (struct core *self, const struct core_wish *wish, int64_t now_us,
                    struct core_choice *out, size_t max);

// Whether a limit prevented the last core_choose from choosing more plans.
bool core_waits_for_limit (const struct core *self);

struct span core_choice_target (const struct core_choice *choice);
uint64_t core_choice_id (const struct core_choice *choice);

// Whether the fields of plan:run must be read together with the plans.
bool core_wants_runs (const struct core *self);

// Choose at most `max` plans that are likely to run next, to prefetch their messages. Each stays
// chosen until core_end_prefetch. Returns their number.
size_t core_choose_prefetch (struct core *self, struct core_choice *out, size_t max);

// End a choice of core_choose_prefetch. `read`: its message and score were passed to the core; else
// the plan is closed.
void core_end_prefetch (struct core *self, const struct core_choice *choice, bool read);

// The message that was read of a chosen plan, which is copied; data NULL = it has none.
void core_found_message (const struct core_choice *choice, struct span message);

// The score that was read of a chosen plan; -1 = it is not queued.
void core_found_score (const struct core_choice *choice, int64_t score_us);

// The field of plan:run that was read of a chosen plan, if core_wants_runs; empty = it has none.
void core_found_run (const struct core_choice *choice, struct span run);

struct core_taken {
    struct span target;
    uint64_t id;
    struct span message; // the message before this run; valid until core_batch_acked of this batch
    uint64_t exec_id;
    bool earlier_may_answer; // an earlier run of this occurrence has not ended
    uint64_t lost;           // the run whose lease expired without a result; 0 = none
    int64_t at_us;           // now, or when it is due if that is later
    bool written;            // the state in its message was set to running
};

// Begin the run of a chosen plan. CORE_NONE: it is no longer due. CORE_CHANGED: it has no message,
// and was removed from the queue; only `target` and `id` of `ret` are set.
enum core_result core_begin_run (struct core *self, const struct core_choice *choice,
                                 const struct core_wish *wish, int64_t now_us,
                                 struct core_taken *ret);

// Let `taken` be the lost run, to end it, instead of a new one. The lost run stays the current one
// until its outcome is written, so a station that is killed before then does not lose its exec_id.
void core_keep_lost_run (const struct core_choice *choice, struct core_taken *taken);

// Return a chosen plan to the ready plans, as it could not be read.
void core_unchoose (struct core *self, const struct core_choice *choice);

// -- ends and leases of runs

enum core_end {
    CORE_LEASE,          // the run continues, with a new lease
    CORE_FLOW,           // as CORE_LEASE, for a flow: keeps exec_id, counts for its target only
    CORE_DOUBT,          // over without a status, to be retried; a late answer counts until then
    CORE_RETRY,          // over, and the plan is retried
    CORE_RETRY_OUTLIVED, // as CORE_RETRY, but a late answer may still arrive, to be ignored
    CORE_OVER,           // over: the plan waits for its next time, or leaves the queue
    CORE_GONE            // the plan has ended: its keys are deleted
};

struct core_commit {
    struct span target;
    uint64_t id, exec_id;
    enum core_end end;
    bool queued;
    int64_t due_us;
    struct span message; // copied; data NULL = unchanged
    int64_t revision;    // revision of `message`
    int64_t decided_on;  // the revision that the decision is based on; -1 = any
    enum { CORE_UNPUBLISHED, CORE_PUBLISHED, CORE_FAILURE } broadcast;
    bool waits;    // when its target connects, the plan is due at once
    bool has_work; // CORE_GONE: delete the keys of its answers
    bool has_team; // CORE_GONE: delete the key of its team
    struct span caller;
    struct span record; // outcome of the run, empty = none
    struct span missed; // outcome of missed occurrences, empty = none
    struct span output; // output of the run, empty = none
};

struct core_committed {
    int64_t seq;         // number of the broadcast to send; 0 = none
    struct span message; // CORE_CHANGED: the plan's present message
};

// Write the decision on a run. CORE_NOT_CURRENT: it is not the run in flight. CORE_CHANGED: the
// plan has another revision than `decided_on`; decide again, on the message returned.
enum core_result core_commit (struct core *self, const struct core_commit *commit, int64_t now_us,
                              struct core_committed *ret);

// Extend the lease of this run, if it is the plan's current one.
void core_extend (struct core *self, struct span target, uint64_t id, uint64_t exec_id,
                  int64_t due_us, int64_t now_us);

// The epoch of the broadcasts: the series that their numbers belong to.
const char *core_epoch (const struct core *self);
// The number of the last broadcast.
int64_t core_seq (const struct core *self);

// Add an outcome to the history that is not broadcast.
void core_outcome (struct core *self, struct span target, uint64_t id, int64_t ended_ms,
                   struct span record, struct span output);

// -- admin commands

struct core_change {
    struct span target;
    uint64_t id;
    struct span message;  // copied
    int64_t revision;     // revision of `message`
    int64_t was_revision; // revision of the message that it replaces
    uint64_t exec_id;     // the run in flight, 0 = none
    enum {
        CORE_KEEP,    // the place in the queue is unchanged
        CORE_OUT,     // out of the queue
        CORE_AT,      // due at `due_us`; a run in flight is over
        CORE_AT_LEASE // the run in flight continues; its lease ends at `due_us`
    } place;
    int64_t due_us;
    bool resets_team; // CORE_AT: its former workers do not count for its next run
    int priority;
    struct span group;
    struct span caller_before, caller;
    struct span missed;
};

// Change a plan as an admin command requires. CORE_NONE: there is no such plan. CORE_CHANGED: it
// has another revision or run than stated.
enum core_result core_change (struct core *self, const struct core_change *change, int64_t now_us);

struct core_removal {
    struct span target;
    uint64_t id;
    struct span caller; // empty = not known
};

// Delete a plan, whatever its state.
void core_remove (struct core *self, const struct core_removal *removal, int64_t now_us);

// Make a plan with the run of a flow due at this time. False: it has no such run.
bool core_set_flow_due (struct core *self, struct span target, uint64_t id, int64_t due_us);

// The target that this plan waits for has connected: a plan that is queued for later is due now.
// `member` is as read from Redis, with score -1 if it is not queued.
void core_wake (struct core *self, const struct core_member *member, int64_t now_us);

// Whether plans may wait for the target to connect. `ret_number` changes whenever a plan begins to
// wait.
bool core_has_waiting (const struct core *self, struct span target, uint64_t *ret_number);

// Redis has no plan that waits for the target. Ignored if one has begun to wait since
// core_has_waiting returned `number`.
void core_clear_waiting (struct core *self, struct span target, uint64_t number);

// What the core knows of an open plan.
struct core_view {
    bool gone;
    bool submitted; // Redis has not acknowledged the submission, and may still reject it
    bool settled;   // no row of the plan is pending or in flight
    struct span target;
    struct span message; // data NULL = as Redis has it
    int64_t revision;    // -1 = not known
    bool placed;         // `queued` and `score_us` are known
    bool queued;         // the plan is in the queue
    int64_t score_us;
    bool counted; // its run counts toward the limits of its target and group
    uint64_t exec_id;
    bool earlier_may_answer; // an earlier run may still answer
    bool no_status;          // its run got no status in time
    bool offered;            // workers may take its run
};

// Returns whether the plan is open. `ret` borrows until the next call.
bool core_view (const struct core *self, uint64_t id, struct core_view *ret);

// Whether a plan that is queued at this score is due and waits for its turn.
bool core_is_ready (const struct core *self, struct span target, uint64_t id, int64_t score_us);

// Called for each target that has plans, with their number.
typedef void core_target_fn (void *owner, struct span target, int64_t plans);
void core_each_target (const struct core *self, core_target_fn *call, void *owner);

// How many due plans of a target are in Redis only, as memory was full: they are read when half of
// the ready ones have been taken.
int64_t core_unread (const struct core *self, struct span target);

// How many ready plans a target has in memory.
int64_t core_ready (const struct core *self, struct span target);

// The earliest of the due times of ready plans and the claim times of plans offered to workers; 0 =
// there are none.
int64_t core_oldest_us (const struct core *self, struct span target);

// How many ready plans of a target precede a plan of this priority and group due at `due_us`.
int64_t core_before (const struct core *self, struct span target, int priority, struct span group,
                     int64_t due_us, uint64_t id);

// -- limits

// Set the limit of a target ("s:TARGET") or group ("g:GROUP"), by an admin; NULL removes it.
void core_set_limit (struct core *self, struct span name, const struct limit *limit);

// Begin to reload the limits set by admins.
void core_begin_limits (struct core *self);

// End the reload: drop the limits that were not set since core_begin_limits.
void core_end_limits (struct core *self);

// Set the limit that the settings define for a name; one without bounds = none.
void core_configure_limit (struct core *self, struct span name, const struct limit *limit);

// Load until when the rate of a name is used up.
void core_load_tokens (struct core *self, struct span name, double used_us);

// The state of the limit of a name; NULL: it has none.
const struct limit_state *core_limit (const struct core *self, struct span name);

// Call `call` for each limit, with how many more runs it allows now, and when its rate allows the
// next (INT64_MAX: after a run has ended).
void core_each_limit (const struct core *self, int64_t now_us,
                      void (*call) (void *owner, const char *name, int64_t left, int64_t wake_us),
                      void *owner);
