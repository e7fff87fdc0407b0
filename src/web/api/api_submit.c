// Submission of plans.
//
// A submission always has an id: that of the path, of the body, of the Idempotency-Key, or a random
// one made here; or it has a name (`key`), which also identifies it. So it may be resent to the
// station, and a client without an answer knows which plan to look for. A plan that has ended may
// be gone, but its Idempotency-Key is remembered for a while.
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "clock.h"
#include "ident.h"
#include "json_names.h"
#include "key_memory.h"
#include "memory.h"
#include "plan_document.h"
#include "random.h"
#include "server.h"
#include "submission.h"

// State of a submission, which the question borrows from.
struct submit_call {
    struct submission_body body;
    struct zplan_submission submission;
    unsigned status;    // 201, or 200: the plan existed
    struct key_use use; // use of the Idempotency-Key; without one its `key` is 0
    char words[REASON_MAX];
};

static void clear_submit_call (struct exchange *self)
{
    struct submit_call *own = self->own;
    submission_clear (&own->body);
    free (own);
}

// Check the plan by its rules. 0, or -1: invalid, and the request was answered with the reason.
static int check_submission (struct exchange *self, const char *plan)
{
    struct reason reason = {""};
    int rc = submission_check (plan, &reason);
    if (rc)
        exchange_problem (self, 422, "plan_error", "%s", reason.text);
    return rc;
}

// Read the plan in the body. 0, or -1: invalid, and the request was answered.
static int read_plan_body (struct exchange *self, struct submission_body *ret)
{
    struct reason reason;
    if (!self->json) {
        exchange_problem (self, 400, "invalid_json", "want a plan as a JSON object");
        return -1;
    }
    if (submission_read (self->json, ret, &reason)) {
        exchange_problem (self, 422, "plan_error", "%s", reason.text);
        return -1;
    }
    if (check_submission (self, ret->plan) == 0)
        return 0;
    submission_clear (ret);
    return -1;
}

// -- the answer

static void on_plan_read_after_submit (struct exchange *self, const struct station_answer *answer)
{
    const struct submit_call *own = self->own;
    bool read = answer->error == ZPLAN_OK && answer->status < ZERO_STATUS_ERROR_FLAG;
    char etag[PLAN_ETAG_SIZE];
    api_add_location (self, "plans", self->id);
    if (read)
        exchange_add_header (self, "ETag", plan_etag (answer->json, false, etag));
    json_t *plan = read ? json_names (JSON_PLAN, answer->json)
                        : json_pack ("{s:s, s:s}", "id", self->id, "target", own->body.target);
    json_object_del (plan, "frames");
    exchange_answer_json (self, own->status, plan);
}

// Answer a rejected plan: another plan exists under this id, or the plan is invalid.
static void on_existing_plan_read (struct exchange *self, const struct station_answer *answer)
{
    const struct submit_call *own = self->own;
    bool other = answer->error == ZPLAN_OK && answer->status < ZERO_STATUS_ERROR_FLAG;
    bool put = self->routed.route == &routes[ROUTE_PLAN_PUT];
    exchange_problem (self, put && other ? 409 : 422, other ? "other_plan" : "plan_error", "%s",
                      own->words);
}

// Read the plan; `fn` is called whether or not that succeeds.
static void request_submitted_plan (struct exchange *self, exchange_fn *fn)
{
    const struct question question = {.command = "message", .args = {self->id}, .repeat = true};
    self->failed = fn;
    exchange_question (self, &question, fn);
}

// Remember which plan the Idempotency-Key was used for.
static void remember_key_use (struct exchange *self)
{
    struct submit_call *own = self->own;
    if (!own->use.key || !ident_parse (span_text (self->id), &own->use.plan_id))
        return;
    if (!self->server->keys)
        self->server->keys = key_memory_new ();
    key_memory_put (self->server->keys, &own->use, clock_mono_us () / 1000000);
}

// Answer a request whose Idempotency-Key was used before. True: it was answered, or will be. False:
// the key is new, so the plan is submitted.
static bool answer_repeated_key (struct exchange *self)
{
    struct submit_call *own = self->own;
    const struct key_memory *keys = self->server->keys;
    const struct key_use *use =
        keys && own->use.key ? key_memory_find (keys, own->use.key, clock_mono_us () / 1000000)
                             : NULL;
    if (!use)
        return false;
    if (use->body_hash != own->use.body_hash) {
        exchange_problem (self, 422, "other_plan",
                          "Idempotency-Key: another plan was submitted with it");
        return true;
    }
    own->status = 200;
    ident_text (use->plan_id, self->id);
    request_submitted_plan (self, on_plan_read_after_submit);
    return true;
}

static void on_submit_failed (struct exchange *self, const struct station_answer *answer)
{
    struct submit_call *own = self->own;
    if (answer->error == ZPLAN_OK && answer->status == ZERO_STATUS_FRAME_PLANERROR_ID) {
        memcpy (own->words, answer->reason, sizeof own->words);
        request_submitted_plan (self, on_existing_plan_read);
        return;
    }
    bool unknown = answer->error != ZPLAN_OK || answer->status == ZERO_STATUS_NET_ERROR_ID;
    if (unknown && self->id[0])
        api_add_location (self, "plans", self->id);
    if (answer->status == ZERO_STATUS_NOT_FIND_ID) { // something that the plan names
        exchange_problem (self, 422, "not_find", "%s", answer->reason);
        return;
    }
    exchange_fail (self, answer);
}

static void on_submitted (struct exchange *self, const struct station_answer *answer)
{
    struct submit_call *own = self->own;
    const char *prefer = exchange_request_header (self, "Prefer");
    if (answer->id[0])
        snprintf (self->id, sizeof self->id, "%s", answer->id);
    own->status = answer->stored == ZPLAN_STORED_NEW ? 201 : 200;
    remember_key_use (self);
    if (prefer && strcmp (prefer, "return=minimal") == 0) {
        const struct station_answer none = {.error = ZPLAN_ERROR_NO_ANSWER};
        on_plan_read_after_submit (self, &none);
    } else {
        request_submitted_plan (self, on_plan_read_after_submit);
    }
}

static uint64_t body_hash (const struct exchange *self)
{
    unsigned char sum[crypto_hash_sha256_BYTES];
    uint64_t number;
    crypto_hash_sha256 (sum, (const unsigned char *)self->body, self->body_size);
    memcpy (&number, sum, sizeof number);
    return number;
}

// Submit the plan; `body` is taken. `key` is the number made of the Idempotency-Key; 0: there is
// none.
static void send_submission (struct exchange *self, struct submission_body *body, uint64_t key)
{
    struct submit_call *own = memory_new (sizeof *own);
    own->body = *body;
    self->own = own;
    self->clear = clear_submit_call;
    own->submission = (struct zplan_submission){.station = body->target,
                                                .plan = body->plan,
                                                .id = self->id[0] ? self->id : NULL,
                                                .frames = own->body.frames,
                                                .count = own->body.count};
    own->use = (struct key_use){.key = key, .body_hash = key ? body_hash (self) : 0};
    const struct question question = {.submission = &own->submission, .repeat = true};
    if (answer_repeated_key (self))
        return;
    self->failed = on_submit_failed;
    exchange_question (self, &question, on_submitted);
}

// -- the resources

void api_plan_new (struct exchange *self)
{
    struct submission_body body = {0};
    struct reason reason;
    const char *key = exchange_request_header (self, "Idempotency-Key");
    const char *user = self->user ? self->user : "";
    uint64_t number = 0;
    if (key && plan_id_of_key (user, key, 0, self->id, &reason)) {
        exchange_problem (self, 400, "invalid_field", "%s", reason.text);
        return;
    }
    if (read_plan_body (self, &body))
        return;
    if (key && body.id) {
        submission_clear (&body);
        exchange_problem (self, 400, "invalid_field", "id: not together with Idempotency-Key");
        return;
    }
    // A plan with a name is identified by it, and must not have an id as well.
    bool named = json_object_get (json_object_get (self->json, "spec"), "key");
    if (key)
        ident_parse (span_text (self->id), &number);
    if (named)
        self->id[0] = '\0';
    else if (body.id)
        snprintf (self->id, sizeof self->id, "%s", body.id);
    else if (!key)
        ident_text ((random_from_kernel () & INT64_MAX) | 1, self->id);
    send_submission (self, &body, number);
}

void api_plan_put (struct exchange *self)
{
    struct submission_body body = {0};
    uint64_t id, body_id;
    if (!ident_parse (span_text (self->routed.args[0]), &id)) {
        exchange_problem (self, 400, "invalid_field", "id: want 1..7fffffffffffffff in hex");
        return;
    }
    ident_text (id, self->id);
    if (read_plan_body (self, &body))
        return;
    if (body.id && (!ident_parse (span_text (body.id), &body_id) || body_id != id)) {
        submission_clear (&body);
        api_reject_field (self, "id", "that of the path, or none");
        return;
    }
    send_submission (self, &body, 0);
}

// -- when would it run

static void on_preview (struct exchange *self, const struct station_answer *answer)
{
    const json_t *zone = json_object_get (json_object_get (self->json, "spec"), "timezone");
    json_t *body = plan_next_document (answer->json);
    json_object_set (body, "zone", zone ? (json_t *)(uintptr_t)zone : json_null ());
    exchange_answer_json (self, 200, body);
}

void api_preview (struct exchange *self)
{
    json_t *spec = json_object_get (self->json, "spec");
    const char *count = api_read_count (self);
    if (!count)
        return;
    if (!json_is_object (spec)) {
        exchange_problem (self, 422, "plan_error", "spec: want an object");
        return;
    }
    char *plan = exchange_own_block (self, json_dumps (spec, JSON_COMPACT));
    if (check_submission (self, plan))
        return;
    exchange_ask (self, on_preview, plan, count, NULL);
}
