// Writing. The fields are one table (plan_record.c), so that writing and reading cannot drift
// apart.
#include "plan_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "callback_rule.h"
#include "codes.h"
#include "desc.h"
#include "memory.h"
#include "plan_record.h"
#include "plan_step.h"

// Room for a text without its frames: names and numbers, few of them long.
enum { ROOM_BASE = 640 };

// Room that most frames need: some have escapes, some are base64.
static size_t room_for (struct span frame)
{
    return frame.size + frame.size / 2 + 16;
}

static size_t public_room (const struct plan *self)
{
    return ROOM_BASE + room_for (self->request_id) + room_for (self->station) +
           room_for (self->caller) + room_for (self->description) + room_for (self->step);
}

static size_t stored_room (const struct plan *self)
{
    size_t room = public_room (self);
    for (size_t i = 0; i < self->message_count; i++)
        room += room_for (self->messages[i]);
    return room;
}

static void write_vote (const struct plan *self, const struct json_name *name,
                        struct json_text *text)
{
    json_t *vote = vote_rule_write (&self->vote);
    char *rule = json_write (vote);
    json_text_name (text, name);
    json_text_raw (text, span_text (rule));
    free (rule);
    json_decref (vote);
}

static void write_step (const struct plan *self, const struct json_name *name, bool stored,
                        struct json_text *text)
{
    static const struct json_name shown = JSON_NAME ("flow");
    struct plan_step step;
    if (stored && self->step.size) {
        json_text_name (text, name);
        json_text_frame (text, self->step);
    } else if (plan_step_parse (self->step, &step)) {
        json_text_name (text, &shown);
        plan_step_write (&step, text);
    }
}

// Write a field, if the plan has it.
static void write_field (const struct plan *self, const struct record_field *field, bool stored,
                         struct json_text *text)
{
    const uint8_t *member = (const uint8_t *)self + field->offset;
    const char *words;
    struct span frame;
    int64_t value;
    switch (field->kind) {
    case INTEGER:
        value = record_get_integer (self, field);
        // Keep it within the bounds of reading: a counter that an operator set to its bound stays
        // there.
        value = value < field->min ? field->min : value > field->max ? field->max : value;
        if (value || field->presence != RARE)
            json_text_number (text, &field->written, value, stored ? field->padded : 0);
        return;
    case SPAN:
        memcpy (&frame, member, sizeof frame);
        json_text_name (text, &field->written);
        json_text_frame (text, frame);
        return;
    case PLAN_ID:
        json_text_number (text, &field->written, (int64_t)self->id, 0);
        return;
    case NO_KEEP:
        json_text_name (text, &field->written);
        json_text_raw (text, self->schedule.keep ? span_of ("true", 4) : span_of ("false", 5));
        return;
    case VOTE:
        if (self->vote.need != VOTE_NONE)
            write_vote (self, &field->written, text);
        return;
    case WORDS:
        memcpy (&words, member, sizeof words);
        if (!words)
            return;
        json_text_name (text, &field->written);
        json_text_frame (text, span_text (words));
        return;
    case STEP:
        if (self->step.size)
            write_step (self, &field->written, stored, text);
        return;
    case POLICY:
        if (self->policy)
            policy_write (self->policy, stored, text);
        return;
    case MESSAGES:
        json_text_name (text, &field->written);
        json_text_raw (text, span_of ("[", 1));
        for (size_t i = 0; i < self->message_count; i++) {
            json_text_item (text);
            json_text_frame (text, self->messages[i]);
        }
        json_text_raw (text, span_of ("]", 1));
        return;
    }
}

static void write_member (struct json_text *text, const char *name, int64_t value)
{
    char member[64];
    snprintf (member, sizeof member, ",\"%s\":%" PRId64, name, value);
    json_text_raw (text, span_text (member));
}

// Write the plan's position among its iterations. `ahead`: 1 for a run that begins and is not
// counted yet.
static void write_place (const struct plan *self, int64_t ahead, struct json_text *text)
{
    int64_t cycle = policy_cycle (self->policy);
    if (!cycle)
        return;
    struct run_place place = policy_place (plan_occurrence (self).used + ahead, cycle);
    write_member (text, "current_iteration", place.iteration);
    write_member (text, "current_cycle", place.cycle);
}

static void write_text (struct json_text *text, const char *name, const char *value)
{
    char member[TRACE_SIZE + 32];
    snprintf (member, sizeof member, ",\"%s\":\"%s\"", name, value);
    json_text_raw (text, span_text (member));
}

bool plan_trace (const struct plan *self, uint64_t exec_id, int64_t nominal, char ret[TRACE_SIZE])
{
    const struct trace_run run = {self->id, exec_id, nominal,
                                  schedule_repeats (self->schedule.type)};
    if (!self->policy || !*self->policy->traceparent)
        return false;
    trace_of_run (self->policy->traceparent, &run, ret);
    return true;
}

// Write the traceparent: as submitted, or a run's own; if that began a new trace, with a link to
// the submission's.
static void write_trace (const struct plan *self, uint64_t exec_id, int64_t nominal,
                         struct json_text *text)
{
    char own[TRACE_SIZE];
    if (!plan_trace (self, exec_id, nominal, own))
        return;
    write_text (text, "traceparent", exec_id ? own : self->policy->traceparent);
    if (exec_id && schedule_repeats (self->schedule.type))
        write_text (text, "trace_link", self->policy->traceparent);
}

static void write_public (const struct plan *self, int64_t ahead, struct json_text *text)
{
    json_text_raw (text, span_of ("{", 1));
    for (size_t i = 0; i < PUBLIC_FIELDS; i++)
        write_field (self, &plan_record[i], false, text);
    if (self->policy)
        write_place (self, ahead, text);
}

static void write_shown (const struct plan *self, uint64_t exec_id, int64_t nominal,
                         struct json_text *text)
{
    write_public (self, 0, text);
    if (self->policy)
        write_trace (self, exec_id, nominal, text);
    json_text_raw (text, span_of ("}", 1));
}

void plan_write_stored (const struct plan *self, struct json_text *text)
{
    json_text_raw (text, span_of ("{", 1));
    for (size_t i = 0; i < FIELDS; i++)
        write_field (self, &plan_record[plan_record_order[i]], true, text);
    json_text_raw (text, span_of ("}", 1));
}

char *plan_stored_text (const struct plan *self, size_t *ret_size)
{
    struct json_text text;
    json_text_start (&text, stored_room (self));
    plan_write_stored (self, &text);
    return json_text_end (&text, ret_size);
}

char *plan_public_text (const struct plan *self)
{
    struct json_text text;
    size_t size;
    json_text_start (&text, public_room (self));
    write_shown (self, 0, 0, &text);
    return json_text_end (&text, &size);
}

char *plan_run_text (const struct plan *self, uint64_t exec_id, int64_t nominal)
{
    struct json_text text;
    size_t size;
    json_text_start (&text, public_room (self));
    write_shown (self, exec_id, nominal, &text);
    return json_text_end (&text, &size);
}

void plan_write_dispatch (const struct plan *self, int64_t deadline, struct json_text *text)
{
    static const struct json_name name = JSON_NAME ("deadline");
    write_public (self, self->extra ? 0 : 1, text);
    if (self->policy)
        write_trace (self, self->exec_id, plan_nominal (self, self->exec_id), text);
    json_text_number (text, &name, deadline, 0);
    json_text_raw (text, span_of ("}", 1));
}

// Add the plan's position among its iterations, which is derived and never stored.
static void show_place (json_t *object)
{
    struct policy *policy;
    struct reason reason;
    int64_t runs = 0, skips = 0;
    if (!policy_read_from (object, &policy, &reason))
        return;
    int64_t cycle = policy_cycle (policy);
    policy_destroy (&policy);
    if (!cycle || !json_get_integer (object, "real_repet", 0, INT64_MAX / 4, &runs) ||
        !json_get_integer (object, "skip_num", 0, INT64_MAX / 4, &skips))
        return;
    struct run_place place = policy_place (runs + skips, cycle);
    json_object_set_new (object, "current_iteration", json_integer (place.iteration));
    json_object_set_new (object, "current_cycle", json_integer (place.cycle));
}

// The index among `messages` of its first frame of this type; 0: it has none.
static size_t stored_frame (const json_t *stored, uint8_t type)
{
    enum { DESCRIPTION = 1, FIRST = 2 };
    uint8_t bytes[2 * DESC_SIZE_MAX]; // also as base64
    size_t size;
    struct desc desc;
    struct reason reason;
    const json_t *messages = json_object_get (stored, plan_record[FIELD_MESSAGES].name);
    const json_t *frame = json_array_get (messages, DESCRIPTION);
    const json_t *encoded = json_object_get (frame, "b64");
    if (json_string_length (encoded ? encoded : frame) > sizeof bytes ||
        !json_to_frame (frame, bytes, &size) ||
        desc_parse (span_of (bytes, size), json_array_size (messages) - FIRST, &desc, &reason))
        return 0;
    for (size_t i = 0; i < desc.count; i++)
        if (desc.types[i] == type)
            return FIRST + i;
    return 0;
}

const json_t *plan_stored_command (const json_t *stored)
{
    size_t at = stored_frame (stored, ZERO_FRAME_COMMAND);
    const json_t *messages = json_object_get (stored, plan_record[FIELD_MESSAGES].name);
    return at ? json_array_get (messages, at) : NULL;
}

void plan_mask_stored (json_t *stored)
{
    struct reason ignored;
    json_t *messages = json_object_get (stored, plan_record[FIELD_MESSAGES].name);
    json_t *callback = json_object_get (stored, "callback"), *object;
    if (!callback)
        return;
    struct span text = span_of (json_string_value (callback), json_string_length (callback));
    size_t at = stored_frame (stored, ZERO_FRAME_PLAN), size = 0;
    object = json_is_string (callback) ? json_read_object (text, &ignored) : json_incref (callback);
    json_t *masked = object ? callback_rule_masked (object) : json_object ();
    json_decref (object);
    json_object_set_new (stored, "callback", masked);
    if (at) {
        json_t *frame = json_array_get (messages, at), *encoded = json_object_get (frame, "b64");
        uint8_t *bytes = memory_new (json_string_length (encoded ? encoded : frame) + 1);
        bool read = json_to_frame (frame, bytes, &size);
        json_array_set_new (messages, at, callback_masked_frame (span_of (bytes, read ? size : 0)));
        free (bytes);
    }
}

void plan_mask_callback (json_t *stored)
{
    size_t at = stored_frame (stored, ZERO_FRAME_ARG);
    json_t *messages = json_object_get (stored, plan_record[FIELD_MESSAGES].name);
    if (at)
        json_array_set_new (messages, at, callback_masked_url (json_array_get (messages, at)));
}

// Replace the stored call of a flow's step by its public form.
static void show_step (json_t *stored)
{
    const json_t *text = json_object_get (stored, plan_record[FIELD_STEP].name);
    struct plan_step step;
    struct json_text shown;
    size_t size;
    if (plan_step_parse (span_of (json_string_value (text), json_string_length (text)), &step)) {
        json_text_start (&shown, PLAN_STEP_SIZE);
        plan_step_write (&step, &shown);
        char *object = json_text_end (&shown, &size);
        json_object_set_new (stored, "flow", json_loads (object, 0, NULL));
        free (object);
    }
    json_object_del (stored, plan_record[FIELD_STEP].name);
}

static bool is_public (const char *name)
{
    for (size_t i = 0; i < PUBLIC_FIELDS; i++)
        if (strcmp (plan_record[i].name, name) == 0)
            return true;
    return false;
}

void plan_write_public (json_t *stored, struct json_text *text)
{
    const char *name;
    json_t *value;
    size_t written = 0;
    show_step (stored);
    json_object_del (stored, plan_record[FIELD_MESSAGES].name);
    policy_show (stored);
    plan_mask_stored (stored);
    show_place (stored);
    json_text_raw (text, span_of ("{", 1));
    for (size_t i = 0; i < PUBLIC_FIELDS; i++) {
        if (!(value = json_object_get (stored, plan_record[i].name)))
            continue;
        json_text_name (text, &plan_record[i].written);
        json_text_value (text, value);
        written++;
    }
    if (written == json_object_size (stored))
        return;
    json_object_foreach (stored, name, value)
    {
        if (!is_public (name))
            json_text_member (text, name, value);
    }
}
