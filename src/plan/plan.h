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
    // Plan document 3.3(3): a plan with fewer stored frames must not run.
    PLAN_MESSAGES_MIN = 5,
    PLAN_RUN_WITH_MAX = 4096 // bytes of `run_with`
};

// The states of proto 3.2; the numbers are the stored ones.
enum plan_state {
    PLAN_NONE,
    PLAN_QUEUE,   // waits for its time
    PLAN_EXECUTE, // a run is in flight
    PLAN_RETRY,   // waits for a retry
    PLAN_SKIP,    // a state of MicroZero that zplan never sets
    PLAN_PAUSE,   // removed from the queue by a command, until it is reset
    PLAN_ERROR,   // removed from the queue by a failure, until it is reset
    PLAN_CLOSE,   // ended
    PLAN_STATES
};

// The outcome of a plan that left the queue for good, or of its last occurrence. Source: task
// module (Failure, Pending, ManuallyProcessed, Cancelled).
enum plan_verdict {
    VERDICT_NONE,
    VERDICT_FAILURE,   // the occurrence failed, and is not retried
    VERDICT_PENDING,   // the occurrence failed, and needs manual action
    VERDICT_MANUAL,    // the occurrence failed, and was resolved manually
    VERDICT_CANCELLED, // the run was cancelled
    VERDICTS
};

struct plan {
    uint64_t id;
    struct schedule schedule; // plan_type, plan_value, plan_repet, no_keep, base_time, add_time
    int64_t plan_time;        // nominal time of the next or present occurrence, Unix seconds
    int64_t exec_time;        // time of the last dispatch or RUNING, Unix seconds; 0 = none yet
    int64_t real_repet;       // successful runs
    int64_t skip_set;         // occurrences to skip, as last requested
    int64_t skip_num;         // occurrences that used up a repeat without a run
    int64_t skip_wait;        // occurrences of skip_set to skip after the run in flight
    int64_t error_count;      // failures since the last success; determines the pace of retries
    int64_t tries;            // runs that no target took since the last failed run (with a policy)
    int64_t revision;         // changes with every write of the message
    uint64_t exec_id;         // id of the last run; 0 before the first
    uint8_t last_state;       // status of the last run; 0 before the first
    enum plan_state state;
    enum plan_state extra; // state to return to after a manual run; PLAN_NONE = no such run
    struct vote_rule vote; // used only by plans of vote targets
    struct policy *policy; // NULL = none; `schedule` borrows from it
    uint8_t held;          // 1: paused by its submission, and no operator has changed that
    int64_t missed;        // occurrences that were never run because their time had passed
    enum plan_verdict verdict;
    char *error_info;  // message of its last failure; NULL = none since the last success
    char *remark;      // by the submitter, or by the operator who resolved a failure; NULL = none
    char *stopped;     // who paused or closed it, and when; NULL = nobody did
    char *source;      // a callback's: the target of the plan that it reports; NULL = no callback
    char *run_with;    // input of a flow run outside the schedule, {"batch", "params"}; NULL = none
    bool first_run;    // the run in flight is its first; not stored
    bool as_claimed;   // claimed in a batch, and nothing of the run was written since; not stored
    uint64_t flow_run; // a flow plan's: the last run of its flow; 0 = none
    uint64_t poll;     // the vote's run that the stored participants belong to; 0 = none

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

// A new empty plan, whose spans may have this many bytes in all.
struct plan *plan_new (size_t store_size);

// Add a reference: the plan lives until each owner has called plan_destroy.
struct plan *plan_keep (struct plan *self);
void plan_destroy (struct plan **self);

// Change the id of a plan that was just made by plan_new_submitted.
void plan_renumber (struct plan *self, uint64_t id);

// A new plan from a submission with checked frames, whose PLAN frame was parsed to `fields`. All
// bytes are copied; the policy is shared. `received`: Unix seconds.
struct plan *plan_new_submitted (uint64_t id, const struct message *request, struct span caller,
                                 const struct plan_fields *fields, int64_t received);

// Replace the plan's policy; the plan takes over the caller's reference.
void plan_take_policy (struct plan *self, struct policy *policy);

// Whether the plan has this schedule, including the policy's part of it; the number of repeats and
// the time of submission may differ. If so, its position in one is valid in the other.
bool plan_same_schedule (const struct plan *self, const struct schedule *schedule,
                         const struct policy *policy);

// Copy the progress of another plan of the same id, which has no run in flight: its last run;
// `missed`, which is added to the plan's own if the schedules differ; its state, unless it is
// queued; and, if both have the same schedule, the position in it. Returns whether the plan also
// keeps its place in the queue. If not, it is queued for its own plan_time; if it was submitted as
// held, it is removed from the queue, paused.
bool plan_copy_progress (struct plan *self, const struct plan *other);

// The plan's next or present occurrence, as the functions of schedule.h take it.
struct occurrence plan_occurrence (const struct plan *self);

// The nominal time of one of its runs, in Unix seconds. For a run outside the schedule it is the
// second of the claim, taken from exec_id: a claim that is sent twice then yields the same time.
int64_t plan_nominal (const struct plan *self, uint64_t exec_id);

// The time at which to claim the plan, in Unix seconds: its nominal time plus its jitter.
int64_t plan_due_time (const struct plan *self);

// Replace a text by a copy, of at most `max` bytes; NULL if it is empty. Bytes that are not UTF-8,
// and NUL, become question marks, as the text is written as JSON.
void plan_set_text (char **ret, struct span text, size_t max);

// The setters of texts. Each stores a copy, cut at its limit; an empty text clears the field.

// Set error_info, at most PLAN_WORDS_MAX bytes.
void plan_set_error (struct plan *self, struct span text);

// Set remark, at most PLAN_WORDS_MAX bytes.
void plan_set_remark (struct plan *self, struct span text);

// Set stopped, at most PLAN_WORDS_MAX bytes.
void plan_set_stopped (struct plan *self, struct span text);

// Set source, at most STATION_NAME_MAX bytes.
void plan_set_source (struct plan *self, struct span name);

// Set run_with, at most PLAN_RUN_WITH_MAX bytes.
void plan_set_run_with (struct plan *self, struct span json);

// Set stopped to the command, who sent it (may be empty), and when, in Unix seconds.
void plan_note_stop (struct plan *self, const char *command, struct span who, int64_t now);

// Whether the plan is in the queue, or a run has claimed it from there.
bool plan_is_queued (const struct plan *self);

// The state's own name, "queue", "execute", ..., as plan_state_parse reads it.
const char *plan_state_name (enum plan_state state);

// The word that people read: "queued", "running", ...; a permanently failed plan is "failed".
const char *plan_state_word (enum plan_state state);

// The verdict's name: "none", "failure", "pending", "manual" or "cancelled".
const char *plan_verdict_name (enum plan_verdict verdict);

// The verdict with this name, or -1.
int plan_verdict_parse (const char *name);

// The state with this name, or -1.
int plan_state_parse (const char *name);
