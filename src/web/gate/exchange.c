#include "exchange.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "assets.h"
#include "audit.h"
#include "clock.h"
#include "json.h"
#include "status_names.h"
#include "memory.h"
#include "problem.h"
#include "server.h"
#include "users.h"

enum { BODY_MS = 30000, IMPORT_MS = 600000, ANSWER_MS = 60000, BODY_RATE = 1024 };

// -- the answer

void exchange_add_header (struct exchange *self, const char *name, const char *value)
{
    if (self->header_count == EXCHANGE_HEADERS_MAX)
        return;
    self->headers[self->header_count].name = name;
    self->headers[self->header_count++].value = memory_text (value);
}

// Add the headers of every answer; a resource may have set others instead.
static void add_headers (struct exchange *self, struct MHD_Response *response)
{
    static const char *const always[][2] = {
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Vary", "Authorization, Accept"},
        {"Cache-Control", "no-store"},
        {"Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'"},
    };
    for (size_t i = 0; i < self->header_count; i++)
        MHD_add_response_header (response, self->headers[i].name, self->headers[i].value);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (!MHD_get_response_header (response, always[i][0]))
            MHD_add_response_header (response, always[i][0], always[i][1]);
}

bool exchange_audit (struct exchange *self)
{
    self->audited = audit_exchange (self->server->audit, self);
    if (!self->audited)
        exchange_problem (self, 503, "no_audit", "the audit cannot be written");
    return self->audited;
}

void exchange_suspend (struct exchange *self)
{
    self->suspended = true;
    MHD_suspend_connection (self->connection);
}

void exchange_resume (struct exchange *self)
{
    if (!self->suspended)
        return;
    self->suspended = false;
    MHD_resume_connection (self->connection);
    server_wake (self->server);
}

void exchange_response (struct exchange *self, unsigned status, struct MHD_Response *response)
{
    add_headers (self, response);
    self->response = response;
    self->status = status;
    self->state = EXCHANGE_ANSWERED;
    if (self->audited)
        audit_exchange (self->server->audit, self);
    server_count_request (self->server, self);
    exchange_resume (self);
}

void exchange_answer_bytes (struct exchange *self, unsigned status, const char *type, char *bytes,
                            size_t size)
{
    exchange_add_header (self, "Content-Type", type);
    exchange_response (self, status,
                       MHD_create_response_from_buffer_with_free_callback (size, bytes, free));
}

void exchange_answer_empty (struct exchange *self, unsigned status)
{
    exchange_response (
        self, status,
        MHD_create_response_from_buffer (0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT));
}

static void answer_json (struct exchange *self, unsigned status, const char *type, json_t *json)
{
    char *text = json_write (json);
    json_decref (json);
    exchange_answer_bytes (self, status, type, text, strlen (text));
}

void exchange_answer_json (struct exchange *self, unsigned status, json_t *json)
{
    answer_json (self, status, "application/json", json);
}

void exchange_problem (struct exchange *self, unsigned status, const char *code, const char *format,
                       ...)
{
    struct reason detail;
    va_list list;
    va_start (list, format);
    reason_format (&detail, format, list);
    va_end (list);
    json_t *problem = problem_new (self->server->settings->root, (int)status, code, detail.text);
    if (self->errors)
        json_object_set (problem, "errors", self->errors);
    if (self->id[0])
        json_object_set_new (problem, "id", json_string (self->id));
    answer_json (self, status, "application/problem+json", problem);
}

void exchange_fail (struct exchange *self, const struct station_answer *answer)
{
    char code[JSON_CODE_SIZE], after[16];
    bool unsafe = route_is_unsafe (self->routed.route);
    if (answer->error == ZPLAN_ERROR_AGAIN || answer->error == ZPLAN_ERROR_CLOSED) {
        exchange_add_header (self, "Retry-After", "1");
        exchange_problem (self, 503, "busy", "zplan-web has too many requests in progress");
        return;
    }
    if (answer->error != ZPLAN_OK && unsafe) {
        exchange_problem (self, 504, "no_answer",
                          "the station did not answer: it is unknown whether it was done");
        return;
    }
    if (answer->error != ZPLAN_OK) {
        exchange_add_header (self, "Retry-After", "1");
        exchange_problem (self, 503, "no_answer", "the station did not answer");
        return;
    }
    int after_s = 1;
    bool removes = strcmp (self->routed.route->method, "DELETE") == 0;
    int status = answer->status == ZERO_STATUS_BUSY_ID
                     ? problem_busy (answer->reason, removes, &after_s)
                     : problem_status (answer->status, unsafe);
    self->errors = problem_errors (json_object_get (answer->json, "errors"));
    snprintf (after, sizeof after, "%d", after_s);
    if (status == 503)
        exchange_add_header (self, "Retry-After", after);
    exchange_problem (self, (unsigned)status, json_status_code (answer->status, code), "%s",
                      answer->reason);
}

// -- the station

void *exchange_own_block (struct exchange *self, void *block)
{
    if (self->kept_count == EXCHANGE_KEPT_MAX)
        abort (); // a bug: no resource keeps that many
    return self->kept[self->kept_count++] = block;
}

static void on_answer (void *owner, const struct station_answer *answer)
{
    struct exchange *self = owner;
    exchange_fn *failed = self->failed ? self->failed : exchange_fail;
    self->failed = NULL; // `fn` may ask a further question
    if (answer->error == ZPLAN_OK && answer->status < ZERO_STATUS_ERROR_FLAG)
        self->fn (self, answer);
    else
        failed (self, answer);
}

void exchange_question (struct exchange *self, const struct question *question, exchange_fn *fn)
{
    struct question asked = *question;
    if (!asked.user)
        asked.user = self->user;
    asked.reads = !route_is_unsafe (self->routed.route);
    self->fn = fn;
    self->state = EXCHANGE_ASKING;
    gateway_ask (self->gateway, &asked, on_answer, self);
}

void exchange_ask (struct exchange *self, exchange_fn *fn, ...)
{
    const struct route *route = self->routed.route;
    struct question question = {.command = route->command, .repeat = route->repeat};
    const char *arg;
    va_list args;
    va_start (args, fn);
    for (size_t i = 0; i < GATEWAY_ARGS_MAX && (arg = va_arg (args, const char *)); i++)
        question.args[i] = arg;
    va_end (args);
    exchange_question (self, &question, fn);
}

bool exchange_observes (const json_t *answer)
{
    size_t i;
    const json_t *role;
    json_array_foreach (json_object_get (answer, "roles"), i, role)
    {
        const char *name = json_string_value (role);
        if (name && strcmp (name, "observe") == 0)
            return true;
    }
    return false;
}

const char *exchange_request_header (const struct exchange *self, const char *name)
{
    return MHD_lookup_connection_value (self->connection, MHD_HEADER_KIND, name);
}

// -- life of an exchange

struct exchange *exchange_new (struct server *server, struct MHD_Connection *connection,
                               const char *target)
{
    struct exchange *self = memory_new (sizeof *self);
    self->server = server;
    self->connection = connection;
    self->peer =
        MHD_get_connection_info (connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    snprintf (self->address, sizeof self->address, "%s", self->peer->address);
    self->raw = memory_text (target);
    self->begun_us = clock_mono_us ();
    self->gateway = server->gateway;
    return self;
}

void exchange_destroy (struct exchange **self_p)
{
    struct exchange *self = *self_p;
    users_leave (self);
    if (self->server->importer == self)
        self->server->importer = NULL;
    if (self->clear)
        self->clear (self);
    for (size_t i = 0; i < self->kept_count; i++)
        free (self->kept[i]);
    for (size_t i = 0; i < self->header_count; i++)
        free (self->headers[i].value);
    if (self->response)
        MHD_destroy_response (self->response);
    request_target_clear (&self->target);
    json_decref (self->json);
    json_decref (self->errors);
    free (self->body);
    free (self->raw);
    free (self);
    *self_p = NULL;
}

static bool append_to_body (struct exchange *self, const char *data, size_t size)
{
    if (self->body_size + size > self->body_max)
        return false; // the library gives no more than Content-Length
    if (!self->body)
        self->body = memory_new (self->body_max);
    // A large body has more time while it arrives at a minimum rate, since it blocks other imports.
    int64_t took_us = clock_mono_us () - self->begun_us;
    if (self->server->importer == self && took_us < IMPORT_MS * 1000LL &&
        (int64_t)self->body_size >= took_us / 1000000 * BODY_RATE)
        peer_set_deadline (self->peer, BODY_MS);
    memcpy (self->body + self->body_size, data, size);
    self->body_size += size;
    return true;
}

static void dispatch_exchange (struct exchange *self)
{
    struct reason reason;
    peer_set_deadline (self->peer, ANSWER_MS);
    if (!self->routed.route) {
        assets_answer (self);
        return;
    }
    if (self->server->ending) {
        exchange_problem (self, 503, "ending", "zplan-web ends");
        return;
    }
    if (self->body_size && self->routed.route->body != BODY_LINES) {
        self->json = json_read_object (span_of (self->body, self->body_size), &reason);
        if (!self->json) {
            exchange_problem (self, 400, "invalid_json", "%s", reason.text);
            return;
        }
    }
    // At a sign-in the user is not known yet.
    const struct route *route = self->routed.route;
    if (route_is_unsafe (route) && route != &routes[ROUTE_SESSION_NEW] && !exchange_audit (self))
        return;
    if (users_may_continue (self))
        self->server->call (self);
    else
        exchange_problem (self, 401, "no_token", "the user or the session has ended");
}

static int queue_answer (struct exchange *self)
{
    return MHD_queue_response (self->connection, self->status, self->response) == MHD_YES ? 0 : -1;
}

int exchange_handle (struct exchange *self, const char *method, const char *version,
                     const char *data, size_t *size)
{
    if (self->state == EXCHANGE_NEW) {
        self->state = EXCHANGE_READING;
        if (exchange_check_header (self, method, version))
            return queue_answer (self);
        peer_set_deadline (self->peer, BODY_MS);
        return 0; // an answer in this call would close the connection, as if there were a body
    }
    if (*size) {
        bool fits = append_to_body (self, data, *size);
        *size = 0;
        return fits ? 0 : -1;
    }
    if (self->state == EXCHANGE_READING)
        dispatch_exchange (self);
    if (self->state == EXCHANGE_ANSWERED)
        return queue_answer (self);
    if (!self->suspended)
        exchange_suspend (self);
    return 0;
}
