// The plans of one Redis, as their owner decides on them: which one runs next, which run is in
// flight, the rows of a batch. Pure: nothing is asked and nothing waits. The store reads and writes
// for it, the station carries out what was decided when its batch is acknowledged.
//
// A plan is open while it is being read, has a run, or has rows that are not acknowledged. Its
// record here is the truth then, and what is read from Redis of it is older. Times are of Redis'
// clock, in microseconds.
#pragma once

#include "limit_state.h"
#include "plan.h"
#include "rows.h"

struct core;

enum { CORE_OFFERS = 16384, CORE_READY_BYTES = 128 << 20 };

struct core_bounds {
    int64_t plans, plans_station, plans_caller; // in all, of a target, of a caller; 0 = no bound
    int64_t outcomes;                           // that the history keeps
    int64_t ready_bytes; // of plans that are due and wait for their turn, in memory; 0 =
                         // CORE_READY_BYTES
    int64_t offers;      // to workers of a target, of one priority and above; 0 = CORE_OFFERS
};

struct core *core_new (const struct core_bounds *bounds);
void core_destroy (struct core **self);
void core_set_bounds (struct core *self, const struct core_bounds *bounds);

// Drop everything: it is read again. But numbers never go back.
void core_reset (struct core *self);
uint64_t core_resets (const struct core *self); // how often that was done

// -- what Redis has: loaded before anything else after a reset

struct core_numbers {
    int64_t plans;             // in plan:ids
    uint64_t exec_id, plan_id; // the last ones that were made
    int64_t seq, sub;          // of the last broadcast; outcomes kept after it
    char epoch[24];            // of the broadcasts
    bool classes;              // some plans have a priority or a group
};

void core_load_numbers (struct core *self, const struct core_numbers *numbers);
void core_load_count (struct core *self, struct span target, int64_t plans);

// A field of plan:run.
void core_load_run (struct core *self, struct span target, uint64_t id, struct span run);

// The class of a plan that has one: of those that have runs it is wanted.
void core_load_class (struct core *self, struct span target, uint64_t id, struct span class);

// Whether some plans have a class.
bool core_has_classes (const struct core *self);

// -- the queue, read in pages

enum { CORE_PAGE = 1000 };

// The last member that was read: those after it are not known here.
struct core_cursor {
    int64_t score_us; // INT64_MIN = none was
    bool all;         // of that score
    char target[STATION_NAME_MAX + 1];
    uint64_t id;
};

// Whether a page is wanted now: after this cursor. It is in flight until core_page.
bool core_wants_page (struct core *self, int64_t now_us, struct core_cursor *ret);

struct core_member {
    struct span target;
    uint64_t id;
    int64_t score_us;
    struct span class; // "PRIORITY:GROUP", empty = neither
};

// The answer: the members, whose target and id were understood, and how many there were in all.
// Fewer than CORE_PAGE: that was the end of the queue.
void core_page (struct core *self, const struct core_member *members, size_t count, size_t all,
                int64_t now_us);

// It could not be read.
void core_page_lost (struct core *self);

// Whether Redis has all that was decided, and no page is in flight.
bool core_is_quiet (const struct core *self);

// How many members of the queue are due until `ret_until_us`, to compare with what Redis has; -1:
// unknown at present. Where the two differ somebody changed the queue by hand: core_reread.
int64_t core_expects_due (struct core *self, int64_t now_us, int64_t *ret_until_us);

// Read all that is due again.
void core_reread (struct core *self);

// When something is due next, or a rate allows a run; INT64_MAX: nothing known.
int64_t core_next_us (const struct core *self);

// -- batches

// The batch that takes what is decided now, by its number in this process: from 1 on.
int64_t core_batch (const struct core *self);

// Whether there is anything to write.
bool core_has_rows (const struct core *self);

// How many bytes the batch that gathers has, approximately.
size_t core_bytes (const struct core *self);

// Release the memory of batches, where nothing is gathered or in flight.
void core_trim (struct core *self);

// Whether some of it is more than leases: who sent a run, or ended one, waits for it.
bool core_hurries (const struct core *self);

// Close the batch: its rows, which live until core_acked. None may be in flight.
const struct rows *core_take_rows (struct core *self);

// It was applied.
void core_acked (struct core *self, int64_t now_us);

// It was refused for lack of memory: its submissions are taken out, the rows as they are now.
const struct rows *core_without_submissions (struct core *self);

// A row of the next batch that is no plan's. The words are copied.
void core_write (struct core *self, const struct span *words, size_t count);

// -- submissions

// The group of plans that no limit holds, nor counts: timers of flows, without which the runs that
// use a limit up would not end.
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
    bool made_here;     // its id was; else keys of a former plan are deleted, unless `first`
    bool first;         // no plan had its id before, but ids of these do not ascend
    struct span missed; // an outcome for the history, empty = none
    bool follows;       // from an outcome of the same batch: lack of memory does not take it back
};

enum core_result {
    CORE_DONE,
    CORE_IN_USE,      // there is a plan of this id
    CORE_FULL,        // a bound is reached
    CORE_NONE,        // there is no such plan
    CORE_NOT_CURRENT, // the run is not the one in flight
    CORE_CHANGED,     // the plan is another one by now
    CORE_UNREAD       // something is to be read first (core_pull.h)
};

// CORE_FULL: the name of the bound, and its value.
struct core_refusal {
    const char *bound;
    int64_t most;
};

// Place a plan of an id that nobody has in Redis, as was looked up or as it was made here.
enum core_result core_submit (struct core *self, const struct core_submission *submission,
                              int64_t now_us, struct core_refusal *ret);

// The same of a plan that follows from what is decided here: no bound keeps it out, and lack of
// memory does not take it back.
void core_place (struct core *self, const struct core_submission *submission, int64_t now_us);

// The greatest id that was made here, by this owner or one before it: ids ascend.
uint64_t core_last_id (const struct core *self);

// Take the runs in flight, whose scores are the ends of their leases, off these counts of scores:
// `count` of them, of `step_s` seconds each, from `from_s` on.
void core_take_off_leases (const struct core *self, int64_t from_s, int64_t step_s, int64_t *counts,
                           size_t count);

// The least ids above `after` of plans with a run in progress, in ascending order, at most `most`;
// of this target, empty = of any. Returns how many.
size_t core_running (const struct core *self, struct span target, uint64_t after, uint64_t *ids,
                     size_t most);

// How many plans there are; and how many of them plan:ids had when it was read: the others were
// removed by hand.
int64_t core_plan_count (const struct core *self);
void core_plans_are (struct core *self, int64_t counted, int64_t found);

// Whether the caller's plans are counted here, for the bound on them; else its field of plan:count
// is to be read, for core_load_caller.
bool core_knows_caller (const struct core *self, struct span caller);
void core_load_caller (struct core *self, struct span caller, int64_t plans);

// -- taking plans

struct core_slots {
    struct span target;
    int64_t free_slots; // plans that it takes
    bool pull;          // workers fetch them: limits hold when they do
    uint64_t probe;     // a plan that it takes however few are free; 0 = none
};

struct core_wish {
    int64_t limit;    // plans
    int64_t ahead_us; // those that are due within so long are taken too
    int64_t lease_us;
    const struct core_slots *targets; // the others take all
    size_t target_count;
    bool writes; // the messages say at once that the plans run
};

// A plan that was chosen.
struct core_choice {
    struct open_plan *plan;
    int64_t due_us;
    bool needs_read; // of its message and its score
};

// Whether plans are due, or are within so long, that a target with free slots may take.
bool core_has_due (struct core *self, const struct core_wish *wish, int64_t now_us);

// Choose at most `max`: they are open, and stay chosen until core_take or core_unchoose.
size_t core_choose (struct core *self, const struct core_wish *wish, int64_t now_us,
                    struct core_choice *out, size_t max);

// Whether a limit kept plans from being chosen the last time.
bool core_waits_for_limit (const struct core *self);

struct span core_choice_target (const struct core_choice *choice);
uint64_t core_choice_id (const struct core_choice *choice);

// Whether what is read of plans includes their fields of plan:run.
bool core_wants_runs (const struct core *self);

// Choose at most `max` plans that are likely to be run next, to be read before they are chosen:
// their choices end with core_prepared.
size_t core_look_ahead (struct core *self, struct core_choice *out, size_t max);
void core_prepared (struct core *self, const struct core_choice *choice, bool read);

// What was read of one: its message (data NULL = there is none), its score (-1 = it is not in the
// queue) and, if it is wanted, its field of plan:run.
void core_found_message (const struct core_choice *choice, struct span message);
void core_found_score (const struct core_choice *choice, int64_t score_us);
void core_found_run (const struct core_choice *choice, struct span run);

struct core_taken {
    struct span target;
    uint64_t id;
    struct span message; // as it was before this run; lives until core_acked of this batch
    uint64_t exec_id;
    bool earlier_may_answer; // an earlier run of this occurrence has not ended
    uint64_t lost; // that one, in flight until now without a result within its lease; 0 = none
    int64_t at_us; // now, or when it is due if that is later
    bool written;  // the message says that it runs
};

// Begin the run of a chosen plan. CORE_NONE: it is not due any more; CORE_CHANGED: it has no
// message and is taken out, `ret` says which it was.
enum core_result core_take (struct core *self, const struct core_choice *choice,
                            const struct core_wish *wish, int64_t now_us, struct core_taken *ret);

// Put it back: it was not read.
void core_unchoose (struct core *self, const struct core_choice *choice);

// -- what becomes of runs

enum core_end {
    CORE_LEASE, // the run goes on, with a new lease
    CORE_FLOW,  // the same of the run of a flow: it counts for its target's limit only, and its
                // number stays
    CORE_DOUBT, // over, but a late answer counts until the retry
    CORE_RETRY, // over, and tried again
    CORE_PAST,  // the same, and an answer may still come that counts no more
    CORE_OVER,  // over: it waits for its next time, or is out of the queue
    CORE_GONE   // the plan is over: its keys are deleted
};

struct core_commit {
    struct span target;
    uint64_t id, exec_id;
    enum core_end end;
    bool queued;
    int64_t due_us;
    struct span message; // copied; data NULL = it stays
    int64_t revision;    // of that message
    int64_t decided_on;  // the revision, or -1 = any
    enum { CORE_SILENT, CORE_PUBLISHED, CORE_FAILURE } broadcast;
    bool waits; // for its target: due at once when it connects
    bool has_work, has_team;
    struct span caller;
    struct span record, missed, output; // empty = none
};

struct core_committed {
    int64_t seq;         // of the broadcast that is to follow; 0 = none
    struct span message; // CORE_CHANGED: what stands there now
};

enum core_result core_commit (struct core *self, const struct core_commit *commit, int64_t now_us,
                              struct core_committed *ret);

// Move the end of the lease of this run, if it is the plan's current one, to a later time.
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
    bool begins_anew; // CORE_AT: who worked on it before says nothing of its next run
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

// Delete it, in whatever state it is.
void core_remove (struct core *self, const struct core_removal *removal, int64_t now_us);

// The plan whose run is a flow's is looked at then. False: it has no such run.
bool core_flow_due (struct core *self, struct span target, uint64_t id, int64_t due_us);

// Plans that wait for a target are due now: those that are queued later. `member` is as it was
// read, with score -1 if it is not in the queue.
void core_wake (struct core *self, const struct core_member *member, int64_t now_us);

// Whether plans may wait for it; a number that changes when one begins to. And that none does, if
// the number is the one it was when that was asked.
bool core_has_waiting (const struct core *self, struct span target, uint64_t *ret_number);
void core_none_waiting (struct core *self, struct span target, uint64_t number);

// What is known here of a plan and not in Redis yet, or in flight. False: nothing.
struct core_view {
    bool gone;
    bool submitted; // and Redis has not acknowledged it: it may be refused yet
    bool settled;   // all of it is written
    struct span target;
    struct span message; // data NULL = as Redis has it
    int64_t revision;    // -1 = not known
    bool placed, queued; // whether its place is known here, and it has one
    int64_t score_us;
    bool counted; // it counts as a run of its target and group
    uint64_t exec_id;
    bool earlier_may_answer, no_status, offered;
};
bool core_view (const struct core *self, uint64_t id, struct core_view *ret);

// Whether a plan in the queue at this score is ready: it is due, and waits for its turn.
bool core_is_ready (const struct core *self, struct span target, uint64_t id, int64_t score_us);

// Call for each target that has plans with how many.
typedef void core_target_fn (void *owner, struct span target, int64_t plans);
void core_each_target (const struct core *self, core_target_fn *call, void *owner);

// How many due plans of a target are in Redis only, as memory is full: they are read when half of
// those that are ready were taken.
int64_t core_unread (const struct core *self, struct span target);

// How many ready plans a target has in memory.
int64_t core_ready (const struct core *self, struct span target);

// Since when the plan waits that has waited longest of those that are ready, or offered to workers
// and not taken; 0 = there is none.
int64_t core_oldest_us (const struct core *self, struct span target);

// How many ready plans of a target go before one of this priority and group that was due then.
int64_t core_before (const struct core *self, struct span target, int priority, struct span group,
                     int64_t due_us, uint64_t id);

// -- limits

void core_set_limit (struct core *self, struct span name, const struct limit *limit);
// Replace the limits set by admins: those not set between these two are dropped.
void core_begin_limits (struct core *self);
void core_end_limits (struct core *self);
void core_configure_limit (struct core *self, struct span name, const struct limit *limit);
void core_load_tokens (struct core *self, struct span name, double used_us);
const struct limit_state *core_limit (const struct core *self, struct span name);

// Call for each limit with how many runs it allows now, and when it allows more (INT64_MAX = when
// one ends).
void core_each_limit (const struct core *self, int64_t now_us,
                      void (*call) (void *owner, const char *name, int64_t left, int64_t wake_us),
                      void *owner);
