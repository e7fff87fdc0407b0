#include "manage_why_flow.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "flow_live.h"
#include "flow_why.h"
#include "memory.h"
#include "reads.h"
#include "rfc3339.h"

enum { REASONS_MAX = 20, WHY_MAX = REASON_MAX + 160 };

// The reasons of a run, as they are collected.
struct run_reasons {
    const struct flow_live *live;
    json_t *reasons;
    size_t more; // reasons that did not fit into `reasons`
};

// Add a reason, or count it if there are too many. `until`: what ends it; `at_ms`: when, 0 =
// unknown.
__attribute__ ((format (printf, 4, 5))) static void add_reason (struct run_reasons *self,
                                                                const char *until, int64_t at_ms,
                                                                const char *format, ...)
{
    char when[RFC3339_SIZE], why[WHY_MAX];
    va_list arguments;
    va_start (arguments, format);
    vsnprintf (why, sizeof why, format, arguments);
    va_end (arguments);
    if (json_array_size (self->reasons) >= REASONS_MAX) {
        self->more++;
        return;
    }
    json_t *reason = json_pack ("{s:s, s:s}", "why", why, "until", until);
    if (!reason) // invalid UTF-8 where the text was cut
        reason = json_pack ("{s:s, s:s}", "why", "a reason that is no text", "until", until);
    if (at_ms > 0) {
        rfc3339_format (at_ms / 1000, when);
        json_object_set_new (reason, "at", json_string (when));
    }
    json_array_append_new (self->reasons, reason);
}

// Add the number of the reasons that did not fit.
static void add_omitted_count (struct run_reasons *self)
{
    if (self->more)
        json_array_append_new (self->reasons, json_pack ("{s:o, s:s}", "why",
                                                         json_sprintf ("and %zu more", self->more),
                                                         "until", "their end"));
}

// -- what a step is doing, as text that follows its name

// Format what the call of this step or item is doing; `item` -1: the whole step.
static void format_call (const struct flow_live *live, uint32_t index, int64_t item, char *text,
                         size_t size)
{
    char since[RFC3339_SIZE];
    bool undo = live->run->phase == FLOW_UNDOING;
    const struct flow_step *step = &live->flow->steps[index];
    const char *type = !undo && step->call.is_flow ? "flow" : "target";
    uint64_t exec_id = store_exec_id (live->station->store, flow_call_id (live, index, item));
    rfc3339_format ((int64_t)(exec_id / 1000000), since);
    if (live->run->undo_parked && undo)
        snprintf (text, size, "its undo has failed, and is parked");
    else if (!exec_id)
        snprintf (text, size, "%snot started yet (%s %s)", undo ? "its undo: " : "", type,
                  flow_call_target (step, undo));
    else
        snprintf (text, size, "%srunning since %s (%s %s)", undo ? "its undo: " : "", since, type,
                  flow_call_target (step, undo));
}

// Format what a wait or signal step waits for.
static void format_wait (const struct flow_live *live, uint32_t index, char *text, size_t size)
{
    const struct flow_step *step = &live->flow->steps[index];
    const struct flow_data *data = live->run->data[index];
    char until[RFC3339_SIZE] = "", whom[REASON_MAX] = "";
    if (data && data->at)
        rfc3339_format (data->at / 1000, until);
    if (step->kind == FLOW_SIGNAL)
        flow_why_waits (live->flow, live->run, index, whom, sizeof whom);
    snprintf (text, size, "waits%s%s%s%s", *whom ? " " : "", whom, *until ? ", until " : "", until);
}

static uint32_t items_in_flight (const struct flow_live *live, uint32_t index)
{
    const struct flow_items *items = flow_items_of (live->run, index);
    return items ? items->in_flight : 0;
}

// Format what an undecided step is doing.
static void format_step (const struct flow_live *live, uint32_t index, char *text, size_t size)
{
    const struct flow_node *node = &live->run->nodes[index];
    if (flow_call_in_flight (live, index, -1))
        format_call (live, index, -1, text, size);
    else if (items_in_flight (live, index))
        snprintf (text, size, "running, %" PRIu32 " of its items are in flight",
                  items_in_flight (live, index));
    else if (flow_step_waits (live->flow, live->run, index))
        format_wait (live, index, text, size);
    else
        snprintf (text, size,
                  node->flags & FLOW_READY ? "ready to start" : "waits for other steps");
}

// -- a run

// Add a step or item; `text`: what it is doing.
static void add_step (struct run_reasons *self, uint32_t index, int64_t item, const char *text)
{
    const struct flow_data *data = self->live->run->data[index];
    bool timer = flow_step_waits (self->live->flow, self->live->run, index);
    char name[FLOW_CALL_NAME_SIZE];
    flow_call_name (self->live->flow, index, item, name);
    add_reason (self,
                timer ? "its time, or a signal"
                : self->live->run->undo_parked
                    ? "done, when that was undone manually, or reset, of its plan"
                    : "its end",
                timer && data ? data->at : 0, "%s%s %s", name, timer ? "" : ":", text);
}

// Add the items in flight of the step.
static void add_items_in_flight (struct run_reasons *self, uint32_t index)
{
    const struct flow_data *data = self->live->run->data[index];
    uint32_t left = items_in_flight (self->live, index);
    char text[WHY_MAX];
    for (uint32_t i = 0; left && i < data->items->count; i++) {
        if (!flow_call_in_flight (self->live, index, i))
            continue;
        left--;
        format_call (self->live, index, i, text, sizeof text);
        add_step (self, index, i, text);
    }
}

// Add the steps in flight of the run.
static void add_steps (struct run_reasons *self)
{
    const struct flow_live *live = self->live;
    const struct flow_run *run = live->run;
    const struct flow_undo *undo = flow_current_undo (run);
    char text[WHY_MAX];
    if (run->suspended)
        add_reason (self, "flow resume", 0,
                    "the run is suspended: what is in flight goes on, nothing else starts");
    if (undo) {
        format_call (live, undo->step, undo->item, text, sizeof text);
        add_step (self, undo->step, undo->item, text);
        return;
    }
    for (uint32_t i = 0; i < live->flow->step_count; i++) {
        if (flow_call_in_flight (live, i, -1) || flow_step_waits (live->flow, live->run, i)) {
            format_step (live, i, text, sizeof text);
            add_step (self, i, -1, text);
        } else if (items_in_flight (live, i)) {
            add_items_in_flight (self, i);
        }
    }
    if (live->timeout_ms && json_array_size (self->reasons))
        add_reason (self, "its timeout", live->timeout_ms, "the run has a timeout");
    if (!json_array_size (self->reasons))
        add_reason (self, "at once", 0,
                    run->phase == FLOW_ENDED ? "its run has ended" : "its run goes on");
}

struct run_reply {
    struct station *station;
    struct peer *peer;
    uint64_t plan_id, run;
    json_t *object;
};

static void on_run (void *owner, bool found, const char *damage)
{
    struct run_reply *self = owner;
    struct station *station = self->station;
    struct run_reasons answer = {.live = flow_live_find (station, self->run),
                                 .reasons = json_object_get (self->object, "reasons")};
    char run[IDENT_SIZE];
    struct reason why = {"its run is gone"};
    if (damage)
        reason_set (&why, "its run is damaged: %s", damage);
    if (answer.live)
        add_steps (&answer);
    else
        add_reason (&answer, "the next check of the run", 0, "%s",
                    found ? "its run could not be read" : why.text);
    add_omitted_count (&answer);
    if (!json_object_get (self->object, "run"))
        json_object_set_new (self->object, "run", json_string (ident_text (self->run, run)));
    manage_reply_json (station, self->peer, self->plan_id, self->object);
    free (self);
    station_resume (station);
}

void why_reply_run (struct station *self, struct peer *peer, uint64_t plan_id, uint64_t run,
                    json_t *object)
{
    struct run_reply *reply = memory_new (sizeof *reply);
    *reply = (struct run_reply){
        .station = self, .peer = peer, .plan_id = plan_id, .run = run, .object = object};
    flow_runs_load (self, run, on_run, reply);
}

// -- a step that is decided, or cannot start

// Add that a step or item is decided. `by`: who skipped it.
static void add_decided_reason (struct run_reasons *self, enum flow_state state, const char *by,
                                const char *error)
{
    bool skipped = state == FLOW_SKIPPED, well = skipped || state == FLOW_FINISHED;
    add_reason (self, well ? "flow retry repeats it" : "flow retry, or flow skip", 0,
                "it %s %s%s%s%s", skipped || state == FLOW_CANCELLED ? "was" : "has",
                flow_state_name (state), skipped ? by : "", error ? ": " : "", error ? error : "");
}

static void add_decided_step (struct run_reasons *self, uint32_t index)
{
    const struct flow_node *node = &self->live->run->nodes[index];
    const struct flow_data *data = self->live->run->data[index];
    const char *by = node->flags & FLOW_BY_PERSON ? " by an operator" : " by rule";
    add_decided_reason (self, node->state, by,
                        data && node->state != FLOW_FINISHED ? data->error : NULL);
}

static void add_blocked_reason (struct run_reasons *self, uint32_t index)
{
    char cause[REASON_MAX];
    flow_why_blocked (self->live->flow, self->live->run, index, cause, sizeof cause);
    add_reason (self, "flow retry of that, or flow skip", 0, "blocked: %s", cause);
}

// Add the undecided steps that this one waits for.
static void add_awaited_steps (struct run_reasons *self, uint32_t index)
{
    const struct flow_live *live = self->live;
    const struct flow_step *step = &live->flow->steps[index];
    char text[WHY_MAX - 128];
    for (uint32_t i = 0; i < step->in_count; i++) {
        uint32_t source = live->flow->in[step->in_first + i].step;
        const struct flow_node *node = &live->run->nodes[source];
        if (node->state >= FLOW_FINISHED || node->flags & FLOW_BLOCKED)
            continue;
        format_step (live, source, text, sizeof text);
        add_reason (self, "its end", 0, "%s waits for %s: %s", step->name,
                    live->flow->steps[source].name, text);
    }
    if (live->flow->final == (int64_t)index)
        add_reason (self, "all others are decided and undone", 0, "it runs last (finally)");
}

// Add what delays the start of a step that is ready, or of its next item.
static void add_start_delay (struct run_reasons *self, uint32_t index)
{
    const struct flow_live *live = self->live;
    const struct flow_run *run = live->run;
    const struct flow_step *step = &live->flow->steps[index];
    const struct flow_items *items = flow_items_of (run, index);
    bool left = items && items->next < items->count;
    if (left && step->parallel && items->in_flight >= step->parallel)
        add_reason (self, "one of them ends", 0,
                    "%" PRIu32 " items are in flight, max_parallel of %s is %" PRIu32,
                    items->in_flight, step->name, step->parallel);
    else if (run->parallel && run->in_flight >= run->parallel)
        add_reason (self, "one of them ends", 0,
                    "%" PRIu32 " steps are in flight, max_parallel is %" PRIu32, run->in_flight,
                    run->parallel);
    else if (!(items && items->in_flight) && !run->suspended)
        add_reason (self, "at once", 0, "it is ready to start");
}

static void add_undecided_reasons (struct run_reasons *self, uint32_t index)
{
    const struct flow_live *live = self->live;
    const struct flow_node *node = &live->run->nodes[index];
    char text[WHY_MAX];
    if (live->run->suspended)
        add_reason (self, "flow resume", 0, "the run is suspended");
    if (node->flags & FLOW_STOPPING)
        add_reason (self, "its end", 0, "it is being cancelled");
    if (flow_step_waits (live->flow, live->run, index)) {
        format_wait (live, index, text, sizeof text);
        add_reason (self, live->flow->steps[index].kind == FLOW_WAIT ? "its time" : "a signal",
                    live->run->data[index] ? live->run->data[index]->at : 0, "%s", text);
    } else if (node->flags & FLOW_READY || items_in_flight (live, index)) {
        add_start_delay (self, index);
    } else {
        add_awaited_steps (self, index);
    }
    if (items_in_flight (live, index))
        add_items_in_flight (self, index);
    if (!json_array_size (self->reasons))
        add_reason (self, live->run->phase == FLOW_ENDED ? "flow retry" : "at once", 0,
                    live->run->phase == FLOW_ENDED ? "its run has ended" : "its run goes on");
}

// Add why a step is not in flight, or what its items are doing.
static void add_step_reasons (struct run_reasons *self, uint32_t index)
{
    const struct flow_node *node = &self->live->run->nodes[index];
    if (node->flags & FLOW_BLOCKED)
        add_blocked_reason (self, index);
    else if (node->state >= FLOW_FINISHED)
        add_decided_step (self, index);
    else
        add_undecided_reasons (self, index);
}

// Add why an item is not in flight. If it has not started, the reasons are those of its step.
static void add_item (struct run_reasons *self, uint32_t index, int64_t number)
{
    const struct flow_item *item = &self->live->run->data[index]->items->item[number];
    if (item->state != FLOW_NONE) {
        add_decided_reason (self, item->state, " by an operator", item->error);
        return;
    }
    add_reason (self, "its turn", 0, "it has not started");
    add_step_reasons (self, index);
}

// -- why RUN/STEP

struct step_why {
    struct station *station;
    struct peer *peer;
    struct step_name name;
    uint64_t plan_id;
    json_t *object; // the reply about the step, owned
    why_plan_fn *describe_plan;
};

static void step_why_end (struct step_why *self)
{
    struct station *station = self->station;
    json_decref (self->object);
    free (self);
    station_resume (station);
}

static void reply_step (struct step_why *self)
{
    manage_reply_json (self->station, self->peer, self->plan_id, json_incref (self->object));
    step_why_end (self);
}

// Append the reasons of the step's plan to its own.
static void on_plan (void *owner, const struct store_loaded *answer)
{
    struct step_why *self = owner;
    struct reason reason = {""};
    uint64_t run = 0;
    json_t *reasons = json_object_get (self->object, "reasons");
    json_t *plan = NULL;
    if (answer->result == STORE_DONE)
        plan = self->describe_plan (self->station, self->plan_id, answer, &run, &reason);
    if (answer->result == STORE_NONE) {
        add_reason (&(struct run_reasons){.reasons = reasons}, "the next check of the run", 0,
                    "its plan is gone");
        reply_step (self);
    } else if (answer->result != STORE_DONE) {
        reply_refuse_store (self->station, self->peer, answer->result, answer->error);
        step_why_end (self);
    } else if (!plan) {
        reply_refuse (self->station, self->peer, ZPLAN_EARGUMENT, reason.text);
        step_why_end (self);
    } else {
        json_array_extend (reasons, json_object_get (plan, "reasons"));
        json_object_update_missing (self->object, plan);
        json_decref (plan);
        if (!run) {
            reply_step (self);
            return;
        }
        why_reply_run (self->station, self->peer, self->plan_id, run, json_incref (self->object));
        step_why_end (self);
    }
}

// Add that an undo has failed and is parked. `item`: the parked item, if the request names the
// whole step; else -1.
static void add_parked_reason (struct run_reasons *self, int64_t item)
{
    char until[64];
    snprintf (until, sizeof until, "reset, or done, of item %" PRId64, item);
    if (item >= 0)
        add_reason (self, until, 0, "the undo of item %" PRId64 " has failed, and is parked", item);
    else
        add_reason (self, "reset, or done", 0, "its undo has failed, and is parked");
}

static void on_step (void *owner, struct flow_live *live, uint32_t index)
{
    struct step_why *self = owner;
    if (!live) {
        step_why_end (self);
        return;
    }
    const struct flow_node *node = &live->run->nodes[index];
    int64_t item = self->name.item;
    const struct flow_undo *parked = flow_undo_parked (live->run);
    struct run_reasons answer = {.live = live, .reasons = json_array ()};
    self->object = json_pack ("{s:s, s:s, s:s, s:s, s:o}", "run", live->name, "flow",
                              live->flow_name, "step", self->name.step, "step_state",
                              flow_live_step_state (live, index, item), "reasons", answer.reasons);
    if (item >= 0)
        json_object_set_new (self->object, "item", json_integer (item));
    if (parked && parked->step == index && (item < 0 || parked->item == item)) {
        add_parked_reason (&answer, item < 0 ? parked->item : -1);
        reply_step (self);
        return;
    }
    if (flow_call_in_flight (live, index, item)) {
        if (node->flags & FLOW_STOPPING)
            add_reason (&answer, "its end", 0, "it is being cancelled");
        self->plan_id = flow_call_id (live, index, item);
        reads_load_place (self->station, self->peer, self->plan_id, on_plan, self);
        return;
    }
    if (item >= 0)
        add_item (&answer, index, item);
    else
        add_step_reasons (&answer, index);
    add_omitted_count (&answer);
    reply_step (self);
}

void why_step (struct station *self, struct request *request, const struct step_name *name,
               why_plan_fn *describe_plan)
{
    struct step_why *why = memory_new (sizeof *why);
    *why = (struct step_why){.station = self,
                             .peer = peer_keep (self, request),
                             .name = *name,
                             .describe_plan = describe_plan};
    step_find (self, why->peer, "why", name, on_step, why);
}
