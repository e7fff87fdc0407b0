// Writing a plan as JSON. The writer and the parsers share one table of the fields (plan_record.c).
#include "plan_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan_record.h"
#include "plan_step.h"

// Expected bytes of a text without its frames: names and numbers.
enum { ROOM_BASE = 640 };

// Expected bytes of a frame in the text: some need escapes or base64.
static size_t frame_room (struct span frame)
{
    return frame.size + frame.size / 2 + 16;
}

// Expected bytes of the public text.
static size_t public_room (const struct plan *self)
{
    return ROOM_BASE + frame_room (self->request_id) + frame_room (self->station) +
           frame_room (self->caller) + frame_room (self->description) + frame_room (self->step);
}

// Expected bytes of the stored text.
static size_t stored_room (const struct plan *self)
{
    size_t room = public_room (self);
    for (size_t i = 0; i < self->message_count; i++)
        room += frame_room (self->messages[i]);
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

// Write the call of a flow's step: for the stored text as a string, else as the object "flow".
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

// Write a field if the plan has it. `stored`: for the stored text, else for the public one.
static void write_record_field (const struct plan *self, const struct record_field *field,
                                bool stored, struct json_text *text)
{
    const uint8_t *member = (const uint8_t *)self + field->offset;
    const char *words;
    struct span frame;
    int64_t value;
    switch (field->kind) {
    case INTEGER:
        value = record_get_integer (self, field);
        // Keep a counter within the bounds that the parsers check: it may exceed them if an
        // operator has set it to its bound.
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

static void write_number_member (struct json_text *text, const char *name, int64_t value)
{
    char member[64];
    snprintf (member, sizeof member, ",\"%s\":%" PRId64, name, value);
    json_text_raw (text, span_text (member));
}

// Write current_iteration and current_cycle if the plan has iterations. `uncounted`: 1 for a run
// that begins and is not counted yet.
static void write_run_place (const struct plan *self, int64_t uncounted, struct json_text *text)
{
    int64_t cycle = policy_cycle (self->policy);
    if (!cycle)
        return;
    struct run_place place = policy_run_place (plan_occurrence (self).used + uncounted, cycle);
    write_number_member (text, "current_iteration", place.iteration);
    write_number_member (text, "current_cycle", place.cycle);
}

static void write_text_member (struct json_text *text, const char *name, const char *value)
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

// Write the traceparent: the run's, or for exec_id 0 the submission's. A repeating plan's runs have
// traces of their own; trace_link is then the submission's.
static void write_trace (const struct plan *self, uint64_t exec_id, int64_t nominal,
                         struct json_text *text)
{
    char own[TRACE_SIZE];
    if (!plan_trace (self, exec_id, nominal, own))
        return;
    write_text_member (text, "traceparent", exec_id ? own : self->policy->traceparent);
    if (exec_id && schedule_repeats (self->schedule.type))
        write_text_member (text, "trace_link", self->policy->traceparent);
}

// Write the public text up to the trace; the object is left open.
static void write_public_members (const struct plan *self, int64_t uncounted,
                                  struct json_text *text)
{
    json_text_raw (text, span_of ("{", 1));
    for (size_t i = 0; i < PUBLIC_FIELDS; i++)
        write_record_field (self, &plan_record[i], false, text);
    if (self->policy)
        write_run_place (self, uncounted, text);
}

void plan_write_stored (const struct plan *self, struct json_text *text)
{
    json_text_raw (text, span_of ("{", 1));
    for (size_t i = 0; i < FIELDS; i++)
        write_record_field (self, &plan_record[plan_record_order[i]], true, text);
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
    return plan_run_text (self, 0, 0);
}

char *plan_run_text (const struct plan *self, uint64_t exec_id, int64_t nominal)
{
    struct json_text text;
    size_t size;
    json_text_start (&text, public_room (self));
    write_public_members (self, 0, &text);
    if (self->policy)
        write_trace (self, exec_id, nominal, &text);
    json_text_raw (&text, span_of ("}", 1));
    return json_text_end (&text, &size);
}

void plan_write_dispatch (const struct plan *self, int64_t deadline, struct json_text *text)
{
    static const struct json_name name = JSON_NAME ("deadline");
    write_public_members (self, self->extra ? 0 : 1, text);
    if (self->policy)
        write_trace (self, self->exec_id, plan_nominal (self, self->exec_id), text);
    json_text_number (text, &name, deadline, 0);
    json_text_raw (text, span_of ("}", 1));
}
