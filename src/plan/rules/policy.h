// What a plan says beyond the fields of the plan document: calendars, windows, misses, retries,
// limits, and names to find it by. A plan that says nothing of it has none.
// Immutable once read, and shared: fields of a frame, a plan and its copies keep the same one.
// Sources: task module, iteration-cycle article, mscheduler; proto chapter 5.
#pragma once

#include <jansson.h>

#include "cron.h"
#include "json_text.h"
#include "on_failure.h"
#include "retry.h"
#include "schedule.h"
#include "trace.h"
#include "workers_rule.h"

enum {
    ZONE_NAME_MAX = 64,
    POLICY_NAME_MAX = 64,  // group, kind
    POLICY_TEXT_MAX = 256, // what is only kept and searched
    CRONS_MAX = 16
};

// What becomes of occurrences that were missed.
enum misfire {
    MISFIRE_UNSAID, // as no_keep says
    MISFIRE_SKIP,   // skipped
    MISFIRE_ALL,    // each is run
    MISFIRE_NEWEST  // the newest `misfire_keep` are run
};

// What becomes of occurrences that were due during a run.
enum overlap_policy { OVERLAP_UNSAID, OVERLAP_SKIP, OVERLAP_QUEUE };

// What of its runs goes into the history.
enum log_mode {
    LOG_TRANS,   // outcomes, and what runs wrote
    LOG_OUTCOME, // outcomes only
    LOG_TRIGGER, // that runs were sent
    LOG_NONE
};

// What a submission does whose key a plan has already.
enum if_exists { EXISTS_KEEP, EXISTS_UPDATE, EXISTS_REPLACE, EXISTS_REFUSE };

struct policy {
    unsigned kept;
    json_t *fields; // as they were given
    bool stored;    // the station wrote them

    // when
    struct cron *cron;
    char timezone[ZONE_NAME_MAX + 1]; // "" = the station's
    enum zone_gap gap;
    enum zone_overlap overlap;
    int64_t iteration; // 0 = not given
    int64_t runs;      // `cycle` as a number: runs of an iteration; 0 = not given
    struct cycle cycle;
    int64_t start_time, end_time;

    // misses
    enum misfire misfire;
    int64_t misfire_keep;
    int64_t misfire_window_s; // 0 = not given
    int64_t jitter_s;
    enum overlap_policy overlap_policy;

    // runs
    struct retry_policy retry;
    struct workers_rule workers; // of plans for pull stations
    int64_t timeout_s;           // 0 = none
    struct on_failure on_failure;
    const json_t *callback; // callback_rule.h; borrowed from `fields`; NULL = none
    enum log_mode log;
    int64_t priority; // 0..255, the higher the sooner
    char group[POLICY_NAME_MAX + 1];

    // names
    char kind[POLICY_NAME_MAX + 1];
    char key[POLICY_TEXT_MAX + 1];
    enum if_exists if_exists;
    char traceparent[TRACE_SIZE]; // of its submission; "" = none
    bool trace_dropped;           // it had one that is not valid

    bool has_batch; // of a flow plan
};

// Whether a plan may have a field of this name besides those of the plan document.
bool policy_field (const char *name);

// Read and check the fields of an object that has no others. NULL: the reason names the field and
// the rule.
struct policy *policy_read (const json_t *object, struct reason *reason);

// The same of the fields that a stored plan has; `ret` is NULL when it has none.
bool policy_read_from (const json_t *object, struct policy **ret, struct reason *reason);

// The fields of a kind: those that do not say when, and give no other name to the plan.
struct policy *policy_read_kind (const json_t *object, struct reason *reason);

// The fields of the kind of this name, and over them those that the plan itself has, if any. NULL:
// see the reason.
struct policy *policy_lay_over (const char *name, const json_t *kind, const struct policy *self,
                                struct reason *reason);

// One more owner; each calls policy_destroy. NULL stays NULL.
struct policy *policy_keep (struct policy *self);
void policy_destroy (struct policy **self);

// Put what the schedule needs into it. It borrows from the policy.
void policy_into_schedule (const struct policy *self, struct schedule *ret);

// Which of the occurrences that were missed while no run was in flight are made up for at `now`.
struct catch_up policy_misfires (const struct policy *self, const struct schedule *schedule,
                                 int64_t now);

// The name of a field that only flow plans have; NULL: there is none. `self` may be NULL.
const char *policy_flow_field (const struct policy *self);

// Whether both say the same of when. Either may be NULL.
bool policy_same_schedule (const struct policy *self, const struct policy *other);

// Whether both say the same of all but workers. Either may be NULL.
bool policy_same_but_workers (const struct policy *self, const struct policy *other);

// How many runs an iteration has; 0: the plan knows no iterations.
int64_t policy_cycle (const struct policy *self);

// The name that the plan was submitted with; empty: none. NULL is a plan without a policy.
struct span policy_key (const struct policy *self);

// The place of run number `count` (from 1 on; 0 = none yet: 0 and 0) among iterations and cycles.
struct run_place {
    int64_t iteration, cycle;
};
struct run_place policy_place (int64_t count, int64_t cycle);

// Write its fields as members of an object that has others already. In the stored text
// objects with names of a client's own, as `ext`, are strings: what is in them must not look like a
// field of the plan.
void policy_write (const struct policy *self, bool stored, struct json_text *text);

// Make such objects of a stored message what they were.
void policy_show (json_t *stored);
