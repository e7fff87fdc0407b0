// What a definition costs at most: calls, time; and what deserves a warning.
#include <stdlib.h>

#include "flow_private.h"
#include "memory.h"
#include "retry_rule.h"

static void note (json_t *list, const char *step, const char *text)
{
    char line[2 * REASON_MAX];
    if (json_array_size (list) >= FLOW_ERRORS_MAX)
        return;
    snprintf (line, sizeof line, "%s: %s", step, text);
    json_array_append_new (list, json_string (line));
}

static uint64_t add (uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t multiply (uint64_t a, uint64_t b)
{
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

// The items of a for_each at most; 1 without one.
static uint64_t items_of (const struct flow_step *step)
{
    const json_t *list = json_object_get (step->json, "for_each");
    if (!step->for_each)
        return 1;
    uint64_t most = step->max_items;
    if (json_is_array (list) && json_array_size (list) < most)
        most = json_array_size (list);
    if (json_is_integer (list) && (uint64_t)json_integer_value (list) < most)
        most = (uint64_t)json_integer_value (list);
    return most;
}

static void judge_retry (struct flow *flow, const struct flow_step *step)
{
    json_t *because = flow->report.because;
    const json_t *retry = json_object_get (step->json, "retry");
    const char *strategy = json_string_value (json_object_get (retry, "strategy"));
    if (retry && strategy && strcmp (strategy, "none") != 0 && !json_object_get (retry, "max"))
        note (because, step->name, "a retry without max");
    if (json_is_true (json_object_get (retry, "need_manual")))
        note (because, step->name, "need_manual waits for an operator");
    if (retry && strategy && strcmp (strategy, "none") != 0 && step->has_undo &&
        !step->undo_started)
        note (flow->report.warnings, step->name,
              "a failed retry may work twice: vote, timeout and undo on started");
}

// Seconds of one step at most; 0 with a reason in `because` when there is no bound.
static uint64_t seconds_of (struct flow_reader *self, const struct flow_step *step)
{
    struct flow *flow = self->flow;
    json_t *because = flow->report.because;
    uint64_t total = (uint64_t)json_integer_value (json_object_get (step->json, "total_timeout"));
    if (step->has_undo)
        note (because, step->name, "an undo that fails waits for an operator");
    if (step->kind == FLOW_SIGNAL) {
        if (!step->signal_timeout_s)
            note (because, step->name, "a signal without a timeout");
        return (uint64_t)step->signal_timeout_s;
    }
    if (step->kind == FLOW_WAIT) {
        const json_t *wait = json_object_get (step->json, "wait");
        if (!json_is_integer (wait))
            note (because, step->name, "a wait whose end is not known here");
        return (uint64_t)json_integer_value (wait);
    }
    if (step->kind == FLOW_COMPUTE)
        return 0;
    judge_retry (flow, step);
    if (step->call.is_flow) {
        struct flow_target target = flow_target_of (self, &step->call);
        if (target.report && target.report->bounded)
            return target.report->seconds_max;
        if (!total)
            note (because, step->name, "a flow that is not bounded");
    } else if (!total) {
        note (because, step->name, "a target without total_timeout");
    }
    return total;
}

void flow_measure (struct flow_reader *self)
{
    struct flow *flow = self->flow;
    struct flow_report *report = &flow->report;
    uint64_t seconds = 0;
    report->depth = 1;
    for (uint32_t i = 0; i < flow->step_count; i++) {
        const struct flow_step *step = &flow->steps[i];
        uint64_t calls = 1, items = items_of (step);
        if (step->kind == FLOW_CALL) {
            struct flow_target target = flow_target_of (self, &step->call);
            if (target.report) {
                calls = add (calls, target.report->steps_max);
                if (target.report->depth + 1 > report->depth)
                    report->depth = target.report->depth + 1;
            }
            if (step->has_undo)
                calls = multiply (calls, 2);
        }
        report->steps_max = add (report->steps_max, multiply (items, calls));
        seconds = add (seconds, multiply (items, seconds_of (self, step)));
        if (step->parallel > flow->parallel && flow->parallel) {
            char text[REASON_MAX];
            snprintf (text, sizeof text, "max_parallel %u is above the flow's %u", step->parallel,
                      flow->parallel);
            note (report->warnings, step->name, text);
        }
    }
    if (report->steps_max > FLOW_CALLS_MAX)
        flow_wrong (self, "steps", "a run may make %llu calls, more than %d: set max_items",
                    (unsigned long long)report->steps_max, FLOW_CALLS_MAX);
    if (flow->timeout_s) {
        json_array_clear (report->because);
        seconds = (uint64_t)flow->timeout_s;
    }
    report->bounded = json_array_size (report->because) == 0;
    report->seconds_max = report->bounded ? seconds : 0;
}
