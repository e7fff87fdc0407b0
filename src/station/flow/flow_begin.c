// Begins a run of a flow, as its flow plan describes it.
#include "expr.h"
#include "flow_book.h"
#include "flow_defaults.h"
#include "flow_runs_private.h"
#include "json.h"
#include "memory.h"
#include "zones.h"

// The zone of the run, or that of the station if this machine does not have it.
const struct zone *flow_live_zone (const struct flow_live *live)
{
    struct reason reason;
    const struct zone *zone = zones_named (live->station, live->timezone, &reason);
    return zone ? zone : live->station->zone;
}

static int64_t local_seconds_of (const struct zone *zone, int64_t unix_s)
{
    return unix_s + zone_offset (zone, unix_s);
}

// Let the values that were given to a run outside its schedule override those of its plan.
static void merge_run_values (struct flow_live *live, const struct plan *plan)
{
    struct reason ignored;
    json_t *with = plan->extra && plan->run_with
                       ? json_read_object (span_text (plan->run_with), &ignored)
                       : NULL;
    json_t *own = json_object_get (live->inherit, "params"),
           *params = json_object_get (with, "params"), *batch = json_object_get (with, "batch");
    if (params)
        json_object_set_new (live->inherit, "params",
                             own ? json_pack ("[O, O]", own, params) : json_incref (params));
    if (batch)
        json_object_set (live->inherit, "batch", batch);
    json_decref (with);
}

// Set the batch of the run. It is also the nominal time of a run outside a schedule.
static void use_batch_time (struct flow_live *live, const struct plan *plan,
                            const struct zone *zone)
{
    const char *text = json_string_value (json_object_get (live->inherit, "batch"));
    int64_t local;
    if (!text || !expr_time_parse (span_text (text), zone, &local))
        return;
    live->run->batch = local;
    if (plan->extra || plan->schedule.type == SCHEDULE_NONE)
        live->run->fire = local;
}

void flow_live_start_timeout (struct flow_live *live, const struct plan *plan)
{
    int64_t timeout_s =
        plan->policy && plan->policy->timeout_s ? plan->policy->timeout_s : live->flow->timeout_s;
    int64_t now_us = store_now_us (live->station->store);
    live->timeout_ms = timeout_s ? now_us / 1000 + timeout_s * 1000 : 0;
    flow_live_set_due (live, flow_live_next_us (live));
}

struct flow_live *flow_live_begin (struct station *self, const struct flow_begin *begin)
{
    const struct plan *plan = begin->plan;
    struct flow_live *live = memory_new (sizeof *live), *former = flow_live_find (self, begin->run);
    struct plan_step call;
    int64_t now_us = store_now_us (self->store);
    live->station = self;
    live->id = begin->run;
    ident_text (live->id, live->name);
    live->flow = flow_book_hold (self, begin->flow);
    live->version = begin->version;
    live->plan_id = begin->plan_id;
    live->exec_id = begin->exec_id;
    memcpy (live->flow_name, plan->station.data, plan->station.size);
    if (plan->step.size && plan->step.size < sizeof live->parent)
        memcpy (live->parent, plan->step.data, plan->step.size);
    if (plan->policy)
        memcpy (live->timezone, plan->policy->timezone, sizeof live->timezone);
    if (plan->caller.size)
        live->caller = memory_copy (plan->caller.data, plan->caller.size);
    live->inherit = plan->policy ? json_deep_copy (plan->policy->fields) : json_object ();
    merge_run_values (live, plan);
    live->subs = json_object ();
    live->run = flow_run_new (live->flow, live->name);
    live->run->version = begin->version;
    if (!live->flow->has_own_parallel)
        live->run->parallel = (uint32_t)self->settings->flow_parallel;
    const struct zone *zone = flow_live_zone (live);
    live->run->start = local_seconds_of (zone, now_us / 1000000);
    live->depth = 1;
    if (plan_step_parse (plan->step, &call) && call.kind == STEP_FLOW) {
        live->run->fire = call.fire;
        live->run->created = call.created;
        live->run->batch = call.batch;
        live->depth = call.depth;
    } else {
        live->run->fire = local_seconds_of (zone, plan_nominal (plan, begin->exec_id));
        live->run->created = local_seconds_of (zone, plan->schedule.received);
        use_batch_time (live, plan, zone);
    }
    live->run->continues_on_error =
        flow_defaults_continue (json_object_get (live->inherit, "defaults"));
    live->began_ms = now_us / 1000;
    flow_live_start_timeout (live, plan);
    live->unwritten = true;
    live->calls_are_first =
        begin->exec_id == begin->run; // false: a retry of the flow plan restarts the run
    if (former)
        flow_live_forget (former);
    flow_live_add (self, live);
    return live;
}
