// What a simulation reports: events, the critical path, and how a run ended.
#include <stdio.h>

#include "flow_why.h"
#include "sim_run.h"

void sim_add_event (const struct sim_run *self, int64_t step, int64_t item, const char *what,
                    const char *why)
{
    json_t *events = self->simulation->events;
    self->simulation->last_event_ms = self->station->now;
    char name[1024];
    if (json_array_size (events) >= FLOW_SIMULATED_MAX)
        return;
    snprintf (name, sizeof name, "%s%s", self->path,
              step < 0 ? self->flow->name : self->flow->steps[step].name);
    json_array_append_new (events,
                           json_pack ("{s:I, s:o*, s:s, s:o*, s:o*}", "at",
                                      (json_int_t)self->station->now, "step", json_string (name),
                                      "what", what, "item", item >= 0 ? json_integer (item) : NULL,
                                      "why", why && *why ? json_string (why) : NULL));
}

void sim_span_clear (struct sim_span *span)
{
    *span = (struct sim_span){.ready = -1, .begin = -1, .end = -1};
}

void sim_add_parked_event (const struct sim_run *self)
{
    const struct flow_undo *undo = &self->run->undos[self->run->undo_at];
    char why[REASON_MAX + 64];
    snprintf (why, sizeof why, "for an operator: its undo failed%s%s", self->run->error ? ": " : "",
              self->run->error ? self->run->error : "");
    sim_add_event (self, undo->step, undo->item, "wait", why);
}

static void add_wait_event (struct sim_run *self, uint32_t step)
{
    const struct flow_step *step_def = &self->flow->steps[step];
    char text[256] = "";
    self->spans[step].begin = self->station->now;
    if (step_def->kind == FLOW_SIGNAL)
        flow_why_waits (self->flow, self->run, step, text, sizeof text);
    else
        flow_why_starts (self->flow, self->run, step, text, sizeof text);
    sim_add_event (self, step, -1, "wait", text);
}

static void add_end_event (struct sim_run *self, uint32_t step)
{
    const struct flow_node *node = &self->run->nodes[step];
    const struct flow_data *data = self->run->data[step];
    struct sim_span *span = &self->spans[step];
    const char *why = data ? data->error : NULL;
    if (node->state == FLOW_SKIPPED)
        why = node->flags & FLOW_STARTED  ? "no signal in time"
              : node->flags & FLOW_JOINED ? "its if is false"
                                          : "no edge to it is live";
    span->end = self->station->now;
    if (span->begin < 0)
        span->begin = span->end;
    sim_add_event (self, step, -1, flow_state_name ((enum flow_state)node->state), why);
}

void sim_add_change_events (struct sim_run *self, uint32_t step)
{
    const struct flow_node *node = &self->run->nodes[step];
    struct sim_span *span = &self->spans[step];
    char text[256] = "";
    if (node->state == FLOW_NONE)
        sim_span_clear (span);
    if (span->ready < 0 && (node->state == FLOW_NEW || node->state == FLOW_RUNNING))
        span->ready = self->station->now;
    if (node->state == FLOW_RUNNING && self->flow->steps[step].kind != FLOW_CALL)
        add_wait_event (self, step);
    if (node->flags & FLOW_BLOCKED) {
        flow_why_blocked (self->flow, self->run, step, text, sizeof text);
        sim_add_event (self, step, -1, "blocked", text);
    }
    if (node->state >= FLOW_FINISHED)
        add_end_event (self, step);
}

// -- the end

static json_t *critical_path_row (const struct sim_run *self, uint32_t step)
{
    static const char *const names[SIM_BLOCKS] = {NULL, "target_ms", "limit_ms", "worker_ms"};
    const struct sim_span *span = &self->spans[step];
    json_t *row = json_pack ("{s:s, s:I, s:I}", "step", self->flow->steps[step].name, "from",
                             (json_int_t)span->begin, "to", (json_int_t)span->end);
    if (span->ready >= 0 && span->begin > span->ready)
        json_object_set_new (row, "slot_ms", json_integer (span->begin - span->ready));
    for (int block = SIM_AWAY; block < SIM_BLOCKS; block++)
        if (span->blocked_ms[block])
            json_object_set_new (row, names[block], json_integer (span->blocked_ms[block]));
    return row;
}

// The critical path: from the step that ended last back to a root, each time by the source that
// ended last.
static json_t *critical_path (const struct sim_run *self)
{
    const struct flow *flow = self->flow;
    json_t *path = json_array ();
    int64_t at = -1;
    for (uint32_t i = 0; i < flow->step_count; i++)
        if (self->spans[i].end >= 0 && self->run->nodes[i].flags & FLOW_STARTED &&
            i != flow->final && (at < 0 || self->spans[i].end > self->spans[at].end))
            at = i;
    while (at >= 0) {
        const struct flow_step *step = &flow->steps[at];
        int64_t begin = self->spans[at].begin;
        json_array_insert_new (path, 0, critical_path_row (self, (uint32_t)at));
        at = -1;
        for (uint32_t i = 0; i < step->in_count; i++) {
            uint32_t source = flow->in[step->in_first + i].step;
            int64_t end = self->spans[source].end;
            if (end >= 0 && end <= begin && (at < 0 || end > self->spans[at].end))
                at = source;
        }
    }
    return path;
}

static void add_run_waits (const struct sim_run *self, json_t *waits)
{
    const struct flow_run *run = self->run;
    char text[1024];
    for (uint32_t i = 0; i < self->flow->step_count; i++) {
        bool waits_here = run->nodes[i].state == FLOW_RUNNING || run->nodes[i].flags & FLOW_PLACED;
        bool inner = false;
        for (const struct sim_run *sub = self->subs; sub; sub = sub->next) {
            if (sub->sub_step != i || sub->run->phase == FLOW_ENDED)
                continue;
            add_run_waits (sub, waits);
            inner = true;
        }
        if (!waits_here || inner)
            continue;
        snprintf (text, sizeof text, "%s%s", self->path, self->flow->steps[i].name);
        json_array_append_new (waits, json_string (text));
    }
    if (!run->undo_parked)
        return;
    snprintf (text, sizeof text, "an operator: the undo of %s%s failed", self->path,
              self->flow->steps[run->undos[run->undo_at].step].name);
    json_array_append_new (waits, json_string (text));
}

json_t *sim_run_report (const struct sim_run *self)
{
    const struct flow_run *run = self->run;
    const struct simulation *simulation = self->simulation;
    bool ended = run->phase == FLOW_ENDED, stopped = !ended && simulation->stopped;
    json_t *error = stopped
                        ? json_sprintf ("a simulated run has at most %d events", FLOW_SIMULATED_MAX)
                        : json_string (run->error);
    json_t *waits = json_array ();
    if (!ended && !stopped)
        add_run_waits (self, waits);
    return json_pack ("{s:s, s:I, s:I, s:s, s:o, s:I, s:I, s:O*, s:o*, s:O*, s:o, s:O*}", "flow",
                      self->flow->name, "nominal", (json_int_t)simulation->fire, "began",
                      (json_int_t)self->began, "outcome",
                      stopped ? "stopped"
                      : ended ? flow_outcome_names[run->outcome]
                              : "waiting",
                      "critical", critical_path (self), ended ? "ended" : "until",
                      (json_int_t)simulation->last_event_ms, "failures",
                      (json_int_t)flow_run_failures (self->flow, run), "output", run->output,
                      "error", error, "uncaught", run->uncaught, "waits", waits, "events",
                      simulation->events);
}
