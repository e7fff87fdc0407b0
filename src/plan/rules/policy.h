// The policy of a plan: its fields beyond those of the plan document, such as calendars, windows,
// misfires, retries, limits and names. A plan without any of these fields has no policy.
// Immutable once read, and shared: the fields of a frame, a plan and its copies refer to the same
// one.
// Sources: task module, iteration-cycle article, mscheduler; proto chapter 5.
#pragma once

#include <jansson.h>

#include "cron.h"
#include "json_text.h"
#include "on_failure.h"
#include "retry.h"
#include "schedule.h"
#include "station_name.h"
#include "trace.h"
#include "workers_rule.h"

enum {
    ZONE_NAME_MAX = 64,
    POLICY_NAME_MAX = STATION_NAME_MAX, // bytes of group and kind
    POLICY_TEXT_MAX = 256,              // bytes of key, category, tenant and creator
    CRONS_MAX = 16
};

// What happens to occurrences that were missed.
enum misfire {
    MISFIRE_UNSET, // not given: no_keep determines it
    MISFIRE_SKIP,  // skipped
    MISFIRE_ALL,   // each is run
    MISFIRE_NEWEST // the newest `misfire_keep` are run
};

// What happens to occurrences that come due during a run.
enum overlap_policy { OVERLAP_UNSET, OVERLAP_SKIP, OVERLAP_QUEUE };

// What the history records of a plan's runs.
enum log_mode {
    LOG_TRANS,   // outcomes, and the output of runs
    LOG_OUTCOME, // outcomes only
    LOG_TRIGGER, // dispatches only
    LOG_NONE
};

// What a submission does if a plan with its key exists already.
enum if_exists { EXISTS_KEEP, EXISTS_UPDATE, EXISTS_REPLACE, EXISTS_REFUSE };

struct policy {
    unsigned kept;  // references taken by policy_keep
    json_t *fields; // the fields as they were given
    bool stored;    // read from a stored plan, not from a submission or a kind

    // schedule
    struct cron *cron;
    char timezone[ZONE_NAME_MAX + 1]; // "" = the station's
    enum zone_gap gap;
    enum zone_overlap overlap;
    int64_t iteration; // 0 = not given
    int64_t runs;      // `cycle` given as a number, the runs of an iteration; 0 = not given
    struct cycle cycle;
    int64_t start_time, end_time; // Unix seconds; 0 = not given

    // missed occurrences, and delays
    enum misfire misfire;
    int64_t misfire_keep;     // number of occurrences for MISFIRE_NEWEST
    int64_t misfire_window_s; // 0 = not given
    int64_t jitter_s;
    enum overlap_policy overlap_policy;

    // runs
    struct retry_policy retry;
    struct workers_rule workers; // used only by plans of pull targets
    int64_t timeout_s;           // 0 = none
    struct on_failure on_failure;
    const json_t *callback; // callback_rule.h; borrowed from `fields`; NULL = none
    enum log_mode log;
    int64_t priority; // 0..255; of due plans the highest is dispatched first
    char group[POLICY_NAME_MAX + 1];

    // names
    char kind[POLICY_NAME_MAX + 1];
    char key[POLICY_TEXT_MAX + 1];
    enum if_exists if_exists;
    char traceparent[TRACE_SIZE]; // the submission's; "" = none
    bool trace_dropped;           // the submission's traceparent was invalid

    bool has_batch; // a flow plan's `batch` is given
};

// Whether a policy can have a field of this name.
bool policy_field (const char *name);

// Read and check a policy from an object that has no other members. NULL: the reason names the
// field and the rule.
struct policy *policy_read (const json_t *object, struct reason *reason);

// Read the policy of a stored plan, an object with other members too; `ret` is NULL if the plan has
// none. False: the reason names the field and the rule.
bool policy_read_from (const json_t *object, struct policy **ret, struct reason *reason);

// Read the policy of a kind, which may not have fields for schedules, names and flows. NULL: the
// reason names the field and the rule.
struct policy *policy_read_kind (const json_t *object, struct reason *reason);

// A new policy with the fields of the kind called `name`; those of the plan's own policy `self`,
// which may be NULL, override them. NULL: the reason names the field and the rule.
struct policy *policy_merge_kind (const char *name, const json_t *kind, const struct policy *self,
                                  struct reason *reason);

// Add a reference: the policy lives until each owner has called policy_destroy. NULL returns NULL.
struct policy *policy_keep (struct policy *self);
void policy_destroy (struct policy **self);

// Set the parts of the schedule that the policy determines; it then borrows from the policy. NULL
// changes nothing.
void policy_into_schedule (const struct policy *self, struct schedule *ret);

// Which of the occurrences that were missed while no run was in flight still run. `now`: Unix
// seconds.
struct catch_up policy_misfires (const struct policy *self, const struct schedule *schedule,
                                 int64_t now);

// The name of a field in the policy that only flow plans may have; NULL: there is none. `self` may
// be NULL.
const char *policy_flow_field (const struct policy *self);

// Whether the fields for schedules are equal in both. Either may be NULL.
bool policy_same_schedule (const struct policy *self, const struct policy *other);

// Whether all fields but `workers` are equal in both. Either may be NULL.
bool policy_same_but_workers (const struct policy *self, const struct policy *other);

// The number of runs in an iteration; 0: the plan has no iterations. `self` may be NULL.
int64_t policy_cycle (const struct policy *self);

// The plan's key; empty: it has none. `self` may be NULL.
struct span policy_key (const struct policy *self);

// The iteration that a run belongs to, and the number of the run in it, both from 1 on.
struct run_place {
    int64_t iteration, cycle;
};

// The place of run number `count`, from 1 on; for 0, before the first run, both numbers are 0.
// `cycle`: runs in an iteration (policy_cycle).
struct run_place policy_run_place (int64_t count, int64_t cycle);

// Append the fields as members of an object that has others already. In the stored text, objects
// with names of a client's own, such as `ext`, are strings, so that no such name is mistaken for a
// field of the plan. In the public text the callback is masked and traceparent omitted.
void policy_write (const struct policy *self, bool stored, struct json_text *text);

// Convert the objects that policy_write stored as strings back to objects.
void policy_restore_objects (json_t *stored);
