// Applies events to runs: flow_step processes each event, and its effects are part of the same
// batch.
#include <inttypes.h>
#include <stdlib.h>

#include "failpoint.h"
#include "flow_book.h"
#include "flow_live.h"
#include "flow_redis.h"
#include "flow_runs_private.h"
#include "memory.h"
#include "redis_keys.h"

// Maximum of follow-up events in one turn, except ends of calls, which never wait. A FLOW_CHECK
// beyond it waits for the claim of the flow plan, which becomes due at once.
enum { FOLLOW_UPS_MAX = 16 };

// Events that the effects of an event cause at once, mostly ends of calls.
struct follow_ups {
    struct flow_event *events; // their texts are owned
    size_t count, room;
};

static void follow_ups_add (struct follow_ups *follow_ups, struct flow_event event,
                            const char *text)
{
    follow_ups->events = memory_grow (follow_ups->events, follow_ups->count, &follow_ups->room,
                                      sizeof *follow_ups->events);
    event.text = text ? memory_text (text) : NULL;
    follow_ups->events[follow_ups->count++] = event;
}

static void apply_effect (struct flow_live *live, const struct flow_effect *effect,
                          struct follow_ups *follow_ups)
{
    struct flow_event end = {.kind = FLOW_CALL_ENDED,
                             .step = effect->step,
                             .item = effect->item,
                             .generation = effect->generation,
                             .undo = effect->undo};
    struct reason reason = {""};
    uint64_t id, exec_id;
    switch (effect->kind) {
    case FLOW_PLACE:
        if (!flow_call_place (live, effect, &reason)) {
            end.status = FLOW_NOT_OK;
            follow_ups_add (follow_ups, end, reason.text);
        }
        break;
    case FLOW_TIMER:
        flow_timer_place (live, effect);
        break;
    case FLOW_REMOVE_TIMER:
        flow_timer_remove (live, effect);
        break;
    case FLOW_REMOVE:
        if (flow_call_withdraw (live, effect, &id, &exec_id)) {
            end.status = FLOW_CALL_CANCELLED;
            follow_ups_add (follow_ups, end, NULL);
        } else if (exec_id) {
            flow_queue_cancel (live, id, exec_id);
            // If this owner fails before the cancel, the next owner does it: at the claim of this
            // flow plan or, if that was removed, of the sub-flow's plan.
            int64_t due_us = store_now_us (live->station->store) + CANCEL_US;
            flow_live_set_due (live, due_us);
            const struct flow_step *step = &live->flow->steps[effect->step];
            if (step->call.is_flow && !effect->undo)
                store_set_flow_due (live->station->store,
                                    span_text (flow_call_target (step, false)), id, due_us);
        }
        break;
    }
}

// Record that the run has ended, and make its flow plan due, which then ends as well.
static void record_end (struct flow_live *live)
{
    struct station *self = live->station;
    if (*live->parent)
        FAILPOINT ("flow_sub_end");
    live->ended_ms = live->updated_ms;
    flow_redis_put (self, "ZADD " KEY_FLOW_ENDED " %" PRId64 " %s", live->ended_ms / 1000,
                    live->name);
    flow_live_set_due (live, store_now_us (self->store));
}

// Record that a command has reopened an ended run, so that the sweep does not remove it.
static void record_reopening (struct flow_live *live)
{
    live->ended_ms = 0;
    flow_redis_put (live->station, "ZREM " KEY_FLOW_ENDED " %s", live->name);
}

// Whether this event never makes a call reuse a plan id.
static bool never_repeats_call (enum flow_event_kind kind)
{
    return kind == FLOW_BEGIN || kind == FLOW_CALL_ENDED || kind == FLOW_TIMER_DUE ||
           kind == FLOW_SIGNALLED || kind == FLOW_CHECK;
}

// Apply one event, and carry out its effects. False: rejected, with the reason.
static bool apply_event (struct flow_live *live, const struct flow_event *event,
                         struct follow_ups *follow_ups, struct reason *reason)
{
    struct flow_effects effects = {.count = 0};
    int64_t now_ms = store_now_us (live->station->store) / 1000;
    bool had_ended = live->run->phase == FLOW_ENDED;
    live->run->zone = flow_live_zone (live);
    live->calls_are_first = live->calls_are_first && never_repeats_call (event->kind);
    flow_step (live->flow, live->run, event, now_ms, &effects);
    bool more = effects.more, event_accepted = !effects.rejected.text[0];
    if (!event_accepted)
        *reason = effects.rejected;
    if (!event_accepted &&
        event->former) // a rejected change of the version: the run keeps its former definition
        live->flow = event->former;
    // A retry may fail at once, a skip or an undo may find nothing to do: then the run was reopened
    // and has ended in this call.
    if (event_accepted && effects.run_changed &&
        (event->kind == FLOW_RETRY || event->kind == FLOW_SKIP || event->kind == FLOW_UNDO))
        had_ended = had_ended && live->run->phase != FLOW_ENDED;
    live->station->counters.dropped_steps += effects.dropped;
    for (size_t i = 0; i < effects.count; i++)
        apply_effect (live, &effects.items[i], follow_ups);
    if (event_accepted || effects.changed_count)
        live->updated_ms = now_ms;
    live->batch = store_batch (live->station->store);
    flow_live_update_size (live);
    if (event_accepted || effects.changed_count)
        flow_live_write (live, event, &effects);
    if (had_ended && live->run->phase != FLOW_ENDED)
        record_reopening (live);
    else if (live->run->phase == FLOW_ENDED && !had_ended)
        record_end (live);
    if (event_accepted)
        flow_events_applied (live, event, &effects, had_ended);
    flow_effects_clear (&effects);
    if (more)
        follow_ups_add (follow_ups, (struct flow_event){.kind = FLOW_CHECK, .item = -1}, NULL);
    return event_accepted;
}

bool flow_live_apply (struct flow_live *live, const struct flow_event *event, struct reason *reason)
{
    struct follow_ups follow_ups = {.count = 0};
    struct reason ignored;
    bool event_accepted = apply_event (live, event, &follow_ups, reason);
    size_t at = 0, max = FAILPOINT_IS ("flow_more") ? 0 : FOLLOW_UPS_MAX;
    for (; at < follow_ups.count && at < max; at++) {
        struct flow_event next = follow_ups.events[at]; // a copy, as the list may be reallocated
        apply_event (live, &next, &follow_ups, &ignored);
    }
    // FLOW_CHECK can wait for the next claim of the flow plan, even by another owner. Ends of calls
    // cannot, as the plans of the calls are deleted.
    bool has_check = false;
    for (; at < follow_ups.count; at++) {
        struct flow_event next = follow_ups.events[at];
        has_check = has_check || next.kind == FLOW_CHECK;
        if (next.kind == FLOW_CALL_ENDED)
            apply_event (live, &next, &follow_ups, &ignored);
    }
    for (size_t i = 0; i < follow_ups.count; i++)
        free ((char *)(uintptr_t)follow_ups.events[i].text);
    free (follow_ups.events);
    if (has_check)
        flow_live_set_due (live, store_now_us (live->station->store));
    flow_events_publish (live);
    return event_accepted;
}

bool flow_runs_apply (struct station *self, uint64_t run, const struct flow_event *event,
                      struct reason *reason)
{
    struct flow_live *live = flow_live_find (self, run);
    return live && flow_live_apply (live, event, reason);
}

void flow_runs_ended (struct station *self, const struct flow_call_end *end)
{
    struct flow_live *live = flow_live_find (self, end->step.run);
    struct reason ignored;
    const struct plan_step *step = &end->step;
    bool timer = step->kind == STEP_TIMER;
    if (!live || step->step >= live->flow->step_count ||
        (timer && step->generation != flow_generation_of (live->run, step->step, step->item))) {
        self->counters.dropped_steps++;
        return;
    }
    FAILPOINT ("flow_end");
    if (end->run)
        flow_call_set_run (live, end->step.step, end->step.item, end->run);
    flow_live_apply (live,
                     &(struct flow_event){.kind = timer ? FLOW_TIMER_DUE : FLOW_CALL_ENDED,
                                          .step = end->step.step,
                                          .item = end->step.item,
                                          .generation = end->step.generation,
                                          .undo = end->step.kind == STEP_UNDO,
                                          .status = end->status,
                                          .value = end->value,
                                          .text = end->text},
                     &ignored);
}

// -- a retry with another version of the definition

// Whether the steps keep their targets, if calls are in flight: the plans of these calls stay with
// the old target.
static bool check_same_targets (const struct flow_live *live, const struct flow *flow,
                                struct reason *reason)
{
    for (uint32_t i = 0; live->run->in_flight && i < flow->step_count; i++) {
        const struct flow_step *step = &flow->steps[i];
        const char *former = i < live->flow->step_count && step->kind == FLOW_CALL
                                 ? flow_call_target (&live->flow->steps[i], false)
                                 : NULL;
        if (former && strcmp (former, flow_call_target (step, false)) != 0) {
            reason_set (reason,
                        "step %s has another target in this version: retry when no call is in "
                        "flight",
                        quoted (span_text (step->name)));
            return false;
        }
    }
    return true;
}

bool flow_live_apply_version (struct flow_live *live, const struct flow_event *event,
                              const struct flow *flow, int version, struct reason *reason)
{
    const struct flow *former = live->flow;
    int former_version = live->version;
    struct flow_event retry = *event;
    if (!check_same_targets (live, flow, reason))
        return false;
    retry.former = former;
    retry.version = version;
    live->flow = flow_book_hold (live->station, flow);
    live->version = version;
    bool accepted = flow_live_apply (live, &retry, reason);
    if (accepted) {
        flow_live_write_version (live);
    } else {
        live->flow = former;
        live->version = former_version;
    }
    flow_book_release (live->station, accepted ? former : flow);
    return accepted;
}
