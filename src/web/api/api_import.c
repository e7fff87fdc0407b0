// Import of plans, one JSON object per line. Each has an id or a name, or gets an id made of the
// Idempotency-Key and its line number, so that the whole file may be resent.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "audit.h"
#include "json.h"
#include "memory.h"
#include "plan_document.h"
#include "query.h"
#include "server.h"
#include "submission.h"

enum { IN_FLIGHT = 32, LINES_PER_TURN = 200, ERRORS_MAX = 1000, IMPORT_MS = 600000 };

struct import;

struct slot {
    struct import *import;
    bool used;
    size_t line;
    char id[17];
    struct submission_body body;
    struct zplan_submission submission;
    char rejection[REASON_MAX]; // the station's reason, kept while the existing plan is read
};

struct import {
    struct exchange *exchange;
    struct task task; // continues the import: each turn reads a bounded number of lines
    struct span rest; // the part of the body that is not read yet
    size_t line, in_flight;
    json_int_t accepted, existing, rejected_count;
    json_t *rejected;
    bool hold, dry_run, unknown; // unknown: the station did not answer, so the import stops
    struct slot slots[IN_FLIGHT];
};

static void import_advance (void *owner);

static void add_rejected_line (struct import *self, size_t line, const char *detail)
{
    self->rejected_count++;
    if (json_array_size (self->rejected) < ERRORS_MAX)
        json_array_append_new (
            self->rejected, json_pack ("{s:I, s:s}", "line", (json_int_t)line, "detail", detail));
}

static void finish_import_slot (struct slot *slot, const char *outcome, const char *id)
{
    struct import *self = slot->import;
    const struct exchange *exchange = self->exchange;
    if (exchange->user)
        audit_each (exchange->server->audit, exchange->user, "import", id, outcome);
    submission_clear (&slot->body);
    slot->used = false;
    self->in_flight--;
    import_advance (self);
}

// Compare a rejected line with the existing plan with this id: an export includes defaults, so the
// same plan may have other bytes.
static void on_existing_read (void *owner, const struct station_answer *answer)
{
    struct slot *slot = owner;
    json_t *existing = answer->json ? plan_submitted (answer->json) : NULL;
    bool same = existing && plan_submitted_same (existing, slot->body.object);
    json_decref (existing);
    if (same)
        slot->import->existing++;
    else
        add_rejected_line (slot->import, slot->line, slot->rejection);
    finish_import_slot (slot, same ? "existing" : "rejected", slot->id);
}

static void on_submitted (void *owner, const struct station_answer *answer)
{
    struct slot *slot = owner;
    struct import *self = slot->import;
    const char *outcome = "accepted";
    if (answer->status == ZERO_STATUS_FRAME_PLANERROR_ID && slot->id[0]) {
        const struct question question = {
            .command = "message", .args = {slot->id}, .repeat = true, .reads = true};
        memcpy (slot->rejection, answer->reason, sizeof slot->rejection);
        gateway_ask (self->exchange->gateway, &question, on_existing_read, slot);
        return;
    }
    if (answer->error != ZPLAN_OK || answer->status == ZERO_STATUS_NET_ERROR_ID) {
        outcome = "unknown";
        self->unknown = true;
        add_rejected_line (self, slot->line, "the station did not answer: it may be sent again");
    } else if (answer->status >= ZERO_STATUS_ERROR_FLAG) {
        outcome = "rejected";
        add_rejected_line (self, slot->line, answer->reason);
    } else if (answer->stored == ZPLAN_STORED_BEFORE) {
        outcome = "existing";
        self->existing++;
    } else {
        self->accepted++;
    }
    finish_import_slot (slot, outcome, answer->id[0] ? answer->id : slot->id);
}

// Parse a line of the import. 0, or -1 with a reason.
static int read_import_line (const struct import *self, struct slot *slot, struct span line,
                             struct reason *reason)
{
    const char *key = exchange_request_header (self->exchange, "Idempotency-Key");
    const char *user = self->exchange->user;
    json_t *object = json_read_object (line, reason);
    if (!object)
        return -1;
    if (self->hold)
        json_object_set_new (object, "hold", json_true ());
    bool named = json_object_get (json_object_get (object, "spec"), "key");
    int rc = submission_read (object, &slot->body, reason);
    json_decref (object);
    if (rc)
        return -1;
    rc = submission_check (slot->body.plan, reason);
    slot->id[0] = '\0';
    if (rc == 0 && slot->body.id && !named) {
        snprintf (slot->id, sizeof slot->id, "%s", slot->body.id);
    } else if (rc == 0 && !named) {
        rc = key ? plan_id_of_key (user ? user : "", key, slot->line, slot->id, reason) : -1;
        if (!key)
            reason_set (reason, "id: is wanted, or spec.key, or the header Idempotency-Key");
    }
    return rc;
}

static void submit_slot (struct import *self, struct slot *slot, struct span line)
{
    struct reason reason;
    slot->line = self->line;
    if (read_import_line (self, slot, line, &reason)) {
        submission_clear (&slot->body);
        add_rejected_line (self, self->line, reason.text);
        return;
    }
    if (self->dry_run) {
        submission_clear (&slot->body);
        self->accepted++;
        return;
    }
    slot->used = true;
    self->in_flight++;
    slot->submission = (struct zplan_submission){.station = slot->body.target,
                                                 .plan = slot->body.plan,
                                                 .id = slot->id[0] ? slot->id : NULL,
                                                 .frames = slot->body.frames,
                                                 .count = slot->body.count};
    const struct question question = {.submission = &slot->submission, .repeat = true};
    gateway_ask (self->exchange->gateway, &question, on_submitted, slot);
}

static struct slot *find_free_slot (struct import *self)
{
    for (size_t i = 0; i < IN_FLIGHT; i++)
        if (!self->slots[i].used)
            return &self->slots[i];
    return NULL;
}

static struct span take_next_line (struct import *self)
{
    const uint8_t *end = memchr (self->rest.data, '\n', self->rest.size);
    size_t size = end ? (size_t)(end - self->rest.data) : self->rest.size;
    struct span line = span_of (self->rest.data, size);
    size += end != NULL;
    self->rest = span_of (self->rest.data + size, self->rest.size - size);
    self->line++;
    return line;
}

static void import_advance (void *owner)
{
    struct import *self = owner;
    struct slot *slot;
    size_t lines = 0;
    task_end (&self->task);
    bool may_continue = !self->unknown && !self->exchange->server->ending;
    while (may_continue && self->rest.size && lines++ < LINES_PER_TURN &&
           (slot = find_free_slot (self))) {
        struct span line = take_next_line (self);
        if (line.size && line.data[0] != '\r')
            submit_slot (self, slot, line);
    }
    if (may_continue && self->rest.size && find_free_slot (self))
        task_set (&self->task, self->exchange->server->reactor);
    if (self->in_flight || (may_continue && self->rest.size))
        return;
    json_t *body = json_pack ("{s:I, s:I, s:I, s:O, s:o*}", "accepted", self->accepted, "existing",
                              self->existing, "rejected_count", self->rejected_count, "rejected",
                              self->rejected, "stopped_at",
                              self->rest.size ? json_integer ((json_int_t)self->line) : NULL);
    exchange_answer_json (self->exchange, 200, body);
}

static void on_clear (struct exchange *exchange)
{
    struct import *self = exchange->own;
    task_end (&self->task);
    json_decref (self->rejected);
    free (self);
}

void api_import (struct exchange *exchange)
{
    struct reason reason;
    bool hold, dry_run;
    const char *key = exchange_request_header (exchange, "Idempotency-Key");
    char ignored[17];
    if (query_flag (&exchange->target, "hold", &hold, &reason) ||
        query_flag (&exchange->target, "dry_run", &dry_run, &reason) ||
        (key && plan_id_of_key ("", key, 0, ignored, &reason))) {
        exchange_problem (exchange, 400, "invalid_field", "%s", reason.text);
        return;
    }
    struct import *self = memory_new (sizeof *self);
    self->exchange = exchange;
    self->hold = hold;
    self->dry_run = dry_run;
    self->rest = span_of (exchange->body, exchange->body_size);
    self->rejected = json_array ();
    for (size_t i = 0; i < IN_FLIGHT; i++)
        self->slots[i].import = self;
    exchange->own = self;
    exchange->clear = on_clear;
    exchange->state = EXCHANGE_ASKING;
    self->task = (struct task){.call = import_advance, .owner = self};
    peer_set_deadline (exchange->peer, IMPORT_MS);
    import_advance (self);
}

void api_import_end (struct server *server)
{
    if (server->importer && server->importer->state == EXCHANGE_ASKING)
        import_advance (server->importer->own);
}
