// Plans at the simulated station: the engine decides what happens to a plan, the core when.
#include <stdlib.h>

#include "codes.h"
#include "memory.h"
#include "plan_json.h"
#include "sim_station.h"

enum {
    ATTEMPTS_MAX = 1000
}; // attempts of a plan that fails for ever: further ones would be the same

struct sim_plan *sim_plan_of (const struct sim_station *self, uint64_t id)
{
    struct table_node *node = table_find (&self->plans, table_hash_number (id));
    while (node && ((struct sim_plan *)node)->plan->id != id)
        node = table_next (node);
    return (struct sim_plan *)node;
}

// Queue a plan for the report of why it waits.
static void queue_examination (void *owner)
{
    struct sim_plan *self = owner;
    if (self->to_examine)
        return;
    self->to_examine = true;
    self->next_to_examine = NULL;
    *self->station->examine_end = self;
    self->station->examine_end = &self->next_to_examine;
}

static void unqueue_examination (struct sim_plan *self)
{
    struct sim_station *station = self->station;
    for (struct sim_plan **at = &station->examine; self->to_examine && *at;
         at = &(*at)->next_to_examine)
        if (*at == self) {
            *at = self->next_to_examine;
            if (!*at)
                station->examine_end = at;
            return;
        }
}

// Queue the plan for this time.
static void queue_sim_plan (struct sim_plan *self, int64_t due_us)
{
    int64_t due_ms = (due_us + 999) / 1000;
    self->queued = true;
    self->due_us = due_us;
    self->block = SIM_NOT_BLOCKED;
    sim_timer_set (self->station, &self->due,
                   due_ms > self->station->now ? due_ms : self->station->now, queue_examination,
                   self);
}

// -- submission

// The content of the frames does not matter, but a plan without frames does not run.
static struct plan *make_plan (struct sim_station *station, const char *target, json_t *fields,
                               struct reason *reason)
{
    struct plan_fields read;
    struct message request;
    struct misses misses;
    uint8_t description[DESC_SIZE_MAX];
    int64_t now_s = station->now / 1000;
    if (plan_frame_read (fields, &plan_limits_default, &read, reason) < 0)
        return NULL;
    message_start (&request, ZERO_BYTE_COMMAND_PLAN);
    message_add (&request, ZERO_FRAME_STATION_ID, span_text (target));
    message_add (&request, ZERO_FRAME_COMMAND, span_text ("simulated"));
    message_add (&request, ZERO_FRAME_PLAN, span_text ("{}"));
    request.desc_bytes = span_of (description, desc_write (&request.desc, description));
    struct plan *plan =
        plan_new_submitted (++station->last_id, &request, span_text (""), &read, now_s);
    plan_fields_clear (&read);
    if (engine_submit (plan, station->zone, now_s, &misses, reason) < 0)
        plan_destroy (&plan);
    return plan;
}

struct sim_plan *sim_plan_new (struct sim_station *station, const char *target, json_t *fields,
                               struct sim_call *call, struct reason *reason)
{
    struct plan *plan = make_plan (station, target, fields, reason);
    struct core_refusal refusal;
    size_t size;
    if (!plan)
        return NULL;
    struct sim_plan *self = memory_new (sizeof *self);
    *self = (struct sim_plan){
        .station = station, .call = call, .target = target, .plan = plan, .team = json_object ()};
    char *text = plan_stored_text (plan, &size);
    int64_t due_us =
        plan->schedule.type == SCHEDULE_NONE ? station->now * 1000 : plan_due_time (plan) * 1000000;
    const struct core_submission submission = {
        .target = plan->station,
        .id = plan->id,
        .message = span_of (text, size),
        .revision = plan->revision,
        .queued = true,
        .due_us = due_us,
        .priority = plan->policy ? (int)plan->policy->priority : 0,
        .group = span_text (plan->policy ? plan->policy->group : ""),
        .caller = span_text ("c:simulation"),
        .made_here = true};
    core_submit (station->core, &submission, station->now * 1000, &refusal);
    free (text);
    table_add (&station->plans, &self->node, table_hash_number (plan->id));
    queue_sim_plan (self, due_us);
    return self;
}

static void remove_from_core (struct sim_plan *self)
{
    struct sim_station *station = self->station;
    sim_timer_stop (station, &self->due);
    sim_timer_stop (station, &self->deadline);
    sim_workers_release (station, self);
    self->queued = self->offered = false;
    if (!self->deleted)
        core_remove (
            station->core,
            &(struct core_removal){self->plan->station, self->plan->id, span_text ("c:simulation")},
            station->now * 1000);
    self->deleted = true;
}

void sim_plan_destroy (struct sim_plan **plan)
{
    struct sim_plan *self = *plan;
    if (!self)
        return;
    remove_from_core (self);
    unqueue_examination (self);
    table_remove (&self->station->plans, &self->node);
    json_decref (self->team);
    plan_destroy (&self->plan);
    free (self);
    *plan = NULL;
}

// -- the end of a run

// Commit a decision of the engine to the core, and queue the plan if it says so.
static void commit_decision (struct sim_plan *self, const struct decision *decision)
{
    static const enum core_end ends[COMMITS] = {
        [COMMIT_LEASE] = CORE_LEASE, [COMMIT_RETRY] = CORE_RETRY, [COMMIT_DOUBT] = CORE_DOUBT,
        [COMMIT_NEXT] = CORE_OVER,   [COMMIT_PARK] = CORE_OVER,   [COMMIT_END] = CORE_GONE};
    struct sim_station *station = self->station;
    struct core_committed committed;
    size_t size;
    self->plan->revision++;
    char *text = plan_stored_text (self->plan, &size);
    bool retry = decision->commit == COMMIT_RETRY;
    struct core_commit row = {.target = self->plan->station,
                              .id = self->plan->id,
                              .exec_id = self->run.exec_id,
                              .end = ends[decision->commit],
                              .queued = retry || decision->commit == COMMIT_NEXT,
                              .due_us = retry ? (station->now + decision->delay_ms) * 1000
                                              : plan_due_time (self->plan) * 1000000,
                              .message = span_of (text, size),
                              .revision = self->plan->revision,
                              .decided_on = -1,
                              .has_team = self->offered,
                              .caller = span_text ("c:simulation")};
    core_commit (station->core, &row, station->now * 1000, &committed);
    free (text);
    sim_timer_stop (station, &self->deadline);
    sim_workers_release (station, self);
    self->begun = self->offered = false;
    self->deleted = row.end == CORE_GONE;
    if (row.queued)
        queue_sim_plan (self, row.due_us);
}

// Whether a plan that is retried without limit can only fail, so that the simulation stops retrying
// it.
static bool fails_forever (const struct sim_plan *self)
{
    const struct policy *policy = self->plan->policy;
    return self->plan->error_count >= ATTEMPTS_MAX && self->result.same && policy &&
           policy->retry.max == RETRY_FOREVER;
}

static void end_plan_run (struct sim_plan *self, const struct decision *decision)
{
    commit_decision (self, decision);
    if (decision->commit != COMMIT_RETRY)
        sim_call_over (self->call, decision);
    else if (fails_forever (self))
        remove_from_core (self);
    else
        sim_call_retries (self->call, decision->delay_ms);
}

void sim_plan_end_run (struct sim_plan *self, uint8_t status)
{
    const struct answer answer = {
        .status = status, .has_exec_id = true, .exec_id = self->run.exec_id, .target = TARGET_API};
    struct decision decision = engine_answer (self->plan, &self->run, &answer, self->station->zone,
                                              self->station->now / 1000);
    end_plan_run (self, &decision);
}

static void time_out_run (struct sim_plan *self)
{
    struct decision decision =
        engine_timeout (self->plan, self->station->zone, self->station->now / 1000);
    end_plan_run (self, &decision);
}

static void on_deadline (void *owner)
{
    struct sim_plan *self = owner;
    if (self->begun && !self->offered && self->station->now >= self->end_ms)
        sim_plan_end_run (self, self->result.ok ? ZERO_STATUS_OK_ID : ZERO_STATUS_FAILED_ID);
    else
        time_out_run (self);
}

int64_t sim_plan_end_ms (const struct sim_plan *self)
{
    int64_t now = self->station->now, after_ms = self->result.after_ms;
    return after_ms > SIM_NEVER - now ? SIM_NEVER : now + after_ms;
}

void sim_plan_begin_run (struct sim_plan *self)
{
    self->begun = true;
    self->result = sim_call_sent (self->call);
    self->block = SIM_NOT_BLOCKED;
    self->end_ms = sim_plan_end_ms (self);
}

// -- a run

// Offer a run to workers. False: the run has timed out.
static bool offer_run (struct sim_plan *self, const struct core_taken *taken, bool already_offered)
{
    struct core_offered offered;
    struct core_offer offer = {.target = taken->target,
                               .id = taken->id,
                               .exec_id = taken->exec_id,
                               .already_offered = already_offered,
                               .lease_us = SIM_LEASE_US};
    sim_team_offer (self, &offer, &offered);
    sim_team_of (self->station, self->target)->polls = 0;
    if (!already_offered)
        queue_examination (self);
    return !offered.over;
}

void sim_plan_claimed (struct sim_plan *self, const struct core_taken *taken)
{
    static const struct dispatch_way way = {.key = ""};
    struct sim_station *station = self->station;
    struct reason reason;
    bool pull = sim_team_of (station, self->target), already_offered = self->offered;
    const struct due due = {.key_station = self->plan->station,
                            .exec_id = taken->exec_id,
                            .way = &way,
                            .zone = station->zone,
                            .earlier_may_answer = taken->earlier_may_answer,
                            .pull = pull,
                            .goes_on = already_offered,
                            .now = station->now / 1000};
    struct decision decision = engine_due (self->plan, &due, &reason);
    self->run = (struct run){taken->exec_id, RUN_RUNNING, taken->earlier_may_answer};
    self->queued = false;
    sim_timer_stop (station, &self->due);
    if (!decision.send) {
        end_plan_run (self, &decision);
        return;
    }
    self->offered = pull;
    if (!pull)
        sim_plan_begin_run (self);
    else if (!offer_run (self, taken, already_offered))
        time_out_run (self);
    if (already_offered)
        return;
    // The timeout of a run begins with its claim, in whole milliseconds of the virtual clock.
    int64_t timeout_s = self->plan->policy ? self->plan->policy->timeout_s : 0;
    int64_t end_ms = timeout_s ? station->now + timeout_s * 1000 : SIM_NEVER;
    if (!pull && self->end_ms < end_ms)
        end_ms = self->end_ms;
    sim_timer_set (station, &self->deadline, end_ms, on_deadline, self);
}
