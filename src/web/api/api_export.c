// Export of plans, one JSON object per line, as /v1/import accepts them.
//
// Pages of the list are read one after another, and the messages of a page several at a time, as
// fast as the peer reads: while too much output is pending, nothing more is requested.
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "ident.h"
#include "json.h"
#include "memory.h"
#include "plan_document.h"
#include "query.h"
#include "server.h"
#include "zplan_codes.h"

enum { BLOCK = 4096, PENDING_OUTPUT_MAX = 65536, IN_FLIGHT = 16, PAGE = 100, PROGRESS_MS = 60000 };

struct export
{
    struct exchange *exchange; // NULL: the export has ended while questions are in flight
    json_t *filter;
    char *page_filter; // the filter of the page in flight
    char ids[PAGE][IDENT_SIZE];
    size_t count;     // ids of the page
    size_t next;      // index of the next one
    size_t in_flight; // questions
    bool last, failed;
    char *pending;
    size_t size, sent;
};

static void export_advance (struct export *self);

static void export_free (struct export *self)
{
    json_decref (self->filter);
    free (self->page_filter);
    free (self->pending);
    free (self);
}

// Handle the end of a question. True: use the answer. False: the export has ended, and may have
// been freed, or has failed.
static bool export_question_ended (struct export *self, const struct station_answer *answer)
{
    self->in_flight--;
    if (!self->exchange) {
        if (!self->in_flight)
            export_free (self);
        return false;
    }
    bool gone = answer->error == ZPLAN_OK && answer->status == ZERO_STATUS_NOT_FIND_ID;
    if (!gone && (answer->error != ZPLAN_OK || answer->status >= ZERO_STATUS_ERROR_FLAG)) {
        self->failed = true; // the answer is cut off, which the peer notices
        exchange_resume (self->exchange);
        return false;
    }
    return true;
}

static void export_request (struct export *self, const char *word, const char *arg, gateway_fn *fn)
{
    const struct exchange *exchange = self->exchange;
    const struct question question = {
        .command = word, .args = {arg}, .repeat = true, .user = exchange->user};
    self->in_flight++;
    gateway_ask (exchange->gateway, &question, fn, self);
}

static void on_plan (void *owner, const struct station_answer *answer)
{
    struct export *self = owner;
    if (!export_question_ended (self, answer))
        return;
    json_t *plan = answer->json ? plan_submitted (answer->json) : NULL;
    char *line = plan ? json_write (plan) : NULL;
    size_t size = line ? strlen (line) : 0;
    if (line) {
        self->pending = memory_resize (self->pending, self->size + size + 1);
        memcpy (self->pending + self->size, line, size);
        self->pending[self->size + size] = '\n';
        self->size += size + 1;
    }
    free (line);
    json_decref (plan);
    export_advance (self);
    exchange_resume (self->exchange);
}

static void on_page (void *owner, const struct station_answer *answer)
{
    struct export *self = owner;
    size_t i;
    const json_t *plan;
    if (!export_question_ended (self, answer))
        return;
    self->count = self->next = 0;
    json_array_foreach (json_object_get (answer->json, "plans"), i, plan)
    {
        json_int_t id = json_integer_value (json_object_get (plan, "plan_id"));
        if (id > 0 && self->count < PAGE)
            ident_text ((uint64_t)id, self->ids[self->count++]);
    }
    json_t *next = json_object_get (answer->json, "next");
    self->last = !next;
    if (next)
        json_object_set (self->filter, "after", next);
    export_advance (self);
    exchange_resume (self->exchange);
}

// Send as many questions as the limits allow now.
static void export_advance (struct export *self)
{
    while (self->next < self->count && self->in_flight < IN_FLIGHT &&
           self->size - self->sent < PENDING_OUTPUT_MAX && !self->failed)
        export_request (self, "message", self->ids[self->next++], on_plan);
    if (self->next < self->count || self->in_flight || self->last || self->failed)
        return;
    free (self->page_filter);
    self->page_filter = json_write (self->filter);
    export_request (self, "list", self->page_filter, on_page);
}

static ssize_t on_bytes (void *cls, uint64_t position, char *out, size_t most)
{
    struct export *self = cls;
    (void)position;
    if (self->sent == self->size) {
        self->sent = self->size = 0;
        if (!self->exchange->server->ending)
            export_advance (self);
    }
    if (self->size) {
        size_t size = self->size - self->sent < most ? self->size - self->sent : most;
        memcpy (out, self->pending + self->sent, size);
        self->sent += size;
        peer_set_deadline (self->exchange->peer, PROGRESS_MS);
        return (ssize_t)size;
    }
    if (self->failed || self->exchange->server->ending)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (self->last && !self->in_flight)
        return MHD_CONTENT_READER_END_OF_STREAM;
    exchange_suspend (self->exchange);
    return 0;
}

static void on_clear (struct exchange *exchange)
{
    struct export *self = exchange->own;
    self->exchange = NULL;
    if (!self->in_flight)
        export_free (self);
}

void api_export (struct exchange *exchange)
{
    struct reason reason;
    json_t *filter = query_filter (&exchange->target, &reason);
    if (!filter) {
        exchange_problem (exchange, 400, "invalid_field", "%s", reason.text);
        return;
    }
    struct export *self = memory_new (sizeof *self);
    json_object_set_new (filter, "limit", json_integer (PAGE));
    self->filter = filter;
    self->exchange = exchange;
    exchange->own = self;
    exchange->clear = on_clear;
    exchange_add_header (exchange, "Content-Type", "application/x-ndjson");
    exchange_add_header (exchange, "Content-Disposition", "attachment; filename=\"plans.ndjson\"");
    exchange_response (
        exchange, 200,
        MHD_create_response_from_callback (MHD_SIZE_UNKNOWN, BLOCK, on_bytes, self, NULL));
}
