// Calls of steps: a plan of the station whose attempts behave as guessed, or a run of a sub-flow.
#include "sim_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "codes.h"
#include "duration.h"
#include "flow_why.h"
#include "memory.h"

const struct flow_guess *sim_guess_of (const struct sim_run *self, uint32_t step)
{
    const struct flow_guesses *guesses = self->simulation->guesses;
    size_t size = strlen (self->path);
    for (size_t i = guesses->step_count; i-- > 0;) {
        const struct flow_guess *guess = &guesses->steps[i];
        if (strncmp (guess->step, self->path, size) == 0 &&
            strcmp (guess->step + size, self->flow->steps[step].name) == 0)
            return guess;
    }
    return NULL;
}

// -- the end of a call

void sim_call_destroy (struct sim_call *call)
{
    sim_timer_stop (call->station, &call->start);
    sim_timer_stop (call->station, &call->end);
    sim_timer_stop (call->station, &call->total);
    sim_plan_destroy (&call->plan);
    json_decref (call->value);
    json_decref (call->input);
    if (call->run)
        free (call);
}

// End a call: remove it, and apply its end to the run.
static void end_sim_call (void *owner)
{
    struct sim_call *call = owner;
    struct sim_run *run = call->run;
    json_t *value = json_incref (call->value);
    const struct flow_event event = {.kind = FLOW_CALL_ENDED,
                                     .step = call->step,
                                     .item = call->item,
                                     .generation = call->generation,
                                     .undo = call->undo,
                                     .status = call->status,
                                     .text = call->text,
                                     .value = value};
    table_remove (&run->calls, &call->node);
    sim_call_destroy (call);
    sim_run_apply (run, &event);
    json_decref (value);
}

// Add the time for which the plan of a call has waited, if it waits. Returns that time, in ms.
static int64_t add_blocked_time (struct sim_call *call)
{
    const struct sim_plan *plan = call->plan;
    int64_t blocked_ms =
        plan && plan->block != SIM_NOT_BLOCKED ? call->station->now - plan->blocked_since_ms : 0;
    if (blocked_ms) {
        int64_t *longest = &call->run->spans[call->step].blocked_ms[plan->block];
        call->blocked_ms[plan->block] += blocked_ms;
        if (call->blocked_ms[plan->block] > *longest)
            *longest = call->blocked_ms[plan->block];
    }
    return blocked_ms;
}

// End the call at the current time, after the current effects are carried out.
static void schedule_call_end (struct sim_call *call, enum flow_status status, const char *text)
{
    add_blocked_time (call);
    sim_plan_destroy (&call->plan);
    sim_timer_stop (call->station, &call->total);
    call->status = status;
    call->text = text;
    sim_timer_set (call->station, &call->end, call->station->now, end_sim_call, call);
}

static uint64_t hash_of_call (uint32_t step, int64_t item)
{
    return table_hash_number ((uint64_t)step << 32 | (uint32_t)(item + 1));
}

// The call that an effect names, except an undo; NULL: it has ended.
static struct sim_call *find_effect_call (const struct sim_run *run,
                                          const struct flow_effect *effect)
{
    struct table_node *node = table_find (&run->calls, hash_of_call (effect->step, effect->item));
    for (; node; node = table_next (node)) {
        struct sim_call *call = (struct sim_call *)node;
        if (call->step == effect->step && call->item == effect->item && !call->undo)
            return call;
    }
    return NULL;
}

void sim_call_cancel (struct sim_run *run, const struct flow_effect *effect)
{
    struct sim_call *call = find_effect_call (run, effect);
    if (!call)
        return;
    sim_timer_stop (call->station, &call->start);
    call->status = FLOW_CALL_CANCELLED;
    if (call->inner && call->inner->run->phase != FLOW_ENDED)
        sim_run_apply (call->inner, &(struct flow_event){.kind = FLOW_CANCEL, .item = -1});
    else
        schedule_call_end (call, FLOW_CALL_CANCELLED, NULL);
}

static void on_total_timeout (void *owner)
{
    const struct sim_call *call = owner;
    sim_run_apply (call->run, &(struct flow_event){.kind = FLOW_TIMER_DUE,
                                                   .step = call->step,
                                                   .item = call->item,
                                                   .generation = call->generation});
}

void sim_call_start_total_timeout (struct sim_run *run, const struct flow_effect *effect)
{
    struct sim_call *call = find_effect_call (run, effect);
    if (call)
        sim_timer_set (call->station, &call->total, effect->at, on_total_timeout, call);
}

void sim_call_end_inner (struct sim_call *call)
{
    const struct flow_run *inner = call->inner->run;
    json_t *value = json_incref (inner->output);
    if (call->run) {
        json_decref (call->value);
        call->value = value;
    } else {
        json_decref (value);
    }
    call->text = inner->outcome == FLOW_LATE ? "timed out" : inner->error ? inner->error : "failed";
    if (call->undo)
        schedule_call_end (call, FLOW_OK, NULL);
    else if (call->status == FLOW_CALL_CANCELLED)
        schedule_call_end (call, FLOW_CALL_CANCELLED, NULL);
    else
        sim_plan_end_run (call->plan, inner->outcome == FLOW_WELL   ? ZERO_STATUS_OK_ID
                                      : inner->outcome == FLOW_LATE ? ZERO_STATUS_TIMEOUT_ID
                                                                    : ZERO_STATUS_FAILED_ID);
}

// -- the plan of a call

static void add_wait_over_event (struct sim_call *call)
{
    static const char *const reasons[SIM_BLOCKS] = {"", "for its target", "for a limit",
                                                    "for a worker"};
    char text[DURATION_SIZE], why[DURATION_SIZE + 32];
    if (call->plan->block == SIM_NOT_BLOCKED)
        return;
    snprintf (why, sizeof why, "waited %s %s", duration_text (add_blocked_time (call) / 1000, text),
              reasons[call->plan->block]);
    sim_add_event (call->run, call->step, call->item, "running", why);
}

// Count one more attempt of this call in its run. Returns the number of attempts.
static uint32_t count_attempt (const struct sim_call *call)
{
    struct sim_tries *tries = &call->run->tries[call->step];
    size_t place = (size_t)(call->item + 1);
    while (tries->count <= place) {
        tries->counts =
            memory_grow (tries->counts, tries->count, &tries->room, sizeof *tries->counts);
        tries->counts[tries->count++] = 0;
    }
    return ++tries->counts[place];
}

struct sim_result sim_call_sent (struct sim_call *call)
{
    struct sim_result result = {SIM_NEVER, true, false};
    if (call->run)
        add_wait_over_event (call);
    else
        sim_occurrence_begins (call);
    if (call->flow) {
        sim_timer_set (call->station, &call->start, call->station->now, sim_run_start, call);
        return result;
    }
    const struct flow_guess *guess = sim_guess_of (call->run, call->step);
    result.after_ms =
        guess && guess->last_ms >= 0 ? guess->last_ms : call->run->simulation->guesses->last_ms;
    result.same = true;
    if (guess && !call->undo) {
        result.ok = guess->failures >= 0 && count_attempt (call) > guess->failures;
        result.same = result.ok || guess->failures < 0;
        if (guess->never)
            result.after_ms = SIM_NEVER;
    }
    return result;
}

void sim_call_waits (struct sim_call *call, const char *why)
{
    if (call->run)
        sim_add_event (call->run, call->step, call->item, "wait", why);
}

void sim_call_retries (struct sim_call *call, int64_t delay_ms)
{
    char why[96];
    snprintf (why, sizeof why, "attempt %lld failed, the next in %lld ms",
              (long long)call->plan->plan->error_count, (long long)delay_ms);
    if (call->run)
        sim_add_event (call->run, call->step, call->item, "retry", why);
    else
        sim_add_event (call->inner, -1, -1, "retry", why);
}

void sim_call_over (struct sim_call *call, const struct decision *decision)
{
    const struct plan *plan = call->plan->plan;
    if (!call->run) {
        sim_occurrence_ends (call, decision);
        return;
    }
    if (plan->verdict == VERDICT_PENDING) {
        sim_add_event (call->run, call->step, call->item, "wait", "for an operator (need_manual)");
        return;
    }
    call->status = decision->succeeded ? FLOW_OK : FLOW_NOT_OK;
    if (decision->succeeded)
        call->text = NULL;
    else if (plan->last_state == ZERO_STATUS_TIMEOUT_ID)
        call->text = "timed out";
    else if (plan->last_state == ZERO_STATUS_MISSED_ID)
        call->text = "missed";
    else if (!call->inner)
        call->text = "failed";
    end_sim_call (call);
}

// -- the start of a call

// The plan fields of a call, a new object. The timeout of a sub-flow applies to its run instead.
static json_t *call_plan_fields (const struct sim_call *call, const struct flow_call *what)
{
    static const char *const names[] = {"retry",    "timeout", "workers",
                                        "priority", "group",   "misfire_window"};
    json_t *fields = json_pack ("{s:s}", "plan_type", "none");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get (what->plan, names[i]);
        if (value && !(call->flow && strcmp (names[i], "timeout") == 0))
            json_object_set (fields, names[i], value);
    }
    if (!json_object_get (fields, "retry"))
        json_object_set_new (fields, "retry", json_pack ("{s:s}", "strategy", "none"));
    // Workers are assumed to send their heartbeats, so few need to be simulated.
    json_t *workers = json_deep_copy (json_object_get (fields, "workers"));
    if (workers) {
        json_object_set_new (workers, "ping_interval", json_integer (43200));
        json_object_set_new (workers, "worker_timeout", json_integer (86400));
    } else if (sim_team_of (call->station, what->target)) {
        workers = json_pack ("{s:i, s:i}", "ping_interval", 43200, "worker_timeout", 86400);
    }
    if (workers)
        json_object_set_new (fields, "workers", workers);
    return fields;
}

static void add_start_event (const struct sim_call *call)
{
    struct sim_run *run = call->run;
    struct sim_span *span = &run->spans[call->step];
    int64_t now = call->station->now;
    char why[128] = "";
    if (span->begin < 0 && !call->undo)
        span->begin = now;
    if (!call->undo && now > span->ready && span->ready >= 0 && call->item <= 0)
        snprintf (why, sizeof why, "waited %lld ms for a free slot (max_parallel)",
                  (long long)(now - span->ready));
    else if (!call->undo && call->item <= 0)
        flow_why_starts (run->flow, run->run, call->step, why, sizeof why);
    sim_add_event (run, call->step, call->item, call->undo ? "undo" : "start", why);
}

// Set the sub-flow of the call, and the run of it that the call continues or undoes. If the call
// begins a new run, the former run is no longer found.
static void set_inner_run (struct sim_call *call, const struct flow_effect *effect)
{
    const struct flow_guesses *guesses = call->run->simulation->guesses;
    struct sim_run *sub_run = sim_run_find_sub (call->run, effect->step, effect->item);
    if (!effect->call->is_flow || !guesses->find || call->run->depth >= FLOW_DEPTH_MAX)
        return;
    call->flow = guesses->find (guesses->context, effect->call->target);
    if (sub_run && effect->inner)
        call->inner = sub_run;
    else if (sub_run)
        sub_run->sub_item = -2;
}

void sim_call_begin (struct sim_run *run, const struct flow_effect *effect)
{
    struct sim_call *call = memory_new (sizeof *call);
    const struct flow_guess *guess = sim_guess_of (run, effect->step);
    struct reason reason;
    *call = (struct sim_call){.run = run,
                              .station = run->station,
                              .step = effect->step,
                              .item = effect->item,
                              .generation = effect->generation,
                              .undo = effect->undo,
                              .value = guess ? json_incref (guess->value) : NULL,
                              .input = json_incref (json_object_get (effect->frames, "json"))};
    table_add (&run->calls, &call->node, hash_of_call (call->step, call->item));
    add_start_event (call);
    set_inner_run (call, effect);
    if (call->undo && call->inner) {
        call->inner->caller = call;
        sim_run_apply (call->inner, &(struct flow_event){.kind = FLOW_UNDO, .item = -1});
        return;
    }
    call->timeout_s = json_integer_value (json_object_get (effect->call->plan, "timeout"));
    json_t *fields = call_plan_fields (call, effect->call);
    call->plan = sim_plan_new (run->station, effect->call->target, fields, call, &reason);
    json_decref (fields);
    if (!call->plan)
        schedule_call_end (call, FLOW_NOT_OK, "its plan is rejected");
}
