// Plans that workers fetch: the offered runs, the workers at work, and the outcomes. Part of
// the core, with its rules: no call does I/O or waits, and its decisions are written with the open
// batch (core_batch). Source: proto 7.9.
//
// core_begin_run begins a run, core_pull_offer offers it. An offered run counts toward limits while
// at least one of its workers is at work and not late. The core keeps its team, its message and its
// position among the offers while it is in flight or has rows that are not acknowledged. Redis
// stores the teams (plan:team:TARGET:ID) and the accepted reports (plan:reports), but no offers:
// after a takeover plan:run says which runs are offered. The migration therefore deletes
// plan:offers:TARGET, which former versions kept; a downgrade writes it again.
//
// Returned spans are valid until core_batch_acked of the batch that is open now (or core_reset),
// even if that batch has no rows. Times are of Redis' clock, microseconds unless the name says
// otherwise.
#pragma once

#include "core.h"
#include "team.h"

// -- data read from Redis

// A call that returns CORE_UNREAD has changed nothing. Read all of this for the plan with this id,
// after the batch in flight is written, and repeat the call with it: it does not return CORE_UNREAD
// again.
struct core_found {
    struct span target; // the plan's target; empty = it has no plan with this id
    struct span message;
    int64_t score_us;        // its score in plan:time:set, -1 = not queued
    const struct span *team; // plan:team:TARGET:ID as read by HGETALL: field, value, ...
    size_t team_count;       // number of these spans
    int64_t report; // core_pull_report only: the score of core_report_name in plan:reports,
                    // -1 = not a member
};

// -- loading

// The offered runs that core_load_run found and whose teams are not loaded yet: at most `max`, each
// is returned once. Load all of them before serving workers: no worker can take the others until
// they are offered again, which happens at their scores at the latest.
struct core_team_name {
    struct span target; // valid until core_reset
    uint64_t id;
};
size_t core_unread_teams (struct core *self, struct core_team_name *out, size_t max);

// Load the team of a plan, and the plan, from what Redis has. What the core knows already
// is kept.
void core_load_team (struct core *self, struct span target, uint64_t id,
                     const struct core_found *found, int64_t now_us);

// -- offer

struct core_offer {
    struct span target;
    uint64_t id;
    uint64_t exec_id;     // from core_taken
    bool already_offered; // a re-offer: the stored message already says that the run is in progress
    int64_t lease_us;     // an offer that no worker takes is examined again after this
    const struct core_found *found; // NULL = nothing was read
};

struct core_offered {
    int64_t free; // how many more workers may take it
    bool over;    // the plan's timeout has passed since the first offer: the run has timed out
    struct team_outcome outcome; // if complete: the previous owner did not commit it
    struct span message;         // the plan's message while this run is in flight
};

// Offer a run that core_begin_run began to the workers of its target. Set the state in its message
// to running, unless the plan was paused or closed since. May be repeated. CORE_DONE, CORE_UNREAD,
// CORE_NOT_CURRENT: the run is not the one in flight.
enum core_result core_pull_offer (struct core *self, const struct core_offer *offer, int64_t now_us,
                                  struct core_offered *ret);

// How many plans are offered to the workers of this target.
int64_t core_pull_offers (const struct core *self, struct span target);

// Called for every offer, in order within each target. `order`: lower ones are offered first; it is
// the score in plan:offers:TARGET of a former version. `target` is valid until core_reset.
typedef void core_offer_fn (void *owner, struct span target, uint64_t id, int64_t order);
void core_each_offer (const struct core *self, core_offer_fn *call, void *owner);

// -- take

enum {
    PULL_EXAMINED_MAX = 256, // most offers that a take examines
    PULL_BYTES_MAX = 1048576 // a take ends when its messages exceed this size
};

struct core_pull_take {
    struct span target, worker;
    int64_t limit; // most plans
    int64_t from;  // `next` of the previous take, 0 = from the start
    int64_t lease_us;
    bool alone;                 // no other worker has requested plans of the target lately
    const struct span *members; // texts that the message must contain: "name":value
    size_t member_count;
};

// A run that the worker has taken.
struct core_job {
    struct span target;
    uint64_t id, exec_id;
    int64_t ping_s, timeout_s;
    struct span message;
};

struct core_pull_taken {
    int64_t next;    // where to continue, 0 = all offers were examined
    bool limited;    // limits of the target or of groups prevent some from being taken
    int64_t wait_ms; // if limited: until a rate allows the next; 0 = until a run ends
    size_t count;    // how many jobs were assigned
};

// Assign to the worker the plans that it may take, in the order of the offers; `jobs` has room for
// `limit`. Limits of the target and the group apply to the first worker of a run. Nothing needs to
// be read from Redis.
void core_pull_take (struct core *self, const struct core_pull_take *take, int64_t now_us,
                     struct core_job *jobs, struct core_pull_taken *ret);

// -- what workers send

struct core_worker {
    uint64_t id;        // id of the plan
    struct span target; // the plan's target must be this one, empty = any
    struct span worker;
    uint64_t exec_id; // as the worker received it, 0 = not stated
    int64_t lease_us;
    const struct core_found *found; // NULL = nothing was read
};

struct core_heartbeat {
    struct span progress; // empty = nothing new
    bool release;         // the worker returns the plan without having begun
};

struct core_alive {
    const char *stop;          // why the worker must stop, NULL = it continues
    int64_t ping_s, timeout_s; // the current ones
};

// Process a heartbeat, or the return of the plan. CORE_DONE, CORE_UNREAD.
enum core_result core_pull_alive (struct core *self, const struct core_worker *worker,
                                  const struct core_heartbeat *heartbeat, int64_t now_us,
                                  struct core_alive *ret);

struct core_report {
    bool success;
    bool repeat; // the plan is known not to exist: accept only the repeat of an accepted report
    struct advice advice;       // if not `success`
    struct span reason, result; // the result as JSON; both may be empty
};

struct core_reported {
    const char *refused;         // why it is rejected, NULL = accepted
    struct team_outcome outcome; // if complete: the run has ended and must be committed with it
    struct span target, message; // the plan's, if the worker is in the team of the run in flight
    uint64_t exec_id;            // that run, 0 = the worker is not in its team
    bool earlier_may_answer;     // an earlier run of the occurrence may still answer
};

// Process a worker's result. A repeated report is accepted but counts once, even after the end of
// the run or the plan. CORE_DONE, CORE_UNREAD.
enum core_result core_pull_report (struct core *self, const struct core_worker *worker,
                                   const struct core_report *report, int64_t now_us,
                                   struct core_reported *ret);

// The name of a report in plan:reports, NUL-terminated.
enum { REPORT_NAME_SIZE = 16 + 1 + 20 + 1 + 64 + 1 };
size_t core_report_name (const struct core_worker *worker, char out[REPORT_NAME_SIZE]);

// -- the team

struct core_team {
    struct span target, message;
    bool current; // the run of the team is in flight
    size_t count; // workers in the team
    const struct team *team;
    int64_t now_ms;
};

// The workers of the plan's last run; valid until the next call of the core. Only `id`, `target`
// and `found` of `worker` are used. CORE_DONE, CORE_UNREAD, CORE_NONE: there is no such plan.
enum core_result core_pull_team (struct core *self, const struct core_worker *worker,
                                 int64_t now_us, struct core_team *ret);

// The worker at `index`, by name. False: there are no more.
bool core_team_member (const struct core_team *self, size_t index, struct team_member *ret);
