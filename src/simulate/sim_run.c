// Runs of flows: applies events to them, and carries out the effects.
#include "sim_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

static int64_t local_seconds_at (const struct sim_run *self, int64_t ms)
{
    return ms / 1000 + zone_offset (self->station->zone, ms / 1000);
}

// -- waits and signals

static void stop_step_waits (struct sim_run *self, uint32_t step)
{
    sim_timer_stop (self->station, &self->waits[2 * step].timer);
    sim_timer_stop (self->station, &self->waits[2 * step + 1].timer);
}

// Send as many signals as the step needs, each by another allowed sender.
static void send_step_signals (struct sim_run *self, uint32_t step)
{
    const struct flow_step *step_def = &self->flow->steps[step];
    const struct flow_guess *guess = sim_guess_of (self, step);
    size_t names = json_array_size (step_def->signal_who);
    for (uint32_t i = 0; i < step_def->signal_count && self->run->nodes[step].state == FLOW_RUNNING;
         i++) {
        const char *name =
            json_string_value (json_array_get (step_def->signal_who, i % (names + !names)));
        size_t size = name ? strlen (name) : 0, room = size + 16;
        char *key = memory_new (room); // a buffer of its own, as names of keys have no limit here
        bool prefix = size && name[size - 1] == '*';
        if (prefix || i >= names)
            snprintf (key, room, "%.*s%u", (int)(prefix ? size - 1 : size), name ? name : "",
                      i + 1);
        else
            snprintf (key, room, "%s", name);
        const struct flow_event event = {.kind = FLOW_SIGNALLED,
                                         .step = step,
                                         .item = -1,
                                         .key = name ? key : NULL,
                                         .value = guess ? guess->value : NULL};
        sim_run_apply (self, &event);
        free (key);
    }
}

static void on_wait_timer (void *owner)
{
    const struct sim_wait *wait = owner;
    if (wait->signal)
        send_step_signals (wait->run, wait->step);
    else
        sim_run_apply (wait->run, &(struct flow_event){
                                      .kind = FLOW_TIMER_DUE, .step = wait->step, .item = -1});
}

static void set_wait (struct sim_run *self, uint32_t step, int64_t at, bool signal)
{
    struct sim_wait *wait = &self->waits[2 * step + signal];
    wait->run = self;
    wait->step = step;
    wait->signal = signal;
    sim_timer_set (self->station, &wait->timer, at, on_wait_timer, wait);
}

// Let a signal arrive when its step has waited for the guessed time.
static void schedule_signal (struct sim_run *self, uint32_t step)
{
    const struct flow_guess *guess = sim_guess_of (self, step);
    if (self->flow->steps[step].kind != FLOW_SIGNAL ||
        self->run->nodes[step].state != FLOW_RUNNING || (guess && guess->never))
        return;
    int64_t last =
        guess && guess->last_ms >= 0 ? guess->last_ms : self->simulation->guesses->last_ms;
    stop_step_waits (self, step);
    set_wait (self, step, self->station->now + last, true);
}

// -- events

static void on_run_done (void *owner)
{
    const struct sim_run *self = owner;
    sim_call_end_inner (self->caller);
}

static void on_run_timeout (void *owner)
{
    sim_run_apply (owner, &(struct flow_event){.kind = FLOW_TIMEOUT, .item = -1});
}

// Carry out effects. A retry resets steps, and may start them in the same call.
static void apply_effects (struct sim_run *self, const struct flow_event *event,
                           const struct flow_effects *effects)
{
    for (size_t i = 0; i < effects->changed_count; i++) {
        if (event->kind == FLOW_RETRY)
            sim_span_clear (&self->spans[effects->changed[i]]);
        sim_add_change_events (self, effects->changed[i]);
        if (self->run->nodes[effects->changed[i]].state >= FLOW_FINISHED)
            stop_step_waits (self, effects->changed[i]);
        schedule_signal (self, effects->changed[i]);
    }
    for (size_t i = 0; i < effects->count; i++) {
        const struct flow_effect *effect = &effects->items[i];
        if (effect->kind == FLOW_PLACE) {
            sim_call_begin (self, effect);
        } else if (effect->kind == FLOW_REMOVE) {
            sim_call_cancel (self, effect);
        } else if (self->flow->steps[effect->step].kind == FLOW_CALL) {
            if (effect->kind == FLOW_TIMER)
                sim_call_start_total_timeout (
                    self, effect); // the timer of a total_timeout is removed with its call
        } else if (effect->kind == FLOW_TIMER) {
            set_wait (self, effect->step, effect->at, false);
        } else {
            stop_step_waits (self, effect->step);
        }
    }
}

bool sim_run_apply (struct sim_run *self, const struct flow_event *event)
{
    const struct flow_event more = {.kind = FLOW_CHECK, .item = -1};
    struct flow_effects effects = {.count = 0};
    bool was_over =
        self->run->phase == FLOW_ENDED && event->kind != FLOW_UNDO && event->kind != FLOW_RETRY;
    bool was_parked = self->run->undo_parked;
    self->simulation->last_event_ms = self->station->now;
    flow_step (self->flow, self->run, event, self->station->now, &effects);
    bool accepted = !effects.rejected.text[0];
    while (effects.more)
        flow_step (self->flow, self->run, &more, self->station->now, &effects);
    apply_effects (self, event, &effects);
    if (self->run->undo_parked && !was_parked)
        sim_add_parked_event (self);
    flow_effects_clear (&effects);
    if (self->run->phase != FLOW_ACTIVE)
        sim_timer_stop (self->station, &self->limit);
    if (accepted && !was_over && self->run->phase == FLOW_ENDED)
        sim_timer_set (self->station, &self->done, self->station->now, on_run_done, self);
    return accepted;
}

// -- life

// Make the run of a call of a flow.
static struct sim_run *new_sim_run (struct sim_call *call)
{
    struct sim_run *self = memory_new (sizeof *self), *outer = call->run;
    struct simulation *simulation = outer ? outer->simulation : call->simulation;
    const char *step = outer ? outer->flow->steps[call->step].name : "";
    size_t size = (outer ? strlen (outer->path) : 0) + strlen (step) + 2;
    *self = (struct sim_run){.simulation = simulation,
                             .station = call->station,
                             .caller = call,
                             .flow = call->flow,
                             .path = memory_new (size),
                             .depth = outer ? outer->depth + 1 : 1,
                             .began = call->station->now,
                             .sub_step = call->step,
                             .sub_item = call->item};
    if (outer) {
        snprintf (self->path, size, "%s%s/", outer->path, step);
        self->next = outer->subs;
        outer->subs = self;
    }
    self->spans = memory_new ((call->flow->step_count + 1) * sizeof *self->spans);
    self->waits = memory_new ((2 * (size_t)call->flow->step_count + 1) * sizeof *self->waits);
    self->tries = memory_new ((call->flow->step_count + 1) * sizeof *self->tries);
    for (uint32_t i = 0; i < call->flow->step_count; i++)
        sim_span_clear (&self->spans[i]);
    self->run = flow_run_new (call->flow, "simulated");
    self->run->fire = local_seconds_at (self, simulation->fire);
    self->run->created = local_seconds_at (self, simulation->created);
    self->run->start = local_seconds_at (self, call->station->now);
    self->run->zone = call->station->zone;
    return self;
}

void sim_run_destroy (struct sim_run **run)
{
    struct sim_run *self = *run;
    if (!self)
        return;
    for (uint32_t i = 0; i < self->flow->step_count; i++)
        stop_step_waits (self, i);
    for (struct table_node *node; (node = table_any (&self->calls));) {
        table_remove (&self->calls, node);
        sim_call_destroy ((struct sim_call *)node);
    }
    table_free (&self->calls);
    for (struct sim_run *sub; (sub = self->subs);) {
        self->subs = sub->next;
        sim_run_destroy (&sub);
    }
    sim_timer_stop (self->station, &self->limit);
    sim_timer_stop (self->station, &self->done);
    flow_run_destroy (&self->run, self->flow);
    for (uint32_t i = 0; i < self->flow->step_count; i++)
        free (self->tries[i].counts);
    free (self->tries);
    free (self->spans);
    free (self->waits);
    free (self->path);
    free (self);
    *run = NULL;
}

struct sim_run *sim_run_find_sub (const struct sim_run *self, uint32_t step, int64_t item)
{
    struct sim_run *sub = self->subs;
    while (sub && (sub->sub_step != step || sub->sub_item != item))
        sub = sub->next;
    return sub;
}

// Remove a run from the runs of its outer run.
static void unlink_run (struct sim_run *self)
{
    struct sim_run *outer = self->caller->run;
    for (struct sim_run **at = outer ? &outer->subs : NULL; at && *at; at = &(*at)->next)
        if (*at == self) {
            *at = self->next;
            return;
        }
}

void sim_run_start (void *owner)
{
    struct sim_call *call = owner;
    bool has_inner = call->inner;
    if (has_inner)
        call->inner->caller = call;
    else
        call->inner = new_sim_run (call);
    int64_t limit_s = call->timeout_s ? call->timeout_s : call->flow->timeout_s;
    if (limit_s)
        sim_timer_set (call->station, &call->inner->limit, call->station->now + limit_s * 1000,
                       on_run_timeout, call->inner);
    // Retry a run under the same id: reset what failed, or everything if the run was undone.
    if (has_inner &&
        sim_run_apply (call->inner, &(struct flow_event){.kind = FLOW_RETRY,
                                                         .item = -1,
                                                         .restart = call->inner->run->undone}))
        return;
    if (has_inner) { // nothing can be retried, as when its params failed
        unlink_run (call->inner);
        sim_run_destroy (&call->inner);
        sim_run_start (call);
        return;
    }
    sim_run_apply (call->inner,
                   &(struct flow_event){.kind = FLOW_BEGIN, .item = -1, .value = call->input});
}
