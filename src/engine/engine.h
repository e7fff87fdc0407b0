// The engine: what happens to a plan. Pure: each step takes the plan and an event, changes the plan
// and says what is to be done; the station does it. So every rule of the plan document is here and
// is tested without Redis, sockets or clocks.
// Source: plan document 3.3 and 3.4; proto 6 and 7.
#pragma once

#include "advice.h"
#include "misses.h"
#include "plan_message.h"

// What the store writes. Except for the first submission, a commit applies only while the run it
// belongs to is the plan's current one.
enum commit {
    COMMIT_NONE,  // nothing changes
    COMMIT_LEASE, // save; the run goes on with a new lease
    COMMIT_RETRY, // save; the run is over; back to the queue, due `delay_ms` from now
    COMMIT_DOUBT, // as RETRY, but a late answer of the run still counts until the retry is sent
    COMMIT_NEXT,  // save; the run is over; queued for plan_time
    COMMIT_PARK,  // save; out of the queue; the message is kept
    COMMIT_END,   // the plan is over: its keys are deleted
    COMMITS
};

enum broadcast {
    BROADCAST_NONE,
    BROADCAST_RESULT, // always
    BROADCAST_FAILURE // at most once per plan and minute
};

// Whether plans that failed like this become due at once when their target connects.
enum target_wait { WAITING_NOT, WAITING_FOR_TARGET };

struct decision {
    enum commit commit;
    int64_t delay_ms; // COMMIT_RETRY and COMMIT_DOUBT
    bool succeeded;   // the run ended well
    bool unchanged;   // the plan is as it was: its message need not be written
    bool unqueued;    // LEASE and DOUBT of a plan that was paused or closed: out of the queue
    bool outlived;    // COMMIT_RETRY: an answer of the run may still come, and counts no more
    bool save_work;   // the answer's frames are the participant's result
    bool open_poll;   // the voters are the participants, none of whom has voted
    bool close_poll;  // every vote is reported
    enum broadcast broadcast;
    enum target_wait waiting;
    bool exhausted;       // the occurrence has failed, and is not retried
    int64_t attempts;     // of such a one: runs of it that failed
    bool send;            // only from engine_due: send the run to its target
    struct misses misses; // occurrences that this step skipped
};

// A run in flight, as far as the rules need it.
enum run_phase {
    RUN_SENT,   // no heartbeat yet: the target's first message is its status
    RUN_RUNNING // it sent RUNING or WAITING: its next message is read as a result
};

struct run {
    uint64_t exec_id;
    enum run_phase phase;
    bool earlier_may_answer; // an earlier run of this occurrence ran out of its lease: its answer
                             // may still come
};

enum target_type { TARGET_API, TARGET_PUB, TARGET_VOTE, TARGET_PULL, TARGET_TYPES };

// The role of an answer in a vote.
enum poll { POLL_NONE, POLL_OPENED, POLL_VOTE, POLL_CLOSED, POLL_TIMEOUT };

struct vote_tally {
    enum poll event;
    bool opened;                     // the voters are known
    bool stored;                     // the participants in the store are those of this vote
    size_t voters, voted, in_favour; // with this answer
    bool adopted; // the owner before sent the run: votes sent to that may be lost
};

// A message from the side of the target.
struct answer {
    uint8_t status;     // not 0: dialect_status_in makes it an error
    bool on_connection; // on the connection of this run, not on the request socket
    bool has_exec_id;   // it carries a LOCAL_ID
    uint64_t exec_id;
    enum target_type target;
    struct vote_tally tally;
    struct advice advice; // TARGET_PULL
};

// Compute the first occurrence of a submitted plan. `now` is Unix seconds; `ret_misses`: what lies
// before it and is not made up for. 0, or ZPLAN_EPLAN with a reason when the plan would never run.
int engine_submit (struct plan *plan, const struct zone *zone, int64_t now,
                   struct misses *ret_misses, struct reason *reason);

struct due {
    struct span key_station; // the station that the plan's key names
    uint64_t exec_id;
    uint64_t lost; // the run before this one, which had no result within its lease; 0 = none
    const struct dispatch_way *way; // of its target
    const struct zone *zone;
    bool earlier_may_answer; // an earlier run of this occurrence has not ended
    bool pull;               // workers fetch it, or it is a flow: a lease that ended is no loss
    bool flow;               // it needs no command
    bool unknown;            // no target and no flow has the name of its key
    bool goes_on;            // workers have its offer or work on it, or it is a flow in progress
    int64_t now;             // Unix seconds
};

// A claimed plan: send it, or take its right to run (FRAME_PLANERROR, with the reason), or skip
// what is too late, or report a run that was lost.
struct decision engine_due (struct plan *plan, const struct due *due, struct reason *reason);

// Whether engine_due reports what became of the run before this one, if the plan may run. Else that
// run is lost without an outcome. Of `due` it reads `lost`, `exec_id` and `pull`.
bool engine_reports_lost (const struct plan *plan, const struct due *due);

// The plan has lost its right to run (plan document 3.3(3)).
struct decision engine_revoke (struct plan *plan);

// It could not be handed to its target: nothing was sent.
struct decision engine_not_sent (struct plan *plan);

// Its target has as many unanswered runs as it may have: it is tried again a little later, and that
// is no failure.
struct decision engine_put_back (struct plan *plan);

// It waits for something that may take a while, as when too many callbacks are kept: put back for
// longer.
struct decision engine_hold (struct plan *plan);

// No status came in time.
struct decision engine_no_status (struct plan *plan);

// Its target answers nothing: the run is kept until it does. Only its lease is renewed.
struct decision engine_kept (struct plan *plan);

// Its run took longer than the plan's timeout.
struct decision engine_timeout (struct plan *plan, const struct zone *zone, int64_t now);

// Its run is to be cancelled.
struct decision engine_cancel (struct plan *plan, const struct zone *zone, int64_t now);

// Whether an answer is of no run in flight: late, or forged.
bool engine_is_late (const struct run *run, const struct answer *answer);

// Whether a status ends a run: it is no heartbeat.
bool engine_is_result (uint8_t status);

// A message of the target. COMMIT_NONE: it is late or forged, and is only counted.
struct decision engine_answer (struct plan *plan, struct run *run, const struct answer *answer,
                               const struct zone *zone, int64_t now);

// When a plan in the state retry is tried again, Unix seconds: about, as its run is known by its
// beginning.
int64_t engine_retry_time (const struct plan *plan);

// When the time of the run's vote is over, by the clock of Redis in microseconds; 0 = no bound.
int64_t engine_poll_end_us (const struct plan *plan);

// The same of the run itself: of its vote, or by the plan's timeout.
int64_t engine_run_end_us (const struct plan *plan);

// Whether this commit is the end of its run: no answer counts for it any more.
bool commit_ends_run (enum commit commit);

// "api", "pub", "vote", "pull"; and back, -1 if none.
const char *target_type_name (enum target_type type);
int target_type_parse (const char *name);
