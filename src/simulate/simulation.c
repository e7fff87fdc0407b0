// The simulation as a whole, and the flow plan that it simulates.
#include "simulation.h"

#include <stdlib.h>

#include "memory.h"
#include "sim_run.h"

static void deliver_row (struct simulation *self, json_t *row)
{
    self->rows++;
    self->report (self->owner, row);
}

static void report_occurrence (struct simulation *self)
{
    if (!self->root.inner)
        return;
    json_t *row = sim_run_report (self->root.inner);
    if (self->root.plan->plan->verdict == VERDICT_PENDING)
        json_object_set_new (row, "parked", json_true ());
    deliver_row (self, row);
    sim_run_destroy (&self->root.inner);
    json_decref (self->events);
    self->events = NULL;
}

// Report the missed occurrences: all of a cron plan, of other plans only the first.
static void report_missed_occurrences (struct simulation *self, const struct plan *plan,
                                       const struct misses *misses)
{
    int64_t at = misses->missed.first;
    for (int64_t i = 0; i < misses->missed.count && self->rows < self->guesses->runs; i++) {
        deliver_row (self,
                     json_pack ("{s:s, s:I, s:I, s:s, s:s}", "flow", self->flow->name, "nominal",
                                (json_int_t)at * 1000, "began", (json_int_t)at * 1000, "outcome",
                                "missed", "why", misses->why));
        if (!plan->schedule.cron ||
            !cron_next (plan->schedule.cron, self->station.zone, plan->schedule.gap,
                        plan->schedule.overlap, at + 1, &at))
            return;
    }
}

void sim_occurrence_begins (struct sim_call *root)
{
    struct simulation *self = root->simulation;
    const struct plan *plan = root->plan->plan;
    if (root->inner) // a retry of the occurrence
        return;
    self->fire = plan->schedule.type == SCHEDULE_NONE ? self->station.now : plan->plan_time * 1000;
    self->events = json_array ();
}

void sim_occurrence_ends (struct sim_call *root, const struct decision *decision)
{
    struct simulation *self = root->simulation;
    report_occurrence (self);
    report_missed_occurrences (self, root->plan->plan, &decision->misses);
    self->over = decision->commit != COMMIT_NEXT;
}

static bool submit_flow_plan (struct simulation *self, struct reason *reason)
{
    json_t *fields =
        self->guesses->plan ? json_copy ((json_t *)self->guesses->plan) : json_object ();
    self->root.timeout_s = json_integer_value (json_object_get (fields, "timeout"));
    json_object_del (fields, "timeout");
    json_object_update_missing_new (
        fields, json_pack ("{s:s, s:{s:s}}", "plan_type", "none", "retry", "strategy", "none"));
    self->root.plan = sim_plan_new (&self->station, self->flow->name, fields, &self->root, reason);
    json_decref (fields);
    return self->root.plan;
}

bool flow_simulate (const struct flow *flow, const struct flow_guesses *guesses, int64_t at_ms,
                    json_t *input, void (*report) (void *owner, json_t *row), void *owner,
                    struct reason *reason)
{
    struct simulation *self = memory_new (sizeof *self);
    *self = (struct simulation){
        .guesses = guesses, .flow = flow, .created = at_ms, .report = report, .owner = owner};
    sim_station_begin (&self->station, guesses, at_ms);
    self->root = (struct sim_call){.simulation = self,
                                   .station = &self->station,
                                   .flow = flow,
                                   .item = -1,
                                   .input = json_incref (input)};
    bool submitted = submit_flow_plan (self, reason);
    while (submitted && !self->over && self->rows < guesses->runs &&
           json_array_size (self->events) < FLOW_SIMULATED_MAX)
        if (!sim_station_step (&self->station))
            break;
    self->stopped = json_array_size (self->events) >= FLOW_SIMULATED_MAX;
    if (self->rows < guesses->runs)
        report_occurrence (self); // the run waits for ever, or has too many events
    sim_run_destroy (&self->root.inner);
    sim_call_destroy (&self->root);
    sim_station_end (&self->station);
    json_decref (self->events);
    free (self);
    return submitted;
}
