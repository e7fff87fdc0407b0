// Private to the files of apply.
#pragma once

#include "cause.h"
#include "missed.h"
#include "runs.h"

// A commit in flight: what it was decided from, to decide again, and what is reported after it.
struct applying {
    struct station *station;
    uint64_t plan_id;
    char key_station[STATION_NAME_MAX + 1];
    struct run run;
    enum run_phase phase; // of the run when the event came
    enum cause cause;
    struct due due; // CAUSE_DUE
    uint64_t lost;  // the run that the outcome is of, 0 = `run`
    struct answer answer;
    struct frames *frames; // the answer's description and frames; NULL = there is none
    struct desc desc;
    struct frames *voter; // one span; NULL = the station's own answer
    char *reason;         // NULL = the answer has it
    bool keep_message;
    applied_fn *done;
    void *owner;
    int tries;
    bool manual; // the run is one outside the schedule

    // Of the last decision.
    struct decision decision;
    uint8_t status;
    enum plan_state state;
    struct frames *step;        // one span: the call of a flow's step that ends; NULL = none
    uint64_t flow_run;          // its run, if that is a flow
    bool orphan;                // the run of the step is gone
    char *public_text;          // the plan as it was decided; NULL = it has no readers
    struct frames *title;       // one span, beside that
    struct plan *called;        // placed with the outcome; NULL = none
    struct plan *callback;      // the same, bounded in another way
    struct plan *ends_callback; // it is one, and is over; NULL = not
};

// Whether this is the end of a run, good or bad: its outcome goes into the history.
bool applying_is_outcome (const struct decision *decision);

// Whether it is that of a skipped occurrence: no run of it has ended. A worker may send that status
// for a run.
bool applying_is_miss (enum cause cause, uint8_t status);

// The run that the outcome is of.
uint64_t applying_run (const struct applying *self);

// -- what is written (apply_written.c), after the decision. What is returned is the caller's, spans
// are borrowed

// Why it ended so, as text; empty: unknown.
struct span applying_reason (const struct applying *self);

// The same, with default words.
void applying_failure (const struct applying *self, char *text, size_t size);

// The value of a result: its first JSON frame, else its content; of a vote the numbers. NULL: none.
json_t *applying_value (const struct applying *self);

// What a commit writes beside the plan.
struct applied {
    char *record, *output, *missed, *uncalled; // NULL: nothing
    size_t record_size, output_size, missed_size, uncalled_size;
    struct participant *participants; // the voters, or who answered
    size_t participant_count;
};

// Fill it, and make the plan that this outcome calls, if it does; `uncalled` is what the history
// has when there is no room for that. `nominal` is that of the run.
void applying_write (struct applying *self, const struct plan *plan, int64_t nominal,
                     struct applied *ret);
void applied_clear (struct applied *self);

// The callback that the plan wants of this outcome. NULL: none.
struct plan *applying_callback (const struct applying *self, const struct plan *plan,
                                int64_t nominal);

// -- what others learn of it, when it is written (apply_published.c)

// The events of subscribers, in their order.
void applying_publish_events (struct applying *self, int64_t seq);

// The result.
void applying_broadcast (struct applying *self, const struct store_committed *answer);

// The plan that the outcome calls is in the queue, unless there was no room for it.
void applying_publish_called (const struct applying *self, const struct store_committed *answer);

// The plans are another station's now, which may want to know what the target said.
void applying_forward (const struct applying *self);

// It was not written.
void applying_log_failure (const struct applying *self, const struct store_committed *answer);
