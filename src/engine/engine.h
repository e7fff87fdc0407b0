// The engine: the rules of plans. Pure: each step takes the plan and an event, changes the plan and
// returns a decision, which the station carries out. So every rule of the plan document is here and
// is tested without Redis, sockets or clocks. Source: plan document 3.3 and 3.4; proto 6 and 7.
#pragma once

#include "advice.h"
#include "misses.h"
#include "plan_message.h"

// What the store writes; "save": with the message of the plan. A commit applies only while its run
// is the plan's current one, except for the first submission.
enum commit {
    COMMIT_NONE,  // nothing changes
    COMMIT_LEASE, // save; the run continues with a new lease
    COMMIT_RETRY, // save; the run is over; the plan is queued, due `delay_ms` from now
    COMMIT_DOUBT, // as COMMIT_RETRY, but a late answer of the run counts until the retry is sent
    COMMIT_NEXT,  // save; the run is over; the plan is queued for plan_time
    COMMIT_PARK,  // save; the run is over; the plan leaves the queue
    COMMIT_END,   // the plan is over: its keys are deleted
    COMMITS
};

enum broadcast {
    BROADCAST_NONE,
    BROADCAST_RESULT, // each is broadcast
    BROADCAST_FAILURE // at most one per plan and minute is broadcast
};

// Whether the plan becomes due at once when its target connects.
enum target_wait { WAITING_NOT, WAITING_FOR_TARGET };

struct decision {
    enum commit commit;
    int64_t delay_ms; // COMMIT_RETRY and COMMIT_DOUBT
    bool succeeded;   // the run was successful
    bool unchanged;   // the plan is as it was: its message need not be written
    bool unqueued;   // COMMIT_LEASE, COMMIT_DOUBT: the plan was paused or closed, and is not in the
                     // queue
    bool outlived;   // COMMIT_RETRY: an answer of the run may still arrive, to be ignored
    bool save_work;  // store the answer's frames as the result of its participant
    bool open_poll;  // store the voters as participants that have not voted
    bool close_poll; // the vote has ended: broadcast all votes, which the store returns
    enum broadcast broadcast;
    enum target_wait waiting;
    bool exhausted;       // the occurrence has failed, and is not retried
    int64_t attempts;     // if exhausted: how many runs of the occurrence failed
    bool send;            // only from engine_due: send the run to its target
    struct misses misses; // occurrences that this step skipped
};

// What the rules need to know of a run in flight.
enum run_phase {
    RUN_SENT,   // no heartbeat yet: the target's next message is read as its status
    RUN_RUNNING // it sent RUNING or WAITING: its next message is read as a result
};

struct run {
    uint64_t exec_id;
    enum run_phase phase;
    bool earlier_may_answer; // the lease of an earlier run of this occurrence expired, but its
                             // answer may still arrive
};

enum target_type { TARGET_API, TARGET_PUB, TARGET_VOTE, TARGET_PULL, TARGET_TYPES };

// The role of an answer in a vote.
enum poll {
    POLL_NONE,   // none: there is no vote, or it is a heartbeat
    POLL_OPENED, // the target names the voters
    POLL_VOTE,   // the vote of a voter
    POLL_CLOSED, // the target says that no more votes come
    POLL_TIMEOUT // the deadline of the vote has passed
};

struct vote_tally {
    enum poll event;
    bool opened;                     // the voters are known
    bool stored;                     // the participants in the store are those of this vote
    size_t voters, voted, in_favour; // numbers, with this answer
    bool adopted; // the previous owner sent the run: votes that it received may be lost
};

// A message from the target, or from one of its workers or voters.
struct answer {
    uint8_t status;     // not 0: dialect_status_in makes it an error
    bool on_connection; // received on the connection that sent this run, not on the request socket
    bool has_exec_id;   // the message has a LOCAL_ID frame
    uint64_t exec_id;
    enum target_type target;
    struct vote_tally tally;
    struct advice advice; // TARGET_PULL
};

// Compute the first occurrence of a submitted plan. `now` is Unix seconds; `ret_misses`: earlier
// occurrences that will not run. 0, or ZPLAN_EPLAN with a reason when the plan would never run.
int engine_submit (struct plan *plan, const struct zone *zone, int64_t now,
                   struct misses *ret_misses, struct reason *reason);

struct due {
    struct span key_station; // the station that the plan's key names
    uint64_t exec_id;
    bool lost; // this run had no result within its lease, and is to end (engine_ends_lost)
    const struct dispatch_way *way; // how its target gets runs
    const struct zone *zone;
    bool earlier_may_answer; // an earlier run of this occurrence has not ended
    bool pull;               // workers fetch it, or it is a flow: a lease that ended is no loss
    bool flow;               // it needs no command
    bool unknown;            // no target and no flow has the name of its key
    bool goes_on;   // its run is in progress: workers may take it or work on it, or it is a flow in
                    // progress
    int64_t now;    // Unix seconds
    int64_t now_us; // `lost`: Unix microseconds
};

// Handle a claimed plan: send it, revoke its right to run (FRAME_PLANERROR, with the reason), skip
// occurrences that are too late, or end a run that was lost.
struct decision engine_due (struct plan *plan, const struct due *due, struct reason *reason);

// Whether engine_due ends the run that was lost, with an outcome. False: its occurrence just runs
// again. Only `exec_id`, `lost`, `pull` and `now_us` of `due` are read.
bool engine_ends_lost (const struct plan *plan, const struct due *due);

// Revoke the plan's right to run (plan document 3.3(3)): it is parked until it is reset.
struct decision engine_revoke (struct plan *plan);

// The run could not be sent to its target.
struct decision engine_handle_not_sent (struct plan *plan);

// The run was not sent, as its target has no free slots: queue it again, due soon. This does not
// count as a failure.
struct decision engine_requeue (struct plan *plan);

// As engine_requeue, but due later, as the wait may be long, such as for a free slot for a
// callback.
struct decision engine_requeue_later (struct plan *plan);

// The target sent no status for the run in time.
struct decision engine_handle_no_status (struct plan *plan);

// The target is unresponsive: the run stays in flight until it answers. Only its lease is renewed.
struct decision engine_keep_run (struct plan *plan);

// The run exceeded the plan's timeout.
struct decision engine_timeout (struct plan *plan, const struct zone *zone, int64_t now);

// Cancel the run: its occurrence is not retried.
struct decision engine_cancel (struct plan *plan, const struct zone *zone, int64_t now);

// Whether an answer does not belong to this run, as it is late or forged.
bool engine_answer_is_late (const struct run *run, const struct answer *answer);

// Whether a status ends a run, that is, is not a heartbeat.
bool engine_is_result (uint8_t status);

// Process a message of the target. COMMIT_NONE: it does not belong to this run.
struct decision engine_answer (struct plan *plan, struct run *run, const struct answer *answer,
                               const struct zone *zone, int64_t now);

// When a plan in the state retry is retried, in Unix seconds: an estimate, as only the start of the
// failed run is known.
int64_t engine_retry_time (const struct plan *plan);

// The deadline of the run's vote, in microseconds of Redis' clock; 0 = none.
int64_t engine_poll_end_us (const struct plan *plan);

// The deadline of the run itself: the earlier of its vote's deadline and the plan's timeout; 0 =
// none.
int64_t engine_run_end_us (const struct plan *plan);

// Whether this commit ends its run: later answers are ignored.
bool commit_ends_run (enum commit commit);

// "api", "pub", "vote" or "pull".
const char *target_type_name (enum target_type type);

// The type with this name; -1: there is none.
int target_type_parse (const char *name);
