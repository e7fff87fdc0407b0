// The engine of flows over lines of JSON, for models that compare with it. One object per line on
// standard input is an event; one line on standard output is what followed from it.
#include <stdio.h>
#include <stdlib.h>

#include "flow_run.h"
#include "memory.h"

struct run {
    char *name;
    const struct flow *flow;
    struct flow_run *state;
};

static struct {
    struct flow **flows;
    size_t flow_count;
    struct run *runs;
    size_t run_count;
    int64_t now;
    json_t *targets; // of the definition that is read; NULL: all are known
} driver;

static const struct flow *flow_named (const char *name)
{
    for (size_t i = driver.flow_count; i-- > 0;)
        if (strcmp (driver.flows[i]->name, name) == 0)
            return driver.flows[i];
    return NULL;
}

static bool know_target (void *context, const char *name, struct flow_target *ret)
{
    (void)context;
    const struct flow *flow = flow_named (name);
    size_t index;
    json_t *value;
    *ret = (struct flow_target){.is_flow = flow, .report = flow ? &flow->report : NULL};
    if (flow || !driver.targets)
        return true;
    json_array_foreach (driver.targets, index,
                        value) if (json_is_string (value) &&
                                   strcmp (json_string_value (value), name) == 0) return true;
    return false;
}

static json_t *define (const json_t *event)
{
    const struct flow_world world = {.target = know_target};
    json_t *errors;
    driver.targets = json_object_get (event, "targets");
    struct flow *flow = flow_read (json_object_get (event, "flow"), &world, &errors);
    if (!flow)
        return json_pack ("{s:b, s:o}", "ok", 0, "errors", errors);
    driver.flows = memory_resize (driver.flows, (driver.flow_count + 1) * sizeof *driver.flows);
    driver.flows[driver.flow_count++] = flow;
    return json_pack ("{s:b, s:o}", "ok", 1, "check", flow_report_json (flow));
}

static void add (json_t *out, const char *list, json_t *row)
{
    json_t *rows = json_object_get (out, list);
    if (!rows) {
        rows = json_array ();
        json_object_set_new (out, list, rows);
    }
    json_array_append_new (rows, row);
}

static json_t *row_of (const struct flow *flow, uint32_t step, int64_t item)
{
    json_t *row = json_pack ("{s:s}", "step", flow->steps[step].name);
    if (item >= 0)
        json_object_set_new (row, "item", json_integer (item));
    return row;
}

static json_t *show_step (const struct run *run, uint32_t step)
{
    const struct flow_node *node = &run->state->nodes[step];
    const struct flow_data *data = run->state->data[step];
    json_t *row = row_of (run->flow, step, -1);
    json_object_set_new (row, "state", json_string (flow_state_name (node->state)));
    if (node->flags & FLOW_BLOCKED)
        json_object_set_new (row, "blocked", json_true ());
    if (node->state == FLOW_SKIPPED ||
        (node->state == FLOW_CANCELLED && node->flags & FLOW_BY_PERSON))
        json_object_set_new (row, "by",
                             json_string (node->flags & FLOW_BY_PERSON ? "person" : "rule"));
    if (data && data->value)
        json_object_set (row, "value", data->value);
    if (data && data->error)
        json_object_set_new (row, "error", json_string (data->error));
    if (node->generation)
        json_object_set_new (row, "generation", json_integer (node->generation));
    return row;
}

static json_t *show_run (const struct run *run)
{
    static const char *const outcomes[] = {"running", "finished", "failed", "cancelled", "timeout"};
    const struct flow_run *state = run->state;
    json_int_t failures = 0;
    for (uint32_t i = 0; i < run->flow->step_count; i++)
        failures += state->nodes[i].state == FLOW_FAILED;
    const char *word = state->phase == FLOW_ENDED     ? outcomes[state->outcome]
                       : state->suspended             ? "suspended"
                       : state->phase == FLOW_UNDOING ? "undoing"
                                                      : "running";
    json_t *row = json_pack ("{s:s, s:I}", "state", word, "failures", failures);
    if (state->undo_parked)
        json_object_set_new (row, "parked", json_true ());
    if (state->uncaught)
        json_object_set (row, "uncaught", state->uncaught);
    if (state->phase == FLOW_ENDED && state->output)
        json_object_set (row, "output", state->output);
    if (state->error)
        json_object_set_new (row, "error", json_string (state->error));
    return row;
}

static void show_effect (const struct run *run, const struct flow_effect *effect, json_t *out)
{
    json_t *row = row_of (run->flow, effect->step, effect->item);
    if (effect->kind == FLOW_REMOVE) {
        add (out, "cancel", row);
        return;
    }
    if (effect->kind == FLOW_TIMER || effect->kind == FLOW_REMOVE_TIMER) {
        bool sets = effect->kind == FLOW_TIMER;
        if (sets)
            json_object_set_new (row, "at", json_integer (effect->at));
        add (out, sets ? "timer" : "timer_removed", row);
        return;
    }
    json_object_set_new (row, "generation", json_integer (effect->generation));
    json_object_set_new (row, "target", json_string (effect->call->target));
    if (effect->undo)
        json_object_set_new (row, "undo", json_true ());
    if (effect->inner)
        json_object_set_new (row, "inner", json_true ());
    if (effect->call->is_flow)
        json_object_set_new (row, "flow", json_true ());
    json_object_update (row, effect->frames);
    add (out, "place", row);
}

static int by_step (const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static json_t *carry (struct run *run, const struct flow_event *event)
{
    struct flow_effects effects = {.count = 0};
    const struct flow_event more = {.kind = FLOW_CHECK, .item = -1};
    json_t *out = json_object ();
    flow_step (run->flow, run->state, event, driver.now, &effects);
    while (effects.more)
        flow_step (run->flow, run->state, &more, driver.now, &effects);
    for (size_t i = 0; i < effects.count; i++)
        show_effect (run, &effects.items[i], out);
    if (effects.changed_count)
        qsort (effects.changed, effects.changed_count, sizeof *effects.changed, by_step);
    for (size_t i = 0; i < effects.changed_count; i++)
        if (i == 0 || effects.changed[i] != effects.changed[i - 1])
            add (out, "changed", show_step (run, effects.changed[i]));
    if (effects.run_changed)
        json_object_set_new (out, "run", show_run (run));
    if (effects.rejected.text[0])
        json_object_set_new (out, "rejected", json_string (effects.rejected.text));
    if (effects.dropped)
        json_object_set_new (out, "dropped", json_true ());
    flow_effects_clear (&effects);
    return out;
}

static json_t *wrong (const char *text)
{
    return json_pack ("{s:s}", "wrong", text);
}

static struct run *run_named (const char *name)
{
    for (size_t i = driver.run_count; i-- > 0;)
        if (strcmp (driver.runs[i].name, name) == 0)
            return &driver.runs[i];
    return NULL;
}

static json_t *begin (const json_t *line, const char *name)
{
    const char *flow_name = json_string_value (json_object_get (line, "flow"));
    const struct flow *flow = flow_name ? flow_named (flow_name) : NULL;
    if (!flow)
        return wrong ("no such flow");
    driver.runs = memory_resize (driver.runs, (driver.run_count + 1) * sizeof *driver.runs);
    struct run *run = &driver.runs[driver.run_count++];
    *run = (struct run){.name = memory_text (name), .flow = flow};
    run->state = flow_run_new (flow, run->name);
    run->state->fire = json_integer_value (json_object_get (line, "plan_time"));
    run->state->start = json_integer_value (json_object_get (line, "start"));
    run->state->created = json_integer_value (json_object_get (line, "created"));
    const json_t *batch = json_object_get (line, "batch");
    if (batch)
        run->state->batch = json_integer_value (batch);
    const json_t *parallel = json_object_get (line, "parallel");
    if (parallel && !flow->has_own_parallel)
        run->state->parallel = (uint32_t)json_integer_value (parallel);
    struct flow_event event = {.kind = FLOW_BEGIN,
                               .item = -1,
                               .value = json_object_get (line, "input"),
                               .params = json_object_get (line, "params")};
    return carry (run, &event);
}

static json_t *show_state (const struct run *run)
{
    json_t *steps = json_object ();
    for (uint32_t i = 0; i < run->flow->step_count; i++)
        json_object_set_new (steps, run->flow->steps[i].name, show_step (run, i));
    return json_pack ("{s:o, s:o}", "steps", steps, "run", show_run (run));
}

static enum flow_status status_of (const json_t *line)
{
    const char *status = json_string_value (json_object_get (line, "status"));
    if (!status || strcmp (status, "ok") == 0)
        return FLOW_OK;
    return strcmp (status, "cancelled") == 0 ? FLOW_CALL_CANCELLED : FLOW_NOT_OK;
}

static const char *text_of (const json_t *line, const char *name)
{
    return json_string_value (json_object_get (line, name));
}

static json_t *handle (const json_t *line, const char *kind)
{
    static const char *const kinds[] = {"begin",   "ended", "due",     "signal", "reject",
                                        "skip",    "retry", "suspend", "resume", "cancel",
                                        "timeout", "check", "done",    "reset"};
    const char *name = text_of (line, "run"), *step_name = text_of (line, "step");
    struct run *run = run_named (name ? name : "r");
    const json_t *item = json_object_get (line, "item");
    if (!run)
        return wrong ("no such run");
    if (strcmp (kind, "state") == 0)
        return show_state (run);
    size_t number = 0;
    while (number < sizeof kinds / sizeof *kinds && strcmp (kinds[number], kind) != 0)
        number++;
    int64_t step = step_name ? flow_find (run->flow, step_name) : -1;
    if (number == sizeof kinds / sizeof *kinds || number == FLOW_BEGIN)
        return wrong ("no such event");
    if (step < 0 && number >= FLOW_CALL_ENDED && number <= FLOW_SKIP)
        return wrong ("no such step");
    struct flow_event event = {
        .kind = (enum flow_event_kind)number,
        .step = step < 0 ? 0 : (uint32_t)step,
        .item = item ? json_integer_value (item) : -1,
        .generation = (unsigned)json_integer_value (json_object_get (line, "generation")),
        .undo = json_is_true (json_object_get (line, "undo")),
        .force = json_is_true (json_object_get (line, "force")),
        .fresh = json_is_true (json_object_get (line, "fresh")),
        .restart = json_is_true (json_object_get (line, "restart")),
        .status = status_of (line),
        .value = json_object_get (line, number == FLOW_CALL_ENDED ? "result" : "value"),
        .text = text_of (line, number == FLOW_CALL_ENDED ? "error" : "reason"),
        .key = text_of (line, "key"),
        .steps = json_object_get (line, "steps"),
        .params = json_object_get (line, "params")};
    const json_t *version = json_object_get (line, "version");
    const struct flow *newest = flow_named (run->flow->name), *was = run->flow;
    if (version) {
        event.former = was;
        event.version = (int)json_integer_value (version);
        run->flow = newest;
    }
    if (event.kind == FLOW_CALL_ENDED && event.status == FLOW_NOT_OK && !event.text)
        event.text = text_of (line, "status");
    json_t *out = carry (run, &event);
    if (json_object_get (out, "rejected"))
        run->flow = was;
    return out;
}

static json_t *answer (const json_t *line)
{
    const char *kind = text_of (line, "event"), *name = text_of (line, "run");
    const json_t *now = json_object_get (line, "now");
    if (json_is_integer (now) && json_integer_value (now) > driver.now)
        driver.now = json_integer_value (now);
    if (!kind)
        return wrong ("an event is an object with \"event\"");
    if (strcmp (kind, "define") == 0)
        return define (line);
    if (strcmp (kind, "clock") == 0)
        return json_object ();
    if (strcmp (kind, "begin") == 0)
        return begin (line, name ? name : "r");
    return handle (line, kind);
}

int main (void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    while ((size = getline (&line, &room, stdin)) > 0) {
        struct reason reason;
        json_t *json = expr_read_json (span_of (line, (size_t)size), &reason);
        json_t *out = json ? answer (json) : wrong (reason.text);
        char *text = json_dumps (out, JSON_COMPACT);
        puts (text);
        fflush (stdout);
        free (text);
        json_decref (out);
        json_decref (json);
    }
    free (line);
    for (size_t i = 0; i < driver.run_count; i++) {
        flow_run_destroy (&driver.runs[i].state, driver.runs[i].flow);
        free (driver.runs[i].name);
    }
    for (size_t i = 0; i < driver.flow_count; i++)
        flow_destroy (&driver.flows[i]);
    free (driver.runs);
    free (driver.flows);
    return 0;
}
