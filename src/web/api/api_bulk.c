// Bulk jobs: a command for all plans that a filter selects; previewed, started, followed, deleted.
// A job reads the list once and keeps the ids, so that exactly the plans that were shown are
// changed; it starts when the client confirms their count. Commands are rate-limited.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "audit.h"
#include "clock.h"
#include "ident.h"
#include "json.h"
#include "memory.h"
#include "query.h"
#include "server.h"
#include "settings.h"
#include "users.h"

enum {
    JOBS_MAX = 16,
    IDS_MAX = 100000,
    IDS_SHOWN = 20,
    ERRORS_MAX = 100,
    PAGE = 1000,
    IN_FLIGHT = 32,
    TICK_MS = 100,
    COMMANDS_PER_TICK = 20, // 200 commands a second
    UNUSED_LIFE_US = 600000000
};

static const struct action {
    const char *name, *command;
    bool repeat;
} actions[] = {{"pause", "pause", true},   {"resume", "reset", true}, {"close", "close", true},
               {"remove", "remove", true}, {"done", "done", true},    {"run", "run", false},
               {"cancel", "cancel", false}};

struct bulk_job {
    struct bulk_job *next;
    struct server *server;
    struct gateway *gateway;
    struct key *key; // held by users_key_hold
    char user[65];
    uint8_t token[32];
    int64_t number;
    const struct action *action;
    enum { BULK_COUNTING, BULK_COUNTED, BULK_RUNNING, BULK_DONE, BULK_FAILED } state;
    bool deleted; // with questions in flight: the job is freed when they have ended
    json_t *filter;
    char *page_filter; // the filter of the page in flight
    uint64_t *ids;
    size_t count, at, in_flight, done, rejected, unknown;
    json_t *errors;
    int64_t used_us; // when a client last read it
    struct timer timer;
};

// A command in flight.
struct bulk_call {
    struct bulk_job *job;
    char id[IDENT_SIZE];
};

// -- life of a job

static void bulk_job_free (struct bulk_job *self)
{
    timer_end (&self->timer);
    users_key_release (self->key);
    json_decref (self->filter);
    json_decref (self->errors);
    free (self->page_filter);
    free (self->ids);
    free (self);
}

static void bulk_job_remove (struct bulk_job *self)
{
    struct bulk_job **at = &self->server->bulk;
    while (*at && *at != self)
        at = &(*at)->next;
    if (*at)
        *at = self->next;
    self->deleted = true;
    timer_end (&self->timer);
    if (!self->in_flight)
        bulk_job_free (self);
}

// Count the end of a question. True: go on. False: the job was deleted, and may have been freed.
static bool count_question_ended (struct bulk_job *self)
{
    self->in_flight--;
    if (self->deleted && !self->in_flight)
        bulk_job_free (self);
    else if (!self->deleted)
        return true;
    return false;
}

void api_bulk_end (struct server *server)
{
    while (server->bulk)
        bulk_job_remove (server->bulk);
}

static void add_error (struct bulk_job *self, const char *id, const char *detail)
{
    if (json_array_size (self->errors) < ERRORS_MAX)
        json_array_append_new (self->errors, json_pack ("{s:s, s:s}", "id", id, "detail", detail));
}

// -- counting

static void request_ids_page (struct bulk_job *self);

static void on_page (void *owner, const struct station_answer *answer)
{
    struct bulk_job *self = owner;
    size_t i;
    const json_t *plan;
    if (!count_question_ended (self))
        return;
    if (answer->error != ZPLAN_OK || answer->status >= ZERO_STATUS_ERROR_FLAG) {
        self->state = BULK_FAILED;
        add_error (self, "",
                   answer->error != ZPLAN_OK ? "the station did not answer" : answer->reason);
        return;
    }
    const json_t *plans = json_object_get (answer->json, "plans");
    if (self->count + json_array_size (plans) > IDS_MAX) {
        self->state = BULK_FAILED;
        add_error (self, "", "the filter matches more than 100000 plans");
        return;
    }
    self->ids =
        memory_resize (self->ids, (self->count + json_array_size (plans) + 1) * sizeof *self->ids);
    json_array_foreach (plans, i, plan) self->ids[self->count++] =
        (uint64_t)json_integer_value (json_object_get (plan, "plan_id"));
    json_t *next = json_object_get (answer->json, "next");
    if (next) {
        json_object_set (self->filter, "after", next);
        request_ids_page (self);
    } else {
        self->state = BULK_COUNTED;
    }
}

static void request_ids_page (struct bulk_job *self)
{
    free (self->page_filter);
    self->page_filter = json_write (self->filter);
    const struct question question = {
        .command = "list", .args = {self->page_filter}, .repeat = true, .large = true};
    self->in_flight++;
    gateway_ask (self->gateway, &question, on_page, self);
}

// -- running

static void on_command (void *owner, const struct station_answer *answer)
{
    struct bulk_call *sent = owner;
    struct bulk_job *self = sent->job;
    bool unknown = answer->error != ZPLAN_OK || answer->status == ZERO_STATUS_NET_ERROR_ID;
    bool rejected = !unknown && answer->status >= ZERO_STATUS_ERROR_FLAG;
    audit_each (self->server->audit, self->user, self->action->name, sent->id,
                unknown    ? "unknown"
                : rejected ? "rejected"
                           : "done");
    if (!self->deleted) {
        self->unknown += unknown;
        self->rejected += rejected;
        self->done += !unknown && !rejected;
        if (unknown || rejected)
            add_error (self, sent->id,
                       unknown ? "no answer: it is unknown whether it was done" : answer->reason);
    }
    free (sent);
    if (count_question_ended (self) && self->at == self->count && !self->in_flight)
        self->state = BULK_DONE;
}

static void send_command (struct bulk_job *self)
{
    struct bulk_call *sent = memory_new (sizeof *sent);
    sent->job = self;
    ident_text (self->ids[self->at++], sent->id);
    const struct question question = {.command = self->action->command,
                                      .args = {sent->id},
                                      .repeat = self->action->repeat,
                                      .user = self->user[0] ? self->user : NULL};
    self->in_flight++;
    gateway_ask (self->gateway, &question, on_command, sent);
}

static void on_tick (void *owner)
{
    struct bulk_job *self = owner;
    bool known = !self->user[0] || users_is_valid (self->server->users, self->token, self->key);
    bool old = self->state != BULK_RUNNING && clock_mono_us () - self->used_us >= UNUSED_LIFE_US;
    if (!known || old) {
        bulk_job_remove (self);
        return;
    }
    for (int i = 0; self->state == BULK_RUNNING && i < COMMANDS_PER_TICK &&
                    self->at < self->count && self->in_flight < IN_FLIGHT;
         i++)
        send_command (self);
    if (self->state == BULK_RUNNING && !self->count)
        self->state = BULK_DONE;
    timer_set (&self->timer, self->server->reactor, TICK_MS);
}

// -- the resources

static json_t *bulk_job_document (const struct bulk_job *self)
{
    static const char *const states[] = {"counting", "counted", "running", "done", "failed"};
    char id[IDENT_SIZE];
    json_t *first = json_array ();
    for (size_t i = 0; i < self->count && i < IDS_SHOWN; i++)
        json_array_append_new (first, json_string (ident_text (self->ids[i], id)));
    return json_pack ("{s:I, s:s, s:s, s:I, s:o, s:I, s:I, s:I, s:I, s:O}", "number",
                      (json_int_t)self->number, "action", self->action->name, "state",
                      states[self->state], "count", (json_int_t)self->count, "first", first, "done",
                      (json_int_t)self->done, "rejected", (json_int_t)self->rejected, "unknown",
                      (json_int_t)self->unknown, "left", (json_int_t)(self->count - self->at),
                      "errors", self->errors);
}

static bool is_job_of_user (const struct bulk_job *job, const struct exchange *exchange)
{
    return strcmp (job->user, exchange->user ? exchange->user : "") == 0;
}

// The user's job in the path, marked as used. NULL: no such job, and the request was answered.
static struct bulk_job *find_requested_job (struct exchange *self)
{
    int64_t number;
    if (number_parse (self->routed.args[0], &number))
        for (struct bulk_job *at = self->server->bulk; at; at = at->next)
            if (at->number == number && is_job_of_user (at, self)) {
                at->used_us = clock_mono_us ();
                return at;
            }
    exchange_problem (self, 404, "not_find", "there is no such job");
    return NULL;
}

// Convert the filter to the station's names; the caller owns the result. NULL with a reason.
static json_t *station_filter (const json_t *filter, struct reason *reason)
{
    struct request_target target = {0};
    char numbers[TARGET_FIELDS_MAX][24];
    const char *name;
    json_t *value;
    if (!json_is_object (filter) || json_object_size (filter) == 0 ||
        json_object_size (filter) > TARGET_FIELDS_MAX || json_object_get (filter, "after") ||
        json_object_get (filter, "limit")) {
        reason_set (reason, "filter: want fields of the query of /v1/plans, or {\"all\": true}");
        return NULL;
    }
    if (json_is_true (json_object_get (filter, "all")) && json_object_size (filter) == 1)
        return json_object ();
    json_object_foreach ((json_t *)(uintptr_t)filter, name, value)
    {
        char *text = numbers[target.field_count];
        if (!json_is_string (value) && !json_is_integer (value) && !json_is_true (value)) {
            reason_set (reason, "filter: %s: want a string, an integer or true",
                        quoted (span_text (name)));
            return NULL;
        }
        snprintf (text, sizeof *numbers, "%" JSON_INTEGER_FORMAT,
                  json_is_true (value) ? 1 : json_integer_value (value));
        target.fields[target.field_count++] =
            (struct query_field){name, json_is_string (value) ? json_string_value (value) : text};
    }
    return route_check_query (&routes[ROUTE_PLANS], &target, reason)
               ? NULL
               : query_filter (&target, reason);
}

static const struct action *action_named (const char *name)
{
    for (size_t i = 0; name && i < sizeof actions / sizeof *actions; i++)
        if (strcmp (actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

static struct bulk_job *bulk_job_new (struct exchange *exchange, const struct action *action,
                                      json_t *filter)
{
    static int64_t last;
    struct bulk_job *self = memory_new (sizeof *self);
    self->server = exchange->server;
    self->gateway = exchange->gateway;
    self->key = users_key_hold (exchange->key);
    snprintf (self->user, sizeof self->user, "%s", exchange->user ? exchange->user : "");
    memcpy (self->token, exchange->token, sizeof self->token);
    self->number = ++last;
    self->action = action;
    self->filter = filter;
    self->errors = json_array ();
    self->used_us = clock_mono_us ();
    self->timer = (struct timer){.call = on_tick, .owner = self};
    json_object_set_new (filter, "limit", json_integer (PAGE));
    self->next = self->server->bulk;
    self->server->bulk = self;
    timer_set (&self->timer, self->server->reactor, TICK_MS);
    return self;
}

void api_bulk_new (struct exchange *self)
{
    struct reason reason;
    size_t count = 0;
    const struct action *action =
        action_named (json_string_value (json_object_get (self->json, "action")));
    for (const struct bulk_job *at = self->server->bulk; at; at = at->next)
        count++;
    if (!action) {
        exchange_problem (self, 422, "invalid_field",
                          "action: want pause, resume, close, remove, done, run or cancel");
        return;
    }
    json_t *filter = station_filter (json_object_get (self->json, "filter"), &reason);
    if (!filter) {
        exchange_problem (self, 422, "invalid_field", "%s", reason.text);
        return;
    }
    if (count >= JOBS_MAX) {
        json_decref (filter);
        exchange_add_header (self, "Retry-After", "60");
        exchange_problem (self, 429, "too_many", "there are 16 jobs already");
        return;
    }
    struct bulk_job *job = bulk_job_new (self, action, filter);
    char number[24];
    snprintf (number, sizeof number, "%" PRId64, job->number);
    api_add_location (self, "bulk", number);
    request_ids_page (job);
    exchange_answer_json (self, 202, bulk_job_document (job));
}

void api_bulk (struct exchange *self)
{
    json_t *items = json_array ();
    for (struct bulk_job *at = self->server->bulk; !self->routed.args[0] && at; at = at->next)
        if (is_job_of_user (at, self))
            json_array_append_new (items, bulk_job_document (at));
    struct bulk_job *job = self->routed.args[0] ? find_requested_job (self) : NULL;
    if (job)
        exchange_answer_json (self, 200, bulk_job_document (job));
    else if (!self->routed.args[0])
        exchange_answer_json (self, 200, json_pack ("{s:O}", "items", items));
    json_decref (items);
}

void api_bulk_start (struct exchange *self)
{
    struct bulk_job *job = find_requested_job (self);
    const json_t *count = json_object_get (self->json, "count");
    if (!job)
        return;
    if (job->state != BULK_COUNTED) {
        exchange_problem (self, 409, "wrong_state", "the job is not counted, or has begun");
    } else if (!json_is_integer (count) || json_integer_value (count) != (json_int_t)job->count) {
        exchange_problem (self, 409, "other_count", "count: want the %zu that were counted",
                          job->count);
    } else {
        job->state = BULK_RUNNING;
        exchange_answer_json (self, 202, bulk_job_document (job));
    }
}

void api_bulk_delete (struct exchange *self)
{
    struct bulk_job *job = find_requested_job (self);
    if (!job)
        return;
    bulk_job_remove (job);
    exchange_answer_empty (self, 204);
}
