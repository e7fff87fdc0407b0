// Private to the files of apply.
#pragma once

#include "apply.h"
#include "missed.h"

// A commit in flight: the facts of the decision, to be able to decide again, and what is reported
// afterwards.
struct applying {
    struct station *station;
    uint64_t plan_id;
    char key_station[STATION_NAME_MAX + 1];
    struct run run;
    enum run_phase phase; // phase of the run when the event came
    enum cause cause;
    struct due due; // CAUSE_DUE
    struct answer answer;
    struct frames *frames; // the answer's description and frames; NULL = there is none
    struct desc desc;
    struct frames *voter; // one span; NULL = the station's own answer
    char *reason;         // NULL = taken from the answer
    bool keep_message;
    applied_fn *done;
    void *owner;
    int tries;
    bool manual; // the run is one outside the schedule

    // Set by the last decision:
    struct decision decision;
    uint8_t status;
    enum plan_state state;
    struct frames *step;        // one span: the call of a flow's step that ends; NULL = none
    uint64_t flow_run;          // the flow's run, if the plan is a flow plan
    bool orphan;                // the flow run of the step does not exist
    char *public_text;          // the plan after the decision; NULL = no subscribers
    struct frames *title;       // one span, sent with public_text
    struct plan *called;        // plan written with the outcome; NULL = none
    struct plan *callback;      // callback written with the outcome; NULL = none
    struct plan *ends_callback; // set if the plan itself is a callback that has ended
};

// Whether the decision has an outcome, which is published and recorded in the history; also that
// of a missed occurrence.
bool applying_is_outcome (const struct decision *decision);

// Whether the outcome is that of a missed occurrence, so that no run has ended. The status alone
// does not show, as a worker may send it for a run.
bool applying_is_miss (enum cause cause, uint8_t status);

// -- what is written after the decision (apply_written.c). The caller owns returned objects; spans
// are borrowed

// The reason of the outcome; empty: unknown.
struct span applying_reason (const struct applying *self);

// Write the reason of the outcome to `text`, or a default when it is unknown.
void applying_failure_text (const struct applying *self, char *text, size_t size);

// The value of a result: its first JSON frame, else its content; for a vote the tally. NULL: none.
json_t *applying_value (const struct applying *self);

// What a commit writes in addition to the plan.
struct applied {
    char *record, *output, *missed, *uncalled; // each NULL: not written
    size_t record_size, output_size, missed_size, uncalled_size;
    struct participant *participants; // the voters, or the one who answered
    size_t participant_count;
};

// Fill in `ret`, and create the plan that this outcome calls, if any; `uncalled` is the history
// entry used when that plan exceeds a limit. `nominal` is that of the run.
void applying_prepare (struct applying *self, const struct plan *plan, int64_t nominal,
                       struct applied *ret);
void applied_clear (struct applied *self);

// The callback that the plan wants for this outcome. NULL: none.
struct plan *applying_callback (const struct applying *self, const struct plan *plan,
                                int64_t nominal);

// -- what is published when the outcome is written

// Publish the events, in their order.
void applying_publish_events (struct applying *self, int64_t seq);

// Broadcast the result.
void applying_broadcast (struct applying *self, const struct store_committed *answer);

// Publish the event of the plan that the outcome calls, unless a limit kept it from being stored.
void applying_publish_called (const struct applying *self, const struct store_committed *answer);

// The outcome was not written: log that, and forward the target's answer in case another station
// owns the plans now.
void applying_report_failure (const struct applying *self, const struct store_committed *answer);
