// The report about a definition: the maximum calls and time of a run, and warnings.
#include <stdlib.h>

#include "flow_private.h"
#include "memory.h"
#include "saturate.h"

uint64_t flow_items_max (const struct flow_step *step)
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

static bool has_retry (const struct flow_step *step)
{
    const json_t *retry = json_object_get (step->json, "retry");
    const char *strategy = json_string_value (json_object_get (retry, "strategy"));
    return strategy && strcmp (strategy, "none") != 0;
}

static void warn_of_retry (struct flow *flow, const struct flow_step *step)
{
    json_t *because = flow->report.because;
    const json_t *retry = json_object_get (step->json, "retry");
    if (has_retry (step) && !json_object_get (retry, "max"))
        flow_add_warning (because, "%s: a retry without max", step->name);
    if (json_is_true (json_object_get (retry, "need_manual")))
        flow_add_warning (because, "%s: need_manual waits for an operator", step->name);
    if (has_retry (step) && step->has_undo && !step->undo_started)
        flow_add_warning (flow->report.warnings,
                          "%s: an attempt that failed may have worked, and is not undone: use "
                          "\"on\": \"started\"",
                          step->name);
}

// Warn of a constant for_each that is longer than max_items.
static void warn_of_long_list (struct flow *flow, const struct flow_step *step)
{
    const json_t *list = json_object_get (step->json, "for_each");
    size_t count =
        json_is_integer (list) ? (size_t)json_integer_value (list) : json_array_size (list);
    if (step->for_each && count > step->max_items)
        flow_add_warning (flow->report.warnings,
                          "%s: always fails: for_each has %zu items, max_items is %u", step->name,
                          count, step->max_items);
}

// Warn if a step can never get enough signals: each key counts once, except those that end in *.
static void warn_of_signal (struct flow *flow, const struct flow_step *step)
{
    size_t index, keys = json_array_size (step->signal_who);
    json_t *name;
    bool many = !step->signal_who;
    json_array_foreach (step->signal_who, index, name)
    {
        size_t size = json_string_length (name);
        many = many || json_string_value (name)[size - 1] == '*';
    }
    if (!many && step->signal_count > keys)
        flow_add_warning (flow->report.warnings, "%s: wants %u signals, and who names %zu key%s",
                          step->name, step->signal_count, keys, keys == 1 ? "" : "s");
}

// The maximum seconds of one step. If there is no bound, a reason is added to `because`.
static uint64_t step_seconds_max (struct flow_reader *self, const struct flow_step *step)
{
    struct flow *flow = self->flow;
    json_t *because = flow->report.because;
    uint64_t total = (uint64_t)json_integer_value (json_object_get (step->json, "total_timeout"));
    if (step->has_undo)
        flow_add_warning (because, "%s: an undo that fails waits for an operator", step->name);
    if (step->kind == FLOW_SIGNAL) {
        warn_of_signal (flow, step);
        if (!step->signal_timeout_s)
            flow_add_warning (because, "%s: a signal without a timeout", step->name);
        return (uint64_t)step->signal_timeout_s;
    }
    if (step->kind == FLOW_WAIT) {
        const json_t *wait = json_object_get (step->json, "wait");
        if (!json_is_integer (wait))
            flow_add_warning (because, "%s: a wait whose end is not known here", step->name);
        return (uint64_t)json_integer_value (wait);
    }
    if (step->kind == FLOW_COMPUTE)
        return 0;
    warn_of_retry (flow, step);
    if (total)
        return total;
    struct flow_target target = flow_target_of (self, &step->call);
    if (!step->call.is_flow)
        flow_add_warning (because, "%s: a target without total_timeout", step->name);
    else if (!target.report || !target.report->bounded || target.report->has_tail ||
             has_retry (step))
        flow_add_warning (because, "%s: a flow without total_timeout whose runs are not bounded",
                          step->name);
    return target.report ? target.report->seconds_max : 0;
}

// The maximum number of calls of a step that are in flight at a time.
static uint64_t step_calls_at_once (const struct flow_step *step)
{
    uint64_t items = flow_items_max (step);
    if (step->kind != FLOW_CALL)
        return 0;
    return step->parallel && step->parallel < items ? step->parallel : items;
}

// The maximum seconds of a run: the longest path if there are slots for all calls, else the sum.
static uint64_t run_seconds_max (const struct flow *flow, const uint64_t *seconds)
{
    uint64_t calls = 0, all = 0, longest = 0;
    uint64_t *ends = memory_new (flow->step_count * sizeof *ends);
    for (uint32_t i = 0; i < flow->step_count; i++) {
        uint32_t at = flow->order[i];
        const struct flow_step *step = &flow->steps[at];
        uint64_t begin = 0, items = flow_items_max (step), slots = step_calls_at_once (step);
        if (at == flow->final)
            continue;
        for (uint32_t j = 0; j < step->in_count; j++)
            if (ends[flow->in[step->in_first + j].step] > begin)
                begin = ends[flow->in[step->in_first + j].step];
        uint64_t rounds = slots ? items / slots + (items % slots != 0) : items;
        ends[at] = saturate_add (begin, saturate_multiply (rounds, seconds[at]));
        longest = ends[at] > longest ? ends[at] : longest;
        all = saturate_add (all, saturate_multiply (items, seconds[at]));
        calls = saturate_add (calls, slots);
    }
    free (ends);
    return !flow->parallel || calls <= flow->parallel ? longest : all;
}

void flow_compute_report (struct flow_reader *self)
{
    struct flow *flow = self->flow;
    struct flow_report *report = &flow->report;
    struct reason reason;
    uint64_t *seconds = memory_new (flow->step_count * sizeof *seconds);
    report->depth = 1;
    report->has_tail = flow->final >= 0;
    for (size_t i = 0; i < flow->param_count; i++) // a wrong type fails each run with the default
        if (!flow_default_has_type (&flow->params[i], &reason))
            flow_add_warning (report->warnings, "params: %s", reason.text);
    for (uint32_t i = 0; i < flow->step_count; i++) {
        const struct flow_step *step = &flow->steps[i];
        uint64_t calls = step->kind == FLOW_CALL, items = flow_items_max (step);
        if (step->kind == FLOW_CALL) {
            struct flow_target target = flow_target_of (self, &step->call);
            if (target.report) {
                calls = saturate_add (calls, target.report->steps_max);
                if (target.report->depth + 1 > report->depth)
                    report->depth = target.report->depth + 1;
            }
        }
        report->steps_max = saturate_add (report->steps_max, saturate_multiply (items, calls));
        seconds[i] = step_seconds_max (self, step);
        report->has_tail = report->has_tail || step->has_undo;
        warn_of_long_list (flow, step);
        if (step->parallel > flow->parallel && flow->parallel)
            flow_add_warning (report->warnings, "%s: max_parallel %u is above the flow's %u",
                              step->name, step->parallel, flow->parallel);
    }
    if (report->steps_max > FLOW_CALLS_MAX)
        flow_add_error (self, "steps", "a run may make %llu calls, more than %d: set max_items",
                        (unsigned long long)report->steps_max, FLOW_CALLS_MAX);
    if (flow->timeout_s)
        json_array_clear (report->because);
    report->bounded = json_array_size (report->because) == 0;
    if (report->bounded)
        report->seconds_max =
            flow->timeout_s ? (uint64_t)flow->timeout_s : run_seconds_max (flow, seconds);
    free (seconds);
}
