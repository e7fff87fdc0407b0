// flow: subcommands that read runs: show, log, runs. proto/flows.md 18.18.
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "expr_value.h"
#include "flow_book.h"
#include "flow_live.h"
#include "flow_redis.h"
#include "flow_runs_private.h"
#include "flow_why.h"
#include "json.h"
#include "json_fields.h"
#include "manage_flow_command.h"
#include "memory.h"
#include "permit.h"
#include "redis_keys.h"

enum { STEPS_MAX = 1000, RUNS_MAX = 1000 };

void run_command_end (struct run_command *self)
{
    struct station *station = self->station;
    json_decref (self->value);
    json_decref (self->steps);
    if (self->flow)
        flow_book_release (station, self->flow);
    free (self);
    station_resume (station);
}

void run_command_refuse (struct run_command *self, enum wire_error error, const char *format, ...)
{
    va_list arguments;
    va_start (arguments, format);
    reply_refuse_arguments (self->station, self->peer, error, format, arguments);
    va_end (arguments);
    run_command_end (self);
}

static void on_run (void *owner, bool found, const char *damage)
{
    struct run_command *self = owner;
    struct flow_live *live = flow_live_find (self->station, self->run);
    char run[IDENT_SIZE];
    bool hidden =
        live && !permits_station (self->station, self->peer->user, span_text (live->flow_name));
    if (found && !live) {
        run_command_refuse (self, ZPLAN_ENET, "Redis was lost meanwhile");
    } else if (damage) {
        run_command_refuse (self, ZPLAN_EARGUMENT, "flow: run %s is damaged: %s",
                            ident_text (self->run, run), damage);
    } else if (!live || hidden) {
        run_command_refuse (self, ZPLAN_ENOTFIND, "flow: no run %s is known",
                            ident_text (self->run, run));
    } else {
        self->start (self, live);
    }
}

// The local time of a batch as JSON; NULL: there is none, or it is out of range.
static json_t *batch_json (int64_t local)
{
    const struct flow_value batch = {.is_time = true, .local = local};
    bool known = local >= EXPR_TIME_MIN && local <= EXPR_TIME_MAX;
    return known ? flow_value_json (&batch) : NULL;
}

struct run_command *run_command_new (struct station *self, struct request *request, struct span run,
                                     run_command_fn *start)
{
    struct reason reason;
    uint64_t id;
    if (!ident_parse (run, &id)) {
        reason_set (&reason, "flow: want the number of a run in hex, got %s", quoted (run));
        reply_refuse (self, &request->peer, ZPLAN_EARGUMENT, reason.text);
        return NULL;
    }
    struct run_command *command = memory_new (sizeof *command);
    *command =
        (struct run_command){.station = self, .run = id, .start = start, .event = {.item = -1}};
    command->peer = peer_keep (self, request);
    return command;
}

void run_command_start (struct run_command *self)
{
    flow_runs_load (self->station, self->run, on_run, self);
}

// -- a run as JSON

static json_t *items_json (const struct flow_items *items)
{
    json_t *errors = json_array (),
           *object = json_pack ("{s:i, s:i, s:i, s:i}", "count", (int)items->count, "in_flight",
                                (int)items->in_flight, "finished", (int)items->finished, "failed",
                                (int)items->failed);
    size_t shown = items->failed < FLOW_FAILED_SHOWN ? items->failed : FLOW_FAILED_SHOWN;
    for (uint32_t i = 0; json_array_size (errors) < shown && i < items->count; i++) {
        const struct flow_item *item = &items->item[i];
        const struct span error = span_text (item->error ? item->error : "");
        if (item->state == FLOW_FAILED || item->state == FLOW_CANCELLED)
            json_array_append_new (
                errors, json_pack ("{s:i, s:o}", "item", (int)i, "error", json_from_frame (error)));
    }
    if (items->failed)
        json_object_set (object, "errors", errors);
    json_decref (errors);
    return object;
}

// Add the state of the step's undos, and the item that is being undone.
static void add_undo (const struct flow_live *live, uint32_t index, json_t *object)
{
    static const char *const undo_names[] = {
        [FLOW_UNDO_OVER] = "undone", [FLOW_UNDO_RUNS] = "undoing", [FLOW_UNDO_PARKED] = "parked"};
    const struct flow_run *run = live->run;
    json_t *items = json_object_get (object, "items");
    int64_t first = items ? 0 : -1,
            last = json_integer_value (json_object_get (items, "count")) - 1, undone = 0,
            present = -1;
    enum flow_undo_state all = FLOW_UNDO_NONE;
    for (int64_t i = first; run->undone && i <= last; i++) {
        enum flow_undo_state state = flow_undo_state (live->flow, run, index, i);
        undone += state == FLOW_UNDO_OVER;
        if (state >= FLOW_UNDO_RUNS)
            present = i;
        if (state > all)
            all = state;
    }
    if (undo_names[all])
        json_object_set_new (object, "undo", json_string (undo_names[all]));
    if (present >= 0)
        json_object_set_new (object, "undo_item", json_integer (present));
    if (items && undone)
        json_object_set_new (items, "undone", json_integer (undone));
}

// The number as JSON; NULL if it is 0, so that json_pack omits the member.
static json_t *nonzero_json (int64_t number)
{
    return number ? json_integer (number) : NULL;
}

// The id of a plan or run as text; NULL: 0, none.
static json_t *ident_json (uint64_t id)
{
    char text[IDENT_SIZE];
    return id ? json_string (ident_text (id, text)) : NULL;
}

static json_t *true_json (bool flag)
{
    return flag ? json_true () : NULL;
}

static json_t *step_json (const struct flow_live *live, uint32_t index)
{
    static const struct flow_data none = {.value = NULL};
    const struct flow_run *run = live->run;
    const struct flow_node *node = &run->nodes[index];
    const struct flow_data *data = run->data[index] ? run->data[index] : &none;
    const struct flow_step *step = &live->flow->steps[index];
    const struct flow_undo *parked = flow_undo_parked (run);
    char why[REASON_MAX] = "";
    if (node->flags & FLOW_BLOCKED)
        flow_why_blocked (live->flow, run, index, why, sizeof why);
    else if (parked && parked->step == index)
        snprintf (why, sizeof why, "its undo has failed: `reset` tries again, `done` goes on");
    else if (step->kind == FLOW_SIGNAL && node->state == FLOW_RUNNING)
        flow_why_waits (live->flow, run, index, why, sizeof why);
    json_t *object = json_pack (
        "{s:s, s:s, s:o*, s:s*, s:o*, s:o*, s:o*, s:o*, s:o*, s:O*, s:o*}", "step", step->name,
        "state", flow_live_step_state (live, index, -1), "why", *why ? json_string (why) : NULL,
        "by", node->flags & FLOW_BY_PERSON ? "person" : NULL, "generation",
        nonzero_json (node->generation), "plan",
        ident_json (node->flags & FLOW_PLACED ? flow_call_id (live, index, -1) : 0), "run",
        ident_json (flow_call_run (live, index, -1)), "error", json_string (data->error),
        "not_kept", true_json (data->not_kept), "value", data->value, "items",
        data->items ? items_json (data->items) : NULL);
    add_undo (live, index, object);
    return object;
}

json_t *flow_run_json (const struct flow_live *live)
{
    const struct flow_run *run = live->run;
    const struct flow_undo *parked = flow_undo_parked (run);
    char plan[IDENT_SIZE], call[FLOW_CALL_NAME_SIZE];
    if (parked)
        flow_call_name (live->flow, parked->step, parked->item, call);
    return json_pack (
        "{s:s, s:s, s:i, s:s, s:s, s:I, s:I, s:o*, s:o*, s:o*, s:o*, s:o*, s:O*, s:o*, s:s*, "
        "s:o*}",
        "run", live->name, "flow", live->flow_name, "version", live->version, "plan",
        ident_text (live->plan_id, plan), "state", flow_live_state (live), "began_ms",
        (json_int_t)live->began_ms, "updated_ms", (json_int_t)live->updated_ms, "batch",
        batch_json (run->batch), "ended_ms",
        run->phase == FLOW_ENDED ? json_integer (live->ended_ms) : NULL, "suspended",
        true_json (run->suspended), // also while undoing
        "error", json_string (run->error), "failures",
        nonzero_json (flow_run_failures (live->flow, run)), "failed",
        json_array_size (run->uncaught) ? run->uncaught : NULL, "in_flight",
        nonzero_json (run->in_flight), "undo_parked", parked ? call : NULL, "parent",
        *live->parent ? json_string (live->parent) : NULL);
}

void run_command_reply (struct run_command *self, json_t *object)
{
    manage_reply_json (self->station, self->peer, 0, object);
    run_command_end (self);
}

// -- show

enum { STATE_MAX = 15 };

struct step_filter {
    char after[FLOW_NAME_MAX + 1], state[STATE_MAX + 1];
    int64_t limit;
};

static const struct json_field step_fields[] = {
    {"after", AS_TEXT, offsetof (struct step_filter, after), 0, FLOW_NAME_MAX,
     "want the name of a step"},
    {"state", AS_TEXT, offsetof (struct step_filter, state), 0, STATE_MAX,
     "want a state, as failed"},
    {"limit", AS_NUMBER, offsetof (struct step_filter, limit), 1, STEPS_MAX},
};

static void show_run (struct run_command *self, struct flow_live *live)
{
    struct step_filter filter = {.limit = STEPS_MAX};
    struct reason reason;
    if (self->value && !json_is_object (self->value)) {
        run_command_refuse (self, ZPLAN_EARGUMENT, "flow: want an object of filters");
        return;
    }
    if (self->value &&
        !json_fields_read (self->value, step_fields, sizeof step_fields / sizeof *step_fields,
                           &filter, &reason)) {
        run_command_refuse (self, ZPLAN_EARGUMENT, "%s", reason.text);
        return;
    }
    const struct flow_run *run = live->run;
    bool continues = json_object_get (self->value, "after");
    int64_t at = continues ? flow_find (live->flow, filter.after) + 1 : 0;
    if (continues && at == 0) {
        run_command_refuse (self, ZPLAN_EARGUMENT, "after: want the name of a step of this run");
        return;
    }
    json_t *object = flow_run_json (live), *steps = json_array (), *params = json_object ();
    for (; at < live->flow->step_count && (int64_t)json_array_size (steps) < filter.limit; at++) {
        json_t *step = step_json (live, (uint32_t)at);
        const char *state = json_string_value (json_object_get (step, "state"));
        if (*filter.state && strcmp (state, filter.state) != 0)
            json_decref (step);
        else
            json_array_append_new (steps, step);
    }
    for (size_t i = 0; i < live->flow->param_count; i++)
        json_object_set_new (params, live->flow->params[i].name, flow_value_json (&run->params[i]));
    json_object_update_new (
        object, json_pack ("{s:o, s:O*, s:O*, s:o, s:s*}", "params", params, "input", run->input,
                           "output", run->output, "steps", steps, "next",
                           at < live->flow->step_count ? live->flow->steps[at - 1].name : NULL));
    run_command_reply (self, object);
}

bool run_command_json (struct run_command *self, const struct flow_arguments *args, size_t at)
{
    if (args->count <= at)
        return true;
    self->value = json_loadb ((const char *)args->at[at].data, args->at[at].size,
                              JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    if (self->value)
        return true;
    run_command_refuse (self, ZPLAN_EARGUMENT, "flow: want JSON");
    return false;
}

void manage_flow_show_run (struct station *self, struct request *request,
                           const struct flow_arguments *args)
{
    struct run_command *command = run_command_new (self, request, args->at[0], show_run);
    if (!command)
        return;
    if (run_command_json (command, args, 1))
        run_command_start (command);
}

// -- log

static void on_log (void *owner, const redisReply *reply)
{
    struct run_command *self = owner;
    if (!reply || reply->type != REDIS_REPLY_ARRAY) {
        run_command_refuse (self, ZPLAN_ENET, "the log could not be read");
        return;
    }
    json_t *lines = json_array ();
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *line = reply->element[i];
        json_t *json =
            line->type == REDIS_REPLY_STRING ? json_loadb (line->str, line->len, 0, NULL) : NULL;
        if (json)
            json_array_append_new (lines, json);
    }
    run_command_reply (self, json_pack ("{s:o}", "log", lines));
}

static void show_log (struct run_command *self, struct flow_live *live)
{
    flow_redis_get (self->station, on_log, self, "LRANGE " KEY_FLOW_LOG "%s -%d -1", live->name,
                    FLOW_LOG_MAX);
}

void manage_flow_show_log (struct station *self, struct request *request,
                           const struct flow_arguments *args)
{
    struct run_command *command = run_command_new (self, request, args->at[0], show_log);
    if (command)
        run_command_start (command);
}

// -- runs

struct run_filter {
    char flow[STATION_NAME_MAX + 1], state[STATE_MAX + 1];
    int64_t limit, offset;
};

struct run_listing {
    struct station *station;
    struct peer *peer;
    struct run_filter filter;
    json_t *runs;
    size_t left; // number of replies that are still expected
    bool more;   // there may be another page
};

static const struct json_field run_fields[] = {
    {"flow", AS_TEXT, offsetof (struct run_filter, flow), 0, STATION_NAME_MAX,
     "want the name of a flow"},
    {"state", AS_TEXT, offsetof (struct run_filter, state), 0, STATE_MAX,
     "want running, finished, failed, cancelled or timeout"},
    {"limit", AS_NUMBER, offsetof (struct run_filter, limit), 1, RUNS_MAX},
    {"after", AS_NUMBER, offsetof (struct run_filter, offset), 0, INT32_MAX,
     "want the number that the page before ended with"},
};

static void run_listing_end (struct run_listing *self)
{
    struct station *station = self->station;
    int64_t next = self->more ? self->filter.offset + self->filter.limit : 0;
    manage_reply_json (station, self->peer, 0,
                       json_pack ("{s:o, s:o*}", "runs", self->runs, "next", nonzero_json (next)));
    free (self);
    station_resume (station);
}

static json_t *number_of (const redisReply *value)
{
    return value->type == REDIS_REPLY_STRING ? json_integer (strtoll (value->str, NULL, 10)) : NULL;
}

static json_t *text_of (const redisReply *value)
{
    return value->type == REDIS_REPLY_STRING ? json_stringn (value->str, value->len) : NULL;
}

// The batch, which is the last word of `run.head`.
static int64_t batch_of (const redisReply *head)
{
    const char *blank = head->type == REDIS_REPLY_STRING ? strrchr (head->str, ' ') : NULL;
    char *end = NULL;
    int64_t local = blank ? strtoll (blank + 1, &end, 10) : INT64_MIN;
    return end && end > blank + 1 && !*end ? local : INT64_MIN;
}

struct listed_run {
    struct run_listing *listing;
    char run[IDENT_SIZE];
};

static void on_listed (void *owner, const redisReply *reply)
{
    struct listed_run *self = owner;
    struct run_listing *listing = self->listing;
    if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 8 &&
        reply->element[0]->type == REDIS_REPLY_STRING) {
        json_t *run = json_pack (
            "{s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*}", "run",
            json_string (self->run), "flow", text_of (reply->element[0]), "version",
            number_of (reply->element[1]), "plan", text_of (reply->element[2]), "state",
            text_of (reply->element[3]), "began_ms", number_of (reply->element[4]), "ended_ms",
            number_of (reply->element[5]), "parent", text_of (reply->element[6]), "batch",
            batch_json (batch_of (reply->element[7])));
        const char *flow = json_string_value (json_object_get (run, "flow"));
        const char *state = json_string_value (json_object_get (run, "state"));
        bool fits =
            flow && // missing only after an edit by hand
            (!*listing->filter.flow || strcmp (flow, listing->filter.flow) == 0) &&
            (!*listing->filter.state || (state && strcmp (state, listing->filter.state) == 0)) &&
            permits_station (listing->station, listing->peer->user, span_text (flow));
        if (fits)
            json_array_append (listing->runs, run);
        json_decref (run);
    }
    free (self);
    if (--listing->left == 0)
        run_listing_end (listing);
}

static void on_runs (void *owner, const redisReply *reply)
{
    struct run_listing *self = owner;
    bool is_list = reply && reply->type == REDIS_REPLY_ARRAY;
    size_t count = is_list ? reply->elements : 0;
    if (!is_list) {
        struct station *station = self->station;
        reply_refuse (station, self->peer, ZPLAN_ENET, "the runs could not be read");
        json_decref (self->runs);
        free (self);
        station_resume (station);
        return;
    }
    self->more = (int64_t)count == self->filter.limit;
    self->left = count;
    for (size_t i = 0; i < count; i++) {
        struct listed_run *listed = memory_new (sizeof *listed);
        listed->listing = self;
        snprintf (listed->run, sizeof listed->run, "%s", reply->element[i]->str);
        flow_redis_get (self->station, on_listed, listed,
                        "HMGET " KEY_FLOW_RUN
                        "%s flow version plan shown began_ms ended_ms parent run.head",
                        listed->run);
    }
    if (!count)
        run_listing_end (self);
}

void manage_flow_show_runs (struct station *self, struct request *request,
                            const struct flow_arguments *args)
{
    struct run_filter filter = {.limit = 100};
    struct reason reason;
    if (args->count &&
        !json_fields_parse (args->at[0], run_fields, sizeof run_fields / sizeof *run_fields,
                            &filter, &reason)) {
        reply_refuse (self, &request->peer, ZPLAN_EARGUMENT, reason.text);
        return;
    }
    struct run_listing *listing = memory_new (sizeof *listing);
    *listing = (struct run_listing){.station = self, .filter = filter, .runs = json_array ()};
    listing->peer = peer_keep (self, request);
    flow_redis_get (self, on_runs, listing, "ZREVRANGE " KEY_FLOW_RUNS " %" PRId64 " %" PRId64,
                    filter.offset, filter.offset + filter.limit - 1);
}
