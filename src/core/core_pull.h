// Plans that workers fetch: which runs are offered, who works on them, and their outcome. Part of
// the core, with its rules: no call asks or waits, and its decisions are written by the batch that
// gathers (core_batch). Source: proto 7.9.
//
// A run that core_take began is offered with core_pull_offer, and is then in flight as an offered
// one: it counts for limits while a worker is at work that is not late. Its team, its message and
// its place among the offers are here while it is in flight, or has rows that are not acknowledged.
// Redis has the teams (plan:team:TARGET:ID) and the reports that were accepted (plan:reports).
// There are no rows of offers: what is offered is found from plan:run after a takeover, so
// plan:offers:TARGET of a former version is deleted by the migration, and written on the way back.
//
// Spans of answers live until core_acked of the batch that gathers now (or core_reset), also when
// nothing of it is to be written. Times are of Redis' clock, microseconds unless the name says
// otherwise.
#pragma once

#include "core.h"
#include "team.h"

// -- what is read of a plan

// A call that returns CORE_UNREAD has changed nothing. Read all of this of the plan with this id,
// after the batch in flight, and repeat the call with it; then it returns something else.
struct core_found {
    struct span target; // of the plan; empty = there is none with this id, or not of this target
    struct span message;
    int64_t score_us;        // its score in plan:time:set, -1 = it is not in there
    const struct span *team; // plan:team:TARGET:ID as HGETALL has it: field, value, field, ...
    size_t team_count;       // spans: two of each field
    int64_t report; // core_pull_report only: the score of core_report_name in plan:reports,
                    // -1 = it is not in there
};

// -- loading

// The runs that core_load_run has found to be offered and whose teams were not loaded since: at
// most `max` of them, each once. Load all of them before workers are served; one that is not loaded
// is taken by nobody until it is offered again, which happens at its score at the latest.
struct core_team_name {
    struct span target; // lives as long as the core is not reset
    uint64_t id;
};
size_t core_unread_teams (struct core *self, struct core_team_name *out, size_t max);

// What Redis has of the team of a plan, and of the plan. It is not looked at where it is known
// here.
void core_load_team (struct core *self, struct span target, uint64_t id,
                     const struct core_found *found, int64_t now_us);

// -- offer

struct core_offer {
    struct span target;
    uint64_t id;
    uint64_t exec_id;     // of core_taken
    bool already_offered; // a re-offer: the stored message already says that the run is in progress
    int64_t lease_us;     // an offer that nobody takes is looked at again after this
    const struct core_found *found; // NULL = nothing was read
};

struct core_offered {
    int64_t free; // how many workers may take it
    bool over;    // the plan's timeout has passed since it was offered first: the run has timed out
    struct team_outcome outcome; // complete: the owner before did not get to end the run
    struct span message;         // of the plan, as it is while this run is in flight
};

// Offer a run that core_take began to the workers of its target. The message says from now on that
// the plan runs, unless it was paused or closed since. May be repeated.
// CORE_DONE, CORE_UNREAD, CORE_NOT_CURRENT: the run is not the one in flight.
enum core_result core_pull_offer (struct core *self, const struct core_offer *offer, int64_t now_us,
                                  struct core_offered *ret);

// How many plans are offered to the workers of this target.
int64_t core_pull_offers (const struct core *self, struct span target);

// All of them, of each target the first first. `order`: lower ones are offered before, as the score
// in plan:offers:TARGET of a former version says. `target` lives as long as the core is not reset.
typedef void core_offer_fn (void *owner, struct span target, uint64_t id, int64_t order);
void core_each_offer (const struct core *self, core_offer_fn *call, void *owner);

// -- take

enum { PULL_LOOK_MAX = 256, PULL_BYTES_MAX = 1048576 }; // offers looked at, bytes of messages

struct core_pull_take {
    struct span target, worker;
    int64_t limit; // plans
    int64_t from;  // `next` of the take before, 0 = from the start
    int64_t lease_us;
    bool alone;                 // no other worker has asked for plans of the target lately
    const struct span *members; // texts that the message must have: "name":value
    size_t member_count;
};

// A plan that the worker has now.
struct core_job {
    struct span target;
    uint64_t id, exec_id;
    int64_t ping_s, timeout_s;
    struct span message;
};

struct core_pull_taken {
    int64_t next;    // where to look on, 0 = that was all
    bool limited;    // limits of the target or of groups keep some from being taken
    int64_t wait_ms; // then: until a rate allows the next; 0 = until a run ends
    size_t count;    // of jobs
};

// Give the worker what it may have, in the order of the offers; `jobs` has room for `limit`.
// Limits of the target and the group apply to the first worker of a run. It needs nothing read.
void core_pull_take (struct core *self, const struct core_pull_take *take, int64_t now_us,
                     struct core_job *jobs, struct core_pull_taken *ret);

// -- what workers send

struct core_worker {
    uint64_t id;        // of the plan
    struct span target; // that the plan must be of, empty = any
    struct span worker;
    uint64_t exec_id; // that it was given, 0 = it does not say
    int64_t lease_us;
    const struct core_found *found; // NULL = nothing was read
};

struct core_sign {
    struct span progress; // empty = nothing new
    bool release;         // it returns the plan, and has not begun
};

struct core_alive {
    const char *stop;          // why the work is to end, NULL = it goes on
    int64_t ping_s, timeout_s; // as they are now
};

// A heartbeat of a worker, or it returns the plan. CORE_DONE, CORE_UNREAD.
enum core_result core_pull_alive (struct core *self, const struct core_worker *worker,
                                  const struct core_sign *sign, int64_t now_us,
                                  struct core_alive *ret);

struct core_report {
    bool success;
    bool repeat; // accept it only as the repeat of one that was accepted: there is no such plan
    struct advice advice;       // not of a success
    struct span reason, result; // the result as JSON; both may be empty
};

struct core_reported {
    const char *refused;         // why, NULL = it is accepted
    struct team_outcome outcome; // complete: the run has ended, and is to be committed as such
    struct span target, message; // of the plan, when the worker had a part in the run in flight
    uint64_t exec_id;            // of that run, 0 = it had none
    bool earlier_may_answer;     // an earlier run of the occurrence may still answer
};

// The worker has ended its work. The same report counts once and is accepted again, also when the
// run or the plan is over. CORE_DONE, CORE_UNREAD.
enum core_result core_pull_report (struct core *self, const struct core_worker *worker,
                                   const struct core_report *report, int64_t now_us,
                                   struct core_reported *ret);

// The member of plan:reports of a report, with a NUL.
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

// The workers of the plan's last run. It lives until the next call of the core. Of `worker` only
// the plan counts. CORE_DONE, CORE_UNREAD, CORE_NONE: there is no such plan.
enum core_result core_pull_team (struct core *self, const struct core_worker *worker,
                                 int64_t now_us, struct core_team *ret);

// One of them, in the order of their names. False: there are no more.
bool core_team_member (const struct core_team *self, size_t index, struct team_member *ret);
