// flow: subcommands that read runs: show, log, runs. proto/flows.md 18.18.
#include <inttypes.h>
#include <stdlib.h>

#include "expr_value.h"
#include "flow_book.h"
#include "flow_live.h"
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

void run_command_refuse (struct run_command *self, enum wire_error error, const char *reason)
{
    reply_refuse (self->station, self->peer, error, reason);
    run_command_end (self);
}

static void on_run (void *owner, bool found, const char *damage)
{
    struct run_command *self = owner;
    struct flow_live *live = flow_live_find (self->station, self->run);
    struct reason reason;
    char run[IDENT_SIZE];
    bool hidden =
        live && !permits_station (self->station, self->peer->user, span_text (live->flow_name));
    if (found && !live) {
        run_command_refuse (self, ZPLAN_ENET, "Redis was lost meanwhile");
    } else if (damage) {
        reason_set (&reason, "flow: run %s is damaged: %s", ident_text (self->run, run), damage);
        run_command_refuse (self, ZPLAN_EARGUMENT, reason.text);
    } else if (!live || hidden) {
        reason_set (&reason, "flow: no run %s is known", ident_text (self->run, run));
        run_command_refuse (self, ZPLAN_ENOTFIND, reason.text);
    } else {
        self->start (self, live);
    }
}

// Set the member batch. `local`: the local time of the batch; INT64_MIN = none.
static void set_batch (json_t *run, int64_t local)
{
    const struct flow_value batch = {.is_time = true, .local = local};
    if (local >= EXPR_TIME_MIN && local <= EXPR_TIME_MAX)
        json_object_set_new (run, "batch", flow_value_json (&batch));
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
        enum flow_undo_state one = flow_undo_state (live->flow, run, index, i);
        undone += one == FLOW_UNDO_OVER;
        if (one >= FLOW_UNDO_RUNS)
            present = i;
        if (one > all)
            all = one;
    }
    if (undo_names[all])
        json_object_set_new (object, "undo", json_string (undo_names[all]));
    if (present >= 0)
        json_object_set_new (object, "undo_item", json_integer (present));
    if (items && undone)
        json_object_set_new (items, "undone", json_integer (undone));
}

static json_t *step_json (const struct flow_live *live, uint32_t index)
{
    const struct flow_run *run = live->run;
    const struct flow_node *node = &run->nodes[index];
    const struct flow_data *data = run->data[index];
    const struct flow_step *step = &live->flow->steps[index];
    const struct flow_undo *parked = flow_undo_parked (run);
    char why[REASON_MAX] = "", plan[IDENT_SIZE];
    json_t *object = json_object ();
    uint64_t id = node->flags & FLOW_PLACED ? flow_call_id (live, index, -1) : 0;
    json_object_set_new (object, "step", json_string (step->name));
    json_object_set_new (object, "state", json_string (flow_live_step_state (live, index, -1)));
    if (node->flags & FLOW_BLOCKED)
        flow_why_blocked (live->flow, run, index, why, sizeof why);
    else if (parked && parked->step == index)
        snprintf (why, sizeof why, "its undo has failed: `reset` tries again, `done` goes on");
    else if (step->kind == FLOW_SIGNAL && node->state == FLOW_RUNNING)
        flow_why_waits (live->flow, run, index, why, sizeof why);
    if (*why)
        json_object_set_new (object, "why", json_string (why));
    if (node->flags & FLOW_BY_PERSON)
        json_object_set_new (object, "by", json_string ("person"));
    if (node->generation)
        json_object_set_new (object, "generation", json_integer (node->generation));
    if (id)
        json_object_set_new (object, "plan", json_string (ident_text (id, plan)));
    uint64_t sub = flow_call_run (live, index, -1);
    if (sub)
        json_object_set_new (object, "run", json_string (ident_text (sub, plan)));
    if (data && data->error)
        json_object_set_new (object, "error", json_string (data->error));
    if (data && data->not_kept)
        json_object_set_new (object, "not_kept", json_true ());
    if (data && data->value)
        json_object_set (object, "value", data->value);
    if (data && data->items)
        json_object_set_new (object, "items", items_json (data->items));
    add_undo (live, index, object);
    return object;
}

json_t *flow_run_json (const struct flow_live *live)
{
    const struct flow_run *run = live->run;
    const struct flow_undo *parked = flow_undo_parked (run);
    uint32_t failures = flow_run_failures (live->flow, run);
    char plan[IDENT_SIZE], call[FLOW_CALL_NAME_SIZE];
    json_t *object =
        json_pack ("{s:s, s:s, s:i, s:s, s:s, s:I, s:I}", "run", live->name, "flow",
                   live->flow_name, "version", live->version, "plan",
                   ident_text (live->plan_id, plan), "state", flow_live_state (live), "began_ms",
                   (json_int_t)live->began_ms, "updated_ms", (json_int_t)live->updated_ms);
    set_batch (object, run->batch);
    if (run->phase == FLOW_ENDED)
        json_object_set_new (object, "ended_ms", json_integer (live->ended_ms));
    if (run->suspended) // also while undoing
        json_object_set_new (object, "suspended", json_true ());
    if (run->error)
        json_object_set_new (object, "error", json_string (run->error));
    if (failures)
        json_object_set_new (object, "failures", json_integer (failures));
    if (json_array_size (run->uncaught))
        json_object_set (object, "failed", run->uncaught);
    if (run->in_flight)
        json_object_set_new (object, "in_flight", json_integer (run->in_flight));
    if (parked) {
        flow_call_name (live->flow, parked->step, parked->item, call);
        json_object_set_new (object, "undo_parked", json_string (call));
    }
    if (*live->parent)
        json_object_set_new (object, "parent", json_string (live->parent));
    return object;
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
        run_command_refuse (self, ZPLAN_EARGUMENT, reason.text);
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
    json_object_set_new (object, "params", params);
    if (run->input)
        json_object_set (object, "input", run->input);
    if (run->output)
        json_object_set (object, "output", run->output);
    json_object_set_new (object, "steps", steps);
    if (at < live->flow->step_count)
        json_object_set_new (object, "next", json_string (live->flow->steps[at - 1].name));
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
    json_t *object = json_object (), *lines = json_array ();
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *line = reply->element[i];
        json_t *json =
            line->type == REDIS_REPLY_STRING ? json_loadb (line->str, line->len, 0, NULL) : NULL;
        if (json)
            json_array_append_new (lines, json);
    }
    json_object_set_new (object, "log", lines);
    run_command_reply (self, object);
}

static void show_log (struct run_command *self, struct flow_live *live)
{
    char key[FLOW_KEY_SIZE], first[24];
    snprintf (key, sizeof key, KEY_FLOW_LOG "%s", live->name);
    snprintf (first, sizeof first, "-%d", FLOW_LOG_MAX);
    const struct span lrange[] = {span_text ("LRANGE"), span_text (key), span_text (first),
                                  span_text ("-1")};
    store_get (self->station->store, lrange, 4, on_log, self);
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
    size_t left;
    bool more;
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
    json_t *object = json_pack ("{s:O}", "runs", self->runs);
    if (self->more)
        json_object_set_new (object, "next",
                             json_integer (self->filter.offset + self->filter.limit));
    manage_reply_json (station, self->peer, 0, object);
    json_decref (self->runs);
    free (self);
    station_resume (station);
}

static void set_number (json_t *object, const char *name, const redisReply *value)
{
    if (value->type == REDIS_REPLY_STRING)
        json_object_set_new (object, name, json_integer (strtoll (value->str, NULL, 10)));
}

static void set_text (json_t *object, const char *name, const redisReply *value)
{
    if (value->type == REDIS_REPLY_STRING)
        json_object_set_new (object, name, json_stringn (value->str, value->len));
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
        json_t *run = json_object ();
        json_object_set_new (run, "run", json_string (self->run));
        set_text (run, "flow", reply->element[0]);
        set_number (run, "version", reply->element[1]);
        set_text (run, "plan", reply->element[2]);
        set_text (run, "state", reply->element[3]);
        set_number (run, "began_ms", reply->element[4]);
        set_number (run, "ended_ms", reply->element[5]);
        set_text (run, "parent", reply->element[6]);
        set_batch (run, batch_of (reply->element[7]));
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
        struct listed_run *one = memory_new (sizeof *one);
        char key[FLOW_KEY_SIZE];
        one->listing = self;
        snprintf (one->run, sizeof one->run, "%s", reply->element[i]->str);
        snprintf (key, sizeof key, KEY_FLOW_RUN "%s", one->run);
        const struct span hmget[] = {span_text ("HMGET"),    span_text (key),
                                     span_text ("flow"),     span_text ("version"),
                                     span_text ("plan"),     span_text ("shown"),
                                     span_text ("began_ms"), span_text ("ended_ms"),
                                     span_text ("parent"),   span_text ("run.head")};
        store_get (self->station->store, hmget, 10, on_listed, one);
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
    char first[24], last[24];
    snprintf (first, sizeof first, "%" PRId64, filter.offset);
    snprintf (last, sizeof last, "%" PRId64, filter.offset + filter.limit - 1);
    const struct span asked[] = {span_text ("ZREVRANGE"), span_text (KEY_FLOW_RUNS),
                                 span_text (first), span_text (last)};
    store_get (self->store, asked, 4, on_runs, listing);
}
