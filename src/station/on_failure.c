#include "on_failure.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "codes.h"
#include "flow_book.h"
#include "json.h"
#include "message.h"
#include "output.h"
#include "permit.h"
#include "rfc3339.h"
#include "target.h"
#include "utf8.h"
#include "zones.h"
#include "target_names.h"
#include "plan_message.h"

enum { SECOND_US = 1000000, TRIES = 10, FIRST_WAIT_S = 10 };

int on_failure_check (struct station *self, const char *user, const struct policy *policy,
                      struct reason *reason)
{
    const char *name = policy ? policy->on_failure.station : NULL;
    if (!name)
        return 0;
    if (user && !permits_station (self, user, span_text (name))) {
        reason_set (reason, "on_failure: station: the key %s may not touch plans of %s",
                    quoted (permit_name (self, user)), quoted (span_text (name)));
        return ZPLAN_EDENY;
    }
    if (station_target (self, span_text (name)) || flow_book_takes (self, span_text (name)))
        return 0;
    return target_not_found (self, user, "on_failure: station", span_text (name), reason);
}

// -- the outcome, as JSON

static void set_text (json_t *object, const char *name, struct span text)
{
    json_object_set_new (object, name, json_from_frame (text));
}

static void set_instant (json_t *object, const char *name, int64_t time_us)
{
    char seconds[RFC3339_SIZE], text[RFC3339_SIZE + 4];
    rfc3339_format (time_us / SECOND_US, seconds);
    snprintf (text, sizeof text, "%.19s.%03dZ", seconds, (int)(time_us % SECOND_US / 1000));
    json_object_set_new (object, name, json_string (text));
}

static void set_hex (json_t *object, const char *name, uint64_t id)
{
    char text[IDENT_SIZE];
    json_object_set_new (object, name, json_string (ident_text (id, text)));
}

// A target's own error is "failed", and its name stands beside it.
static void set_status (json_t *object, uint8_t status)
{
    bool timeout = status == ZERO_STATUS_TIMEOUT_ID, failed = status == ZERO_STATUS_FAILED_ID;
    const char *name = timeout || failed ? NULL : status_name (status);
    char code[64];
    size_t size = 0;
    for (; name && name[size] && size < sizeof code - 1; size++)
        code[size] = (char)tolower ((unsigned char)name[size]);
    json_object_set_new (object, "status", json_string (timeout ? "timeout" : "failed"));
    if (size)
        json_object_set_new (object, "code", json_stringn (code, size));
}

// As the history has it, and bounded like there.
static void set_output (json_t *object, const struct failure *failure)
{
    enum { KEEP = 2048 };
    size_t size;
    const struct plan *plan = failure->plan;
    if (!failure->output.size)
        return;
    char *packed =
        output_make (plan->station, plan->id, failure->exec_id, failure->output, KEEP, &size);
    json_object_set_new (object, "output", output_json (span_of (packed, size), failure->exec_id));
    free (packed);
}

static char *outcome_text (struct station *self, const struct failure *failure)
{
    const struct plan *plan = failure->plan;
    json_t *object = json_object ();
    set_hex (object, "plan", plan->id);
    if (plan->policy && plan->policy->key[0])
        json_object_set_new (object, "name", json_string (plan->policy->key));
    set_text (object, "title", plan->description);
    set_text (object, "target", plan->station);
    set_text (object, "command", plan_command (plan));
    set_status (object, plan->last_state);
    if (plan->state == PLAN_ERROR) // else its next occurrence has its turn
        json_object_set_new (
            object, "verdict",
            json_string (plan->verdict == VERDICT_PENDING ? "pending" : "failure"));
    set_text (object, "reason", failure->reason);
    set_hex (object, "exec_id", failure->exec_id);
    set_text (object, "worker", failure->worker);
    json_object_set_new (object, "attempts", json_integer (failure->decision->attempts));
    set_instant (object, "nominal_at", failure->nominal * SECOND_US);
    set_instant (object, "started_at", (int64_t)failure->exec_id);
    set_instant (object, "ended_at", store_now_us (self->store));
    set_output (object, failure);
    char *text = json_write (object);
    json_decref (object);
    return text;
}

// -- the plan

// 63 bits of the digest of plan and run.
static uint64_t id_of_run (uint64_t plan_id, uint64_t exec_id)
{
    char text[64];
    uint64_t id = 0;
    int size = snprintf (text, sizeof text, "on_failure %" PRIx64 " %" PRIx64, plan_id, exec_id);
    zdigest_t *digest = zdigest_new ();
    zdigest_update (digest, (const byte *)text, (size_t)size);
    for (size_t i = 0; i < sizeof id; i++)
        id |= (uint64_t)zdigest_data (digest)[i] << 8 * i;
    zdigest_destroy (&digest);
    id &= INT64_MAX;
    return id ? id : 1;
}

// Another title than the failed plan's own, also as a prefix: who subscribes to that wants its
// results.
static json_t *title_of (const struct plan *plan)
{
    static const char prefix[] = "on failure: ";
    char text[sizeof prefix + ON_FAILURE_TEXT_MAX];
    size_t size = sizeof prefix - 1;
    struct span from = plan->description;
    memcpy (text, prefix, size);
    for (const uint8_t *at = from.data, *end = from.size ? at + from.size : at; at < end;) {
        size_t bytes = utf8_size (at, end);
        if (!bytes || size + bytes > sizeof text)
            break;
        memcpy (text + size, at, bytes);
        size += bytes;
        at += bytes;
    }
    return json_stringn (text, size);
}

// The PLAN frame: once, as soon as it is stored, tried as often as what `zplan add` makes.
static json_t *plan_frame (const struct plan *plan)
{
    static const char *const inherited[] = {"tenant", "creator"};
    const struct policy *policy = plan->policy;
    json_t *title =
        policy->on_failure.title ? json_string (policy->on_failure.title) : title_of (plan);
    json_t *frame = json_pack ("{s:o, s:i, s:i, s:{s:s, s:i, s:i}}", "description", title,
                               "plan_type", SCHEDULE_NONE, "plan_repet", 1, "retry", "strategy",
                               "exponential", "interval", FIRST_WAIT_S, "max", TRIES - 1);
    for (size_t i = 0; i < sizeof inherited / sizeof *inherited; i++) {
        json_t *value = json_object_get (policy->fields, inherited[i]);
        if (value)
            json_object_set (frame, inherited[i], value);
    }
    return frame;
}

struct plan *on_failure_plan (struct station *self, const struct failure *failure)
{
    const struct plan *plan = failure->plan;
    const struct on_failure *call = plan->policy ? &plan->policy->on_failure : NULL;
    if (!failure->decision->exhausted || !call || !call->command)
        return NULL;
    struct plan_fields fields;
    struct reason reason;
    struct span station = call->station ? span_text (call->station) : plan->station;
    const struct target *target = station_target (self, station);
    bool publishes = target && target_type (target) == TARGET_PUB;
    json_t *object = plan_frame (plan);
    struct plan *called = NULL;
    // Only the title can be against the settings: an older plan's may be longer than they allow
    // now.
    if (!plan_frame_read (object, &plan_limits_default, &fields, &reason)) {
        uint8_t desc[DESC_SIZE_MAX];
        struct span frames[MESSAGE_FRAMES_MAX];
        struct message message;
        struct misses misses;
        char *frame = json_write (object), *outcome = outcome_text (self, failure);
        if (target && target_type (target) == TARGET_VOTE)
            fields.vote.need = VOTE_ALL;
        message_start (&message, ZERO_BYTE_COMMAND_PLAN);
        message_add (&message, ZERO_FRAME_PLAN, span_text (frame));
        message_add (&message, ZERO_FRAME_STATION_ID, station);
        message_add (&message, publishes ? ZERO_FRAME_PUB_TITLE : ZERO_FRAME_COMMAND,
                     span_text (call->command));
        message_add (&message, publishes ? ZERO_FRAME_CONTENT : ZERO_FRAME_ARG,
                     span_text (outcome));
        message_layout (&message, desc, frames);
        message.desc_bytes = frames[0];
        called = plan_new_submitted (id_of_run (plan->id, failure->exec_id), &message, plan->caller,
                                     &fields, station_now (self));
        called->revision = station_revision ();
        if (engine_submit (called, zones_of (self, called), station_now (self), &misses, &reason))
            plan_destroy (&called);
        free (frame);
        free (outcome);
        plan_fields_clear (&fields);
    }
    json_decref (object);
    return called;
}

char *on_failure_unplaced (const struct failure *failure, size_t *ret_size)
{
    const struct plan *plan = failure->plan;
    *ret_size = 0;
    if (plan->policy->log == LOG_NONE)
        return NULL;
    return store_record (
        &(struct outcome_record){
            .title = plan->description,
            .key = policy_key (plan->policy),
            .nominal = failure->nominal,
            .status = ZERO_STATUS_SEND_ERROR_ID,
            .state = plan->state,
            .exec_id = failure->exec_id,
            .worker = plan->station,
            .reason =
                span_text ("on_failure: the command is not called, too many plans are stored"),
        },
        ret_size);
}
