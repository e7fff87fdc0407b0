// flow: subcommands that change runs. Each applies an event to a run, and replies when the result
// is written. proto/flows.md 18.9.
#include <limits.h>

#include "arguments.h"
#include "flow_book.h"
#include "flow_live.h"
#include "log.h"
#include "manage_flow_command.h"
#include "manage_flow_step.h"
#include "management.h"
#include "permit.h"
#include "plan_json.h"

// Log who did what, and why.
static void log_command (const struct run_command *self, const struct flow_live *live)
{
    static const char *const names[] = {
        [FLOW_SIGNALLED] = "signal", [FLOW_REJECTED] = "reject", [FLOW_SKIP] = "skip",
        [FLOW_RETRY] = "retry",      [FLOW_SUSPEND] = "suspend", [FLOW_RESUME] = "resume",
        [FLOW_CANCEL] = "cancel"};
    log_event (LEVEL_INFO, "flow.command", "run=%s flow=%s command=%s step=%s by=%s reason=%s",
               live->name, live->flow_name, names[self->event.kind],
               quoted (span_text (self->step)), quoted (span_text (self->key)),
               quoted (span_text (self->text)));
}

static void on_written (void *owner, enum store_result result, const char *error)
{
    struct run_command *self = owner;
    struct flow_live *live = flow_live_find (self->station, self->run);
    if (result == STORE_DONE && live) {
        log_command (self, live);
        run_command_reply (self, flow_run_json (live));
        return;
    }
    reply_refuse_store (self->station, self->peer, result == STORE_DONE ? STORE_LOST : result,
                        error);
    run_command_end (self);
}

// Find STEP or STEP.ITEM. False: not found, with the reason.
static bool find_step (struct run_command *self, const struct flow_live *live,
                       struct reason *reason)
{
    struct span name;
    int64_t item;
    if (!step_item_parse (span_text (self->step), &name, &item))
        return reason_reject (reason, "flow: want STEP or STEP.ITEM, got %s",
                              quoted (span_text (self->step)));
    const json_t *step = json_object_getn (live->flow->names, (const char *)name.data, name.size);
    if (!step)
        return reason_reject (reason, "flow: %s has no step %s", live->flow_name, quoted (name));
    self->event.step = (uint32_t)json_integer_value (step);
    self->event.item = item;
    return true;
}

// Whether the step may be skipped now. False while its call is running, with self->reason: the call
// may need an undo, so it must be cancelled first.
static bool may_skip (struct run_command *self, const struct flow_live *live)
{
    uint32_t step = self->event.step;
    int64_t item = self->event.item;
    bool runs = live->run->phase != FLOW_UNDOING && flow_call_in_flight (live, step, item) &&
                store_exec_id (self->station->store, flow_call_id (live, step, item));
    if (runs)
        reason_set (&self->reason, "flow: %s is running: cancel it first", self->step);
    return !runs;
}

// Apply the event. False: it was rejected, with self->reason.
static bool apply_event (struct run_command *self, struct flow_live *live)
{
    struct reason reason = {""};
    if (flow_command_has_step (self->event.kind) && !find_step (self, live, &self->reason))
        return false;
    if (self->event.kind == FLOW_SKIP && !may_skip (self, live))
        return false;
    self->was_finished = live->run->phase == FLOW_ENDED && live->run->outcome == FLOW_WELL;
    self->event.value = self->value;
    self->event.steps = self->steps;
    self->event.params = json_object_get (live->inherit, "params");
    self->event.text = *self->text ? self->text : NULL;
    bool signals = self->event.kind == FLOW_SIGNALLED || self->event.kind == FLOW_REJECTED;
    self->event.key = *self->key || !signals ? self->key : NULL;
    self->event_applied = self->flow ? flow_live_apply_version (live, &self->event, self->flow,
                                                                self->version, &reason)
                                     : flow_live_apply (live, &self->event, &reason);
    if (!self->event_applied)
        reason_set (&self->reason, "flow: %s", reason.text);
    return self->event_applied;
}

// Apply the event, unless it was applied, and reply when it is written. The flow plan is not
// changed.
static void apply_without_plan (struct run_command *self)
{
    struct flow_live *live = flow_live_find (self->station, self->run);
    if (!live) {
        run_command_refuse (self, ZPLAN_ENET, "Redis was lost meanwhile");
        return;
    }
    bool had_ended = live->run->phase == FLOW_ENDED || self->event_applied;
    if (!self->event_applied && !apply_event (self, live)) {
        run_command_refuse (self, ZPLAN_EARGUMENT, "%s", self->reason.text);
        return;
    }
    // A skip can finish a failed run at once.
    bool finished_now = live->run->outcome == FLOW_WELL && !self->was_finished;
    if (had_ended && (live->run->phase != FLOW_ENDED || finished_now))
        flow_live_reopen (live);
    store_call_when_written (self->station->store, on_written, self);
}

// -- an ended run, which continues in its flow plan if that is parked or waits for a retry

static void apply_or_reopen (struct run_command *self, struct flow_live *live);

// Called when the changed flow plan is being written: apply the event in the same batch. False: the
// plan must not be written.
static bool apply_with_plan (void *owner)
{
    struct run_command *self = owner;
    struct flow_live *live = flow_live_find (self->station, self->run);
    if (!live || live->run->phase != FLOW_ENDED || !apply_event (self, live))
        return false;
    if (live->run->phase == FLOW_ENDED && live->run->outcome != FLOW_WELL)
        return false; // it has failed again: leave its flow plan unchanged
    flow_live_await_plan (live, live->plan_id);
    return true;
}

static void on_plan_changed (void *owner, enum store_result result, const char *error)
{
    struct run_command *self = owner;
    struct flow_live *live = flow_live_find (self->station, self->run);
    if (result == STORE_CHANGED && live && !self->event_applied)
        apply_or_reopen (self, live);
    else if (result == STORE_NONE || result == STORE_CHANGED)
        apply_without_plan (self);
    else
        on_written (self, result, error);
}

static void on_flow_plan (void *owner, const struct store_loaded *answer)
{
    struct run_command *self = owner;
    struct reason reason;
    uint64_t id = 0;
    enum requeue queue;
    struct flow_live *live = flow_live_find (self->station, self->run);
    if (live)
        id = live->plan_id;
    bool may_continue = id && answer->result == STORE_DONE && !answer->running;
    struct plan *plan = may_continue ? plan_from_stored_json (id, answer->message, &reason) : NULL;
    const struct manage_request reset = {
        .command = MANAGE_AT_ONCE, .zone = self->station->zone, .now = station_now (self->station)};
    bool waits = plan && (plan->state == PLAN_ERROR || plan->state == PLAN_RETRY);
    bool parked = waits && plan->flow_run == self->run &&
                  engine_handle_command (plan, &reset, &queue, &reason) == 0;
    if (parked) {
        int64_t revision = plan->revision;
        plan->revision = station_revision ();
        plan->state = PLAN_RETRY; // a retry that continues that run
        store_change (self->station->store,
                      &(struct store_change){.plan = plan,
                                             .revision = revision,
                                             .key_station = answer->station,
                                             .queue = REQUEUE_NOW,
                                             .first = apply_with_plan},
                      on_plan_changed, self);
    } else {
        apply_without_plan (self);
    }
    plan_destroy (&plan);
}

// Apply the event. If it may reopen an ended run, first check whether its flow plan can continue
// it.
static void apply_or_reopen (struct run_command *self, struct flow_live *live)
{
    bool may_reopen = self->event.kind == FLOW_RETRY || self->event.kind == FLOW_SKIP;
    if (live->run->phase == FLOW_ENDED && may_reopen)
        store_load (self->station->store, live->plan_id, LINK_ONCE, on_flow_plan, self);
    else
        apply_without_plan (self);
}

// -- retry with another version of the definition

static void on_definition (void *owner, const struct flow *flow, int version, const char *why)
{
    struct run_command *self = owner;
    struct station *station = self->station;
    struct flow_live *live = flow_live_find (station, self->run);
    (void)version;
    if (!flow || !live) {
        run_command_refuse (self, flow ? ZPLAN_ENET : ZPLAN_ENOTFIND, "flow: version %d: %s",
                            self->version, flow ? "Redis was lost meanwhile" : why);
        return;
    }
    self->flow = flow_book_hold (station, flow);
    apply_or_reopen (self, live);
    link_flush (store_link (station->store));
}

static void start_with_version (struct run_command *self, struct flow_live *live)
{
    if (self->version && self->version != live->version)
        flow_book_get (self->station, live->flow_name, self->version, on_definition, self);
    else
        apply_or_reopen (self, live);
}

// -- options of a subcommand

static bool read_value (void *owner, const json_t *value)
{
    struct run_command *self = owner;
    self->value = json_incref ((json_t *)(uintptr_t)value);
    return true;
}

static bool read_steps (void *owner, const json_t *value)
{
    struct run_command *self = owner;
    self->steps = json_incref ((json_t *)(uintptr_t)value);
    return json_is_array (value);
}

static bool read_version (void *owner, const json_t *value)
{
    struct run_command *self = owner;
    json_int_t version = json_integer_value (value);
    self->version = version > 0 && version < INT_MAX ? (int)version : 0;
    return json_is_integer (value) && self->version;
}

#define FIELD(name) offsetof (struct run_command, name)

static const struct json_field skip_options[] = {
    {"value", .rule = "", .read = read_value},
    {"reason", AS_TEXT, FIELD (text), 0, REASON_MAX - 1, "want a text of at most 199 bytes"},
};

static const struct json_field retry_options[] = {
    {"steps", .rule = "want a list of steps", .read = read_steps},
    {"fresh", AS_FLAG, FIELD (event.fresh)},
    {"restart", AS_FLAG, FIELD (event.restart)},
    {"version", .rule = "want the number of a version", .read = read_version},
    {"reason", AS_TEXT, FIELD (text), 0, REASON_MAX - 1, "want a text of at most 199 bytes"},
};

// Read argument `at` as an object of options. False: invalid, and the request was rejected.
static bool read_command_options (struct run_command *self, const struct flow_arguments *args,
                                  size_t at, const struct json_field *fields, size_t count)
{
    struct reason why;
    if (!run_command_json (self, args, at))
        return false;
    json_t *options = self->value;
    self->value = NULL;
    bool good = !options || json_is_object (options);
    if (!good)
        reason_set (&why, "want an object of options");
    good = good && json_fields_read (options, fields, count, self, &why);
    json_decref (options);
    if (!good)
        run_command_refuse (self, ZPLAN_EARGUMENT, "flow: %s", why.text);
    return good;
}

#define OPTIONS(rows) (rows), sizeof (rows) / sizeof *(rows)

// -- the subcommands

static void copy_argument_text (char *out, size_t room, const struct flow_arguments *args,
                                size_t at)
{
    if (args->count > at && args->at[at].size)
        snprintf (out, room, "%.*s", (int)args->at[at].size, (const char *)args->at[at].data);
}

// Read the arguments after the number of the run. False: invalid, and the request was rejected.
static bool read_arguments (struct run_command *self, const struct flow_arguments *args)
{
    struct flow_event *event = &self->event;
    if (flow_command_has_step (event->kind))
        copy_argument_text (self->step, sizeof self->step, args, 1);
    switch (event->kind) {
    case FLOW_SIGNALLED:
        return run_command_json (self, args, 2);
    case FLOW_REJECTED:
        copy_argument_text (self->text, sizeof self->text, args, 2);
        return true;
    case FLOW_SKIP:
        return read_command_options (self, args, 2, OPTIONS (skip_options));
    case FLOW_RETRY:
        return read_command_options (self, args, 1, OPTIONS (retry_options));
    default:
        event->force = event->kind == FLOW_CANCEL && args->count > 1 &&
                       span_is (args->at[args->count - 1], "force");
        if (!event->force || args->count > 2)
            copy_argument_text (self->text, sizeof self->text, args, 1);
        return true;
    }
}

void manage_flow_change_run (struct station *self, struct request *request,
                             const struct flow_arguments *args)
{
    bool retry = args->event == FLOW_RETRY;
    struct run_command *command =
        run_command_new (self, request, args->at[0], retry ? start_with_version : apply_or_reopen);
    if (!command)
        return;
    char who[SPEAKER_SIZE];
    struct span key = permit_user_in_effect (self, &request->peer, who);
    if (key.size)
        snprintf (command->key, sizeof command->key, "%.*s", (int)key.size, (const char *)key.data);
    command->event.kind = args->event;
    if (read_arguments (command, args))
        run_command_start (command);
}
