// The plan: its submission, and its progress. The record that the store keeps as JSON and that the
// engine changes. Source: plan document 1.3; proto/redis.md 3.
#pragma once

#include "message.h"
#include "plan_frame.h"
#include "policy.h"
#include "schedule.h"
#include "station_name.h"

enum {
    // Mailbox, description and frames as submitted.
    PLAN_MESSAGES_MAX = 2 + DESC_FRAMES_MAX,
    // Plan document 3.3(3): fewer stored frames than this, and the plan lost its right to run.
    PLAN_MESSAGES_MIN = 5,
    PLAN_RUN_WITH_MAX = 4096
};

// The states of proto 3.2; the numbers are the stored ones.
enum plan_state {
    PLAN_NONE,
    PLAN_QUEUE,   // waits for its time
    PLAN_EXECUTE, // a target works on it
    PLAN_RETRY,   // waits for a paced retry
    PLAN_SKIP,    // MicroZero's; no plan of ours is in it
    PLAN_PAUSE,   // out of the queue by a command, until it is reset
    PLAN_ERROR,   // out of the queue until it is reset
    PLAN_CLOSE,   // ended
    PLAN_STATES
};

// The outcome of a plan that left the queue for good, or of its last occurrence. Source: task
// module (Failure, Pending, ManuallyProcessed, Cancelled).
enum plan_verdict {
    VERDICT_NONE,
    VERDICT_FAILURE,   // the occurrence failed, and is not retried
    VERDICT_PENDING,   // the occurrence failed, and needs manual action
    VERDICT_MANUAL,    // that failure was resolved manually
    VERDICT_CANCELLED, // the run was cancelled
    VERDICTS
};

struct plan {
    uint64_t id;
    struct schedule schedule; // plan_type, plan_value, plan_repet, no_keep, base_time, add_time
    int64_t plan_time;        // nominal time of the next or present occurrence, Unix seconds
    int64_t exec_time;        // of the last dispatch or RUNING, Unix seconds; 0 before the first
    int64_t real_repet;       // successful runs
    int64_t skip_set;         // occurrences to skip, as last requested
    int64_t skip_num;         // occurrences that used up a repeat without a run
    int64_t skip_wait;        // the part of skip_set to skip when the run in flight is done
    int64_t error_count;      // failures since the last success; determines the pace of retries
    int64_t tries;            // of a plan with a policy: runs not taken since the last failed run
    int64_t revision;         // changes with every write of the message
    uint64_t exec_id;         // of the last run; 0 before the first
    uint8_t last_state;       // status of the last run; 0 before the first
    enum plan_state state;
    enum plan_state extra; // state to return to after a manual run; PLAN_NONE = no such run
    struct vote_rule vote; // of plans for vote stations
    struct policy *policy; // NULL = none; `schedule` borrows from it
    uint8_t held;          // 1: paused by its submission, and not by an operator since
    int64_t missed;        // occurrences that were never run because their time had passed
    enum plan_verdict verdict;
    char *error_info;  // message of its last failure; NULL = none since the last success
    char *remark;      // of its submitter, or of the resolution of a failure; NULL = none
    char *stopped;     // who paused or closed it, and when; NULL = it was not
    char *source;      // of a callback: the target of the plan that it reports; NULL = none
    char *run_with;    // of a flow's run outside the schedule: {"batch", "params"}; NULL = nothing
    bool first_run;    // the run in flight is its first; not stored
    bool as_claimed;   // claimed in a batch, and nothing of the run was written since; not stored
    uint64_t flow_run; // of a flow plan: the last run of its flow; 0 = none
    uint64_t poll;     // the run whose voters are the participants in the store; 0 = none

    // These spans point into `store`, the record's own bytes.
    struct span station;
    struct span caller;
    struct span request_id;
    struct span description;
    struct span step; // the call of a flow's step that the plan is (plan_step.h); empty = none
    struct span messages[PLAN_MESSAGES_MAX];
    size_t message_count;

    unsigned kept; // references taken by plan_keep
    size_t store_size;
    size_t store_used;
    uint8_t store[];
};

// An empty plan with room for this many bytes of spans.
struct plan *plan_new (size_t store_size);

// Add a reference: the plan lives until each owner has called plan_destroy.
struct plan *plan_keep (struct plan *self);
void plan_destroy (struct plan **self);

// Change the id of a plan that was just made by plan_new_submitted.
void plan_renumber (struct plan *self, uint64_t id);

// A plan as submitted: checked frames, parsed plan frame. All bytes are copied.
struct plan *plan_new_submitted (uint64_t id, const struct message *request, struct span caller,
                                 const struct plan_fields *fields, int64_t received);

// Replace the plan's policy; the plan takes over the caller's reference.
void plan_take_policy (struct plan *self, struct policy *policy);

// Whether the plan has this schedule, including the policy's part of it, apart from repeats and
// start: then its place in one is valid in the other.
bool plan_same_schedule (const struct plan *self, const struct schedule *schedule,
                         const struct policy *policy);

// Copy the progress of another plan of the same id, which has no run in flight: its counters
// (without the same schedule, the own `missed` is added), its state if it is out of the queue, and,
// if both have the same schedule, its place in it. Returns whether it also keeps its place in the
// queue. If not, it is queued for its own plan_time, or, if it was submitted as held, it leaves the
// queue paused.
bool plan_copy_progress (struct plan *self, const struct plan *other);

// The plan's present occurrence, for the schedule.
struct occurrence plan_occurrence (const struct plan *self);

// The nominal time of one of its runs. For a run outside the schedule it is the second of the
// claim, taken from exec_id: the claim may have been sent twice.
int64_t plan_nominal (const struct plan *self, uint64_t exec_id);

// When it is to be claimed, in Unix seconds: its nominal time plus its jitter.
int64_t plan_due_time (const struct plan *self);

// Store a copy of the text as error_info, remark or stopped, at most PLAN_WORDS_MAX bytes; an empty
// text clears the field.
void plan_set_error (struct plan *self, struct span words);
void plan_set_remark (struct plan *self, struct span words);
void plan_set_stopped (struct plan *self, struct span words);

void plan_set_source (struct plan *self, struct span name);

// The same for run_with, the input of its next run outside the schedule: at most PLAN_RUN_WITH_MAX
// bytes.
void plan_set_run_with (struct plan *self, struct span json);

// Set its `stopped` text: by which command, by whom (may be empty) and when, in Unix seconds.
void plan_note_stop (struct plan *self, const char *command, struct span who, int64_t now);

// Whether it is in the queue, or was taken from there by a run.
bool plan_is_queued (const struct plan *self);

const char *plan_state_name (enum plan_state state);

// The word that people read: "queued", "running", ...; a permanently failed plan is "failed".
const char *plan_state_word (enum plan_state state);

// Its name: "none", "failure", ...
const char *plan_verdict_name (enum plan_verdict verdict);

// The verdict called "none", "failure", "pending", "manual" or "cancelled", or -1.
int plan_verdict_parse (const char *name);

// The state with this name, or -1.
int plan_state_parse (const char *name);
