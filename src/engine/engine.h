// The engine: the rules of plans. Pure: each step takes the plan and an event, changes the plan and
// returns a decision, which the station carries out. So every rule of the plan document is here and
// is tested without Redis, sockets or clocks. Source: plan document 3.3 and 3.4; proto 6 and 7.
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
    bool succeeded;   // the run was successful
    bool unchanged;   // the plan is as it was: its message need not be written
    bool unqueued;    // LEASE and DOUBT of a plan that was paused or closed: it is not in the queue
    bool outlived;    // COMMIT_RETRY: an answer of the run may still arrive, but is ignored
    bool save_work;   // the answer's frames are the participant's result
    bool open_poll;   // the voters are the participants, none of whom has voted
    bool close_poll;  // every vote is reported
    enum broadcast broadcast;
    enum target_wait waiting;
    bool exhausted;       // the occurrence has failed, and is not retried
    int64_t attempts;     // if exhausted: failed runs of the occurrence
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
    bool adopted; // the previous owner sent the run: votes sent to it may be lost
};

// A message from the target, or from a worker or voter behind it.
struct answer {
    uint8_t status;     // not 0: dialect_status_in makes it an error
    bool on_connection; // on the connection of this run, not on the request socket
    bool has_exec_id;   // the message has a LOCAL_ID
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
    uint64_t lost; // the run before this one, which had no result within its lease; 0 = none
    const struct dispatch_way *way; // of its target
    const struct zone *zone;
    bool earlier_may_answer; // an earlier run of this occurrence has not ended
    bool pull;               // workers fetch it, or it is a flow: a lease that ended is no loss
    bool flow;               // it needs no command
    bool unknown;            // no target and no flow has the name of its key
    bool goes_on; // it is offered to workers or running there, or it is a flow in progress
    int64_t now;  // Unix seconds
};

// Handle a claimed plan: send it, revoke its right to run (FRAME_PLANERROR, with the reason), skip
// occurrences that are too late, or report a run that was lost.
struct decision engine_due (struct plan *plan, const struct due *due, struct reason *reason);

// Whether engine_due reports the outcome of the previous, lost run, if the plan may run. Else that
// run is lost without an outcome. Only `lost`, `exec_id` and `pull` of `due` are read.
bool engine_reports_lost (const struct plan *plan, const struct due *due);

// The plan has lost its right to run (plan document 3.3(3)).
struct decision engine_revoke (struct plan *plan);

// The run could not be sent to its target.
struct decision engine_not_sent (struct plan *plan);

// The target has as many runs without a status as it may have: the run is tried again a little
// later, which does not count as a failure.
struct decision engine_put_back (struct plan *plan);

// The run waits for something that may take a while, such as a full store of callbacks: it is put
// back for longer.
struct decision engine_hold (struct plan *plan);

// The target sent no status for the run in time.
struct decision engine_no_status (struct plan *plan);

// The target is unresponsive: the run is kept until it answers. Only its lease is renewed.
struct decision engine_kept (struct plan *plan);

// The run exceeded the plan's timeout.
struct decision engine_timeout (struct plan *plan, const struct zone *zone, int64_t now);

// Cancel the run.
struct decision engine_cancel (struct plan *plan, const struct zone *zone, int64_t now);

// Whether an answer belongs to no run in flight: it is late, or forged.
bool engine_is_late (const struct run *run, const struct answer *answer);

// Whether a status ends a run, that is, is not a heartbeat.
bool engine_is_result (uint8_t status);

// A message of the target. COMMIT_NONE: it is late or forged, and is only counted.
struct decision engine_answer (struct plan *plan, struct run *run, const struct answer *answer,
                               const struct zone *zone, int64_t now);

// When a plan in the state retry is retried, in Unix seconds: an estimate, as only the start of the
// failed run is known.
int64_t engine_retry_time (const struct plan *plan);

// The deadline of the run's vote, by the clock of Redis in microseconds; 0 = none.
int64_t engine_poll_end_us (const struct plan *plan);

// The same for the run itself: the earlier of its vote's deadline and the plan's timeout.
int64_t engine_run_end_us (const struct plan *plan);

// Whether this commit ends its run: later answers are ignored.
bool commit_ends_run (enum commit commit);

// "api", "pub", "vote", "pull"; and back, -1 if none.
const char *target_type_name (enum target_type type);
int target_type_parse (const char *name);
