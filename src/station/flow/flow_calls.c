// Calls of steps as plans of the station: places and withdraws them. The plan id is a digest of
// run, step, item and generation, so that it need not be stored.
#include <stdlib.h>

#include "codes.h"
#include "decimal.h"
#include "failpoint.h"
#include "flow_defaults.h"
#include "flow_runs_private.h"
#include "json.h"
#include "log.h"
#include "memory.h"
#include "plan_message.h"
#include "sha1.h"
#include "zones.h"

// What the plan is for: a call, its undo, or the timer of its total_timeout. The timer of a wait or
// signal step counts as PART_CALL.
enum part { PART_CALL, PART_UNDO, PART_TIMER };

static uint64_t id_of_call (uint64_t run, uint32_t step, int64_t item, unsigned generation,
                            enum part part)
{
    const int64_t numbers[] = {step, item, generation, part};
    char text[IDENT_SIZE + 5 * DECIMAL_SIZE] = "flow ";
    uint8_t sum[SHA1_SIZE];
    uint64_t id = 0;
    size_t size = strlen (text);
    size += strlen (ident_text (run, text + size));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        text[size++] = ' ';
        size += decimal_text (numbers[i], text + size);
    }
    sha1_sum (&(struct span){(const uint8_t *)text, size}, 1, sum);
    for (size_t i = 0; i < sizeof id; i++)
        id |= (uint64_t)sum[i] << 8 * i;
    id &= INT64_MAX;
    return id ? id : 1;
}

// -- the plan of a call

// Make the PLAN frame of a plan that runs once, at once.
static json_t *plan_frame_once (const char *description)
{
    return json_pack ("{s:s, s:i, s:i}", "description", description, "plan_type", SCHEDULE_NONE,
                      "plan_repet", 1);
}

static json_t *call_plan_frame (const struct flow_live *live, const struct flow_effect *effect)
{
    static const char *const inherited[] = {"tenant", "creator", "category", "priority", "group"};
    const struct flow_step *step = &live->flow->steps[effect->step];
    const struct flow_call *call = effect->call;
    char text[2 * STATION_NAME_MAX + 2];
    snprintf (text, sizeof text, "%s/%s", live->flow->name, step->name);
    json_t *frame = plan_frame_once (call->title ? call->title : text);
    if (call->plan)
        json_object_update (frame, call->plan);
    json_t *retry = flow_defaults_retry (json_object_get (live->inherit, "defaults"));
    if (retry && !effect->undo && !json_object_get (frame, "retry"))
        json_object_set (frame, "retry", retry);
    json_decref (retry);
    for (size_t i = 0; i < sizeof inherited / sizeof *inherited; i++)
        if (!json_object_get (frame, inherited[i])) // what the flow plan does not have is not set
            json_object_set (frame, inherited[i], json_object_get (live->inherit, inherited[i]));
    if (effect->undo && !json_object_get (frame, "retry"))
        json_object_set_new (
            frame, "retry",
            json_pack ("{s:s, s:i, s:i}", "strategy", "exponential", "interval", 1, "max", 10));
    if (call->total_timeout_s && effect->undo) // an undo has no timer for its total_timeout
        json_object_set_new (frame, "end_time",
                             json_integer (station_now (live->station) + call->total_timeout_s));
    return frame;
}

// The text of an evaluated frame: a string itself, other values as JSON in `allocated`, which the
// caller frees.
static struct span evaluated_frame_text (const json_t *value, char **allocated)
{
    if (json_is_string (value))
        return span_of (json_string_value (value), json_string_length (value));
    *allocated = json_dumps (value, JSON_ENCODE_ANY | JSON_COMPACT);
    return span_text (*allocated ? *allocated : "");
}

// The frames of a call, in the form that its target expects.
struct call_frames {
    struct message message;
    char *plan, *json;
    char *allocated[DESC_FRAMES_MAX];
    size_t allocated_count;
    uint8_t desc[DESC_SIZE_MAX];
    struct span spans[MESSAGE_FRAMES_MAX];
};

static void add_text (struct call_frames *self, uint8_t type, const json_t *value)
{
    char *allocated = NULL;
    message_add (&self->message, type, evaluated_frame_text (value, &allocated));
    if (allocated)
        self->allocated[self->allocated_count++] = allocated;
}

static void make_call_frames (struct call_frames *self, const struct flow_live *live,
                              const struct flow_effect *effect, struct span station,
                              const json_t *fields)
{
    const struct target *target = station_target (live->station, station);
    bool publishes = target && target_type (target) == TARGET_PUB;
    const json_t *frames = effect ? effect->frames : NULL, *value, *arg;
    size_t index;
    *self = (struct call_frames){.plan = json_write (fields)};
    struct message *message = &self->message;
    message_start (message, ZERO_BYTE_COMMAND_PLAN);
    message_add (message, ZERO_FRAME_PLAN, span_text (self->plan));
    message_add (message, ZERO_FRAME_STATION_ID, station);
    if (!(value = json_object_get (frames, "command")))
        value = json_object_get (fields, "description"); // also the title at a pub target
    add_text (self, publishes ? ZERO_FRAME_PUB_TITLE : ZERO_FRAME_COMMAND, value);
    enum { OTHERS = 8 }; // frames that are not arguments: those above and below
    json_array_foreach (json_object_get (frames, "args"), index, arg)
    {
        if (index < DESC_FRAMES_MAX - OTHERS)
            add_text (self, ZERO_FRAME_ARG, arg);
    }
    if ((value = json_object_get (frames, "json"))) {
        self->json = json_write (value);
        message_add (message, ZERO_FRAME_JSON, span_text (self->json));
    }
    if ((value = json_object_get (frames, "text")))
        add_text (self, ZERO_FRAME_CONTENT, value);
    message_layout (message, self->desc, self->spans);
    message->desc_bytes = self->spans[0];
}

static enum part part_of_plan_step (const struct flow_live *live, const struct plan_step *step)
{
    bool calls = live->flow->steps[step->step].kind == FLOW_CALL;
    return step->kind == STEP_UNDO             ? PART_UNDO
           : step->kind == STEP_TIMER && calls ? PART_TIMER
                                               : PART_CALL;
}

// Make the plan of a call or timer; `step` NULL: a flow plan. NULL: rejected, with the reason.
static struct plan *make_call_plan (const struct flow_live *live, const struct flow_effect *effect,
                                    const struct plan_step *step, struct span station,
                                    json_t *fields, struct reason *reason)
{
    struct station *self = live->station;
    struct plan_fields read;
    struct call_frames frames;
    struct misses misses;
    char text[PLAN_STEP_SIZE];
    if (plan_frame_read (fields, &self->settings->limits.plan, &read, reason))
        return NULL;
    if (step)
        read.step = span_of (text, plan_step_text (step, text));
    const struct target *target = station_target (self, station);
    if (target && target_type (target) == TARGET_VOTE && read.vote.need == VOTE_NONE)
        read.vote.need = VOTE_ALL;
    make_call_frames (&frames, live, effect, station, fields);
    uint64_t id = !step ? station_new_id (self)
                        : id_of_call (step->run, step->step, step->item, step->generation,
                                      part_of_plan_step (live, step));
    struct plan *plan =
        plan_new_submitted (id, &frames.message, span_text (live->caller ? live->caller : ""),
                            &read, station_now (self));
    plan->revision = station_revision ();
    if (engine_submit (plan, zones_of (self, plan), station_now (self), &misses, reason))
        plan_destroy (&plan);
    for (size_t i = 0; i < frames.allocated_count; i++)
        free (frames.allocated[i]);
    free (frames.plan);
    free (frames.json);
    plan_fields_clear (&read);
    return plan;
}

static struct plan_step plan_step_of_effect (const struct flow_live *live,
                                             const struct flow_effect *effect)
{
    const struct flow_run *run = live->run;
    bool flow = effect->call && effect->call->is_flow;
    return (struct plan_step){.run = live->id,
                              .step = effect->step,
                              .item = effect->item,
                              .generation = effect->generation,
                              .kind = effect->undo ? STEP_UNDO
                                      : flow       ? STEP_FLOW
                                                   : STEP_CALL,
                              .version = live->version,
                              .flow = span_text (live->flow->name),
                              .name = span_text (live->flow->steps[effect->step].name),
                              .fire = run->fire,
                              .created = run->created,
                              .batch = run->batch,
                              .depth = live->depth + 1};
}

// Store the plan of a call. A repeated call reuses its plan id: the store may have data of the
// former plan.
static void store_call_plan (const struct flow_live *live, const struct plan *plan)
{
    bool first = live->calls_are_first && live->run->phase != FLOW_UNDOING;
    store_submit_internal (live->station->store, plan, first ? STORE_ID_FIRST : STORE_ID_AGAIN);
}

bool flow_call_place (struct flow_live *live, const struct flow_effect *effect,
                      struct reason *reason)
{
    struct plan_step step = plan_step_of_effect (live, effect);
    uint64_t inner = effect->inner ? flow_call_run (live, effect->step, effect->item) : 0;
    json_t *fields = call_plan_frame (live, effect);
    struct plan *plan =
        make_call_plan (live, effect, &step, span_text (effect->call->target), fields, reason);
    json_decref (fields);
    if (!plan)
        return false;
    if (inner) { // the plan continues the former run of the sub-flow, or undoes it
        plan->flow_run = inner;
        plan->state = PLAN_RETRY;
    }
    store_call_plan (live, plan);
    flow_events_plan_placed (live, plan);
    plan_destroy (&plan);
    FAILPOINT ("flow_placed");
    return true;
}

// Place a timer: a plan whose target is the flow itself. The timer expires when the plan is
// claimed.
void flow_timer_place (struct flow_live *live, const struct flow_effect *effect)
{
    struct plan_step step = plan_step_of_effect (live, effect);
    struct reason reason;
    step.kind = STEP_TIMER;
    json_t *fields =
        json_pack ("{s:s, s:s, s:I, s:s}", "description", "flow timer", "plan_type", "time",
                   "plan_time", (json_int_t)((effect->at + 999) / 1000), "misfire", "all");
    struct plan *plan =
        make_call_plan (live, effect, &step, span_text (live->flow_name), fields, &reason);
    json_decref (fields);
    if (plan)
        store_call_plan (live, plan);
    else
        log_event (LEVEL_ERROR, "flow.timer", "run=%s error=\"%s\"", live->name, reason.text);
    plan_destroy (&plan);
}

// Remove the plan of a timer, even if it was claimed; flow_fire.c handles that case.
void flow_timer_remove (struct flow_live *live, const struct flow_effect *effect)
{
    struct plan_step step = plan_step_of_effect (live, effect);
    step.kind = STEP_TIMER;
    store_delete_plan (live->station->store, span_text (live->flow_name),
                       id_of_call (live->id, step.step, step.item, step.generation,
                                   part_of_plan_step (live, &step)),
                       span_text (live->caller ? live->caller : ""));
}

uint64_t flow_timer_call (const struct plan_step *step)
{
    return id_of_call (step->run, step->step, step->item, step->generation, PART_CALL);
}

// Place a flow plan that runs once, if the run continues after its own flow plan has ended.
void flow_live_reopen (struct flow_live *live)
{
    struct reason reason;
    uint64_t exec_id = store_exec_id (live->station->store, live->plan_id);
    if (exec_id && (!live->exec_id || exec_id == live->exec_id)) {
        flow_live_set_due (
            live,
            flow_live_next_us (live)); // the run's own flow plan is still in progress
        return;
    }
    json_t *fields = plan_frame_once (live->flow_name);
    struct plan *plan =
        make_call_plan (live, NULL, NULL, span_text (live->flow_name), fields, &reason);
    json_decref (fields);
    if (!plan)
        return;
    plan->flow_run = live->id;
    plan->state = PLAN_RETRY;
    store_submit_internal (live->station->store, plan, STORE_ID_MADE);
    flow_live_await_plan (live, plan->id);
    flow_events_plan_placed (live, plan);
    flow_events_publish (live);
    plan_destroy (&plan);
}

// -- withdrawing calls

uint64_t flow_call_id (const struct flow_live *live, uint32_t step, int64_t item)
{
    bool undo = live->run->phase == FLOW_UNDOING;
    return id_of_call (live->id, step, item, flow_generation_of (live->run, step, item),
                       undo ? PART_UNDO : PART_CALL);
}

// Whether the call of a step or item is in flight, not its undo.
static bool call_is_placed (const struct flow_run *run, uint32_t step, int64_t item)
{
    const struct flow_item *found = flow_item_of (run, step, item);
    return item < 0 ? run->nodes[step].flags & FLOW_PLACED : found && found->state == FLOW_NEW;
}

bool flow_call_in_flight (const struct flow_live *live, uint32_t step, int64_t item)
{
    const struct flow_run *run = live->run;
    if (run->phase == FLOW_UNDOING) {
        const struct flow_undo *undo = flow_current_undo (run);
        return undo && undo->step == step && undo->item == item &&
               (run->in_flight || run->undo_parked);
    }
    return live->flow->steps[step].kind == FLOW_CALL && call_is_placed (run, step, item);
}

const char *flow_call_target (const struct flow_step *step, bool undo)
{
    return undo && !step->undo_inner ? step->undo.target : step->call.target;
}

bool flow_undo_is_parked (const struct flow_live *live, uint32_t step, int64_t item)
{
    const struct flow_undo *parked = flow_undo_parked (live->run);
    return parked && parked->step == step && parked->item == item;
}

bool flow_call_withdraw (struct flow_live *live, const struct flow_effect *effect, uint64_t *ret_id,
                         uint64_t *ret_exec_id)
{
    struct station *self = live->station;
    uint64_t id = *ret_id = id_of_call (live->id, effect->step, effect->item, effect->generation,
                                        effect->undo ? PART_UNDO : PART_CALL);
    const char *target = flow_call_target (&live->flow->steps[effect->step], effect->undo);
    *ret_exec_id = store_exec_id (self->store, id);
    if (*ret_exec_id)
        return false;
    store_delete_plan (self->store, span_text (target), id,
                       span_text (live->caller ? live->caller : ""));
    flow_events_plan_deleted (live, span_text (target), id);
    return true;
}

// -- checks of calls in flight against the store

struct call_check {
    struct station *station;
    struct plan_step step;
    uint64_t plan_id;
    bool stopping;
};

// Whether the checked call is still in flight: it may have ended meanwhile, and have been replaced
// by a new call or an undo.
static bool is_current_call (const struct flow_live *live, const struct call_check *check)
{
    const struct plan_step *step = &check->step;
    if (flow_call_id (live, step->step, step->item) != check->plan_id)
        return false;
    if (live->run->phase == FLOW_UNDOING)
        return flow_call_in_flight (live, step->step, step->item) && live->run->in_flight;
    return call_is_placed (live->run, step->step, step->item);
}

static void on_plan_existence (void *owner, const struct store_loaded *answer)
{
    struct call_check *self = owner;
    struct flow_live *live = flow_live_find (self->station, self->step.run);
    struct reason ignored;
    bool current = live && self->step.step < live->flow->step_count && is_current_call (live, self);
    bool lost =
        answer->result == STORE_NONE && !store_is_submitting (self->station->store, self->plan_id);
    uint64_t id, exec_id;
    if (current && !lost && answer->result == STORE_DONE && self->stopping)
        lost = flow_call_withdraw (live,
                                   &(struct flow_effect){.step = self->step.step,
                                                         .item = self->step.item,
                                                         .generation = self->step.generation},
                                   &id, &exec_id);
    if (current && lost)
        flow_live_apply (
            live,
            &(struct flow_event){.kind = FLOW_CALL_ENDED,
                                 .step = self->step.step,
                                 .item = self->step.item,
                                 .generation = self->step.generation,
                                 .undo = live->run->phase == FLOW_UNDOING,
                                 .status = self->stopping ? FLOW_CALL_CANCELLED : FLOW_NOT_OK,
                                 .text = "its plan was lost"},
            &ignored);
    struct station *station = self->station;
    free (self);
    station_resume (station);
}

static void check_call_plan (struct flow_live *live, uint32_t step, int64_t item, bool stopping)
{
    struct station *self = live->station;
    uint64_t id = flow_call_id (live, step, item);
    uint64_t exec_id = store_exec_id (self->store, id);
    if (stopping) // check once more later, until the call has ended
        flow_live_set_due (live, store_now_us (self->store) + CANCEL_US);
    if (exec_id) {
        if (stopping)
            flow_queue_cancel (live, id, exec_id);
        return;
    }
    struct call_check *check = memory_new (sizeof *check);
    *check = (struct call_check){.station = self,
                                 .plan_id = id,
                                 .step = {.run = live->id,
                                          .step = step,
                                          .item = item,
                                          .generation = flow_generation_of (live->run, step, item)},
                                 .stopping = stopping};
    const char *target =
        flow_call_target (&live->flow->steps[step], live->run->phase == FLOW_UNDOING);
    store_exists (self->store, id, span_text (target), on_plan_existence, check);
}

bool flow_call_check (struct flow_live *live, uint32_t step, int64_t item)
{
    const struct flow_item *found = flow_item_of (live->run, step, item);
    bool placed = call_is_placed (live->run, step, item);
    if (placed)
        check_call_plan (live, step, item,
                         found ? found->stopping : live->run->nodes[step].flags & FLOW_STOPPING);
    return placed;
}

// End a wait that is long overdue: the plan of its timer was deleted.
static void end_overdue_wait (struct flow_live *live, uint32_t step)
{
    enum { LATE_MS = 5000 };
    const struct flow_data *data = live->run->data[step];
    int64_t now_ms = store_now_us (live->station->store) / 1000;
    struct reason ignored;
    if (data && data->at && now_ms > data->at + LATE_MS)
        flow_live_apply (
            live, &(struct flow_event){.kind = FLOW_TIMER_DUE, .step = step, .item = -1}, &ignored);
}

void flow_calls_check (struct flow_live *live)
{
    enum { CHECKS_MAX = 1000 };
    size_t checks = 0;
    const struct flow_undo *undo = live->run->in_flight ? flow_current_undo (live->run) : NULL;
    if (undo)
        check_call_plan (live, undo->step, undo->item, false);
    for (uint32_t i = 0; i < live->flow->step_count && checks < CHECKS_MAX; i++) {
        const struct flow_items *items = flow_items_of (live->run, i);
        if (flow_step_waits (live->flow, live->run, i))
            end_overdue_wait (live, i);
        if (live->flow->steps[i].kind != FLOW_CALL)
            continue;
        checks += flow_call_check (live, i, -1);
        for (uint32_t k = 0; items && items->in_flight && k < items->count && checks < CHECKS_MAX;
             k++)
            checks += flow_call_check (live, i, k);
    }
}
