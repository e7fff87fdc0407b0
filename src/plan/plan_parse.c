// Reading a stored plan, in two ways: texts that the station itself writes are parsed without a
// tree, any other by jansson, with the reason of each rejection.
#include "plan_record.h"
#include "plan_step.h"

// -- without a tree; NULL or false: the text is unusual or wrong

struct plan_parser {
    struct json_scan scan;
    struct plan *plan;
    uint64_t seen; // a bit for each field that was read
    size_t next;   // index in plan_record_order of the field that is expected next
};

_Static_assert(FIELDS <= 64, "there is a bit for each field");

#define BIT(field) (UINT64_C (1) << (field))

// The fields that a stored plan must have.
static const uint64_t required = BIT (FIELD_REQUEST_ID) | BIT (FIELD_STATION) | BIT (FIELD_CALLER) |
                                 BIT (FIELD_DESCRIPTION) | BIT (FIELD_MESSAGES);

static bool scan_record_frame (struct plan_parser *self, struct span *ret)
{
    uint8_t *at = self->plan->store + self->plan->store_used;
    size_t size;
    if (!json_scan_frame (&self->scan, at, &size))
        return false;
    self->plan->store_used += size;
    *ret = span_of (at, size);
    return true;
}

static bool scan_record_messages (struct plan_parser *self)
{
    struct plan *plan = self->plan;
    if (!json_scan_take (&self->scan, '['))
        return false;
    if (json_scan_take (&self->scan, ']'))
        return true;
    do {
        if (plan->message_count == PLAN_MESSAGES_MAX ||
            !scan_record_frame (self, &plan->messages[plan->message_count]))
            return false;
        plan->message_count++;
    } while (json_scan_take (&self->scan, ','));
    return json_scan_take (&self->scan, ']');
}

static bool scan_record_value (struct plan_parser *self, const struct record_field *field)
{
    struct span span;
    struct plan_step step;
    int64_t value;
    switch (field->kind) {
    case INTEGER:
        if (!json_scan_integer (&self->scan, &value) || value < field->min || value > field->max)
            return false;
        record_set_integer (self->plan, field, value);
        return true;
    case SPAN:
    case STEP:
        if (!scan_record_frame (self, &span))
            return false;
        memcpy ((uint8_t *)self->plan + field->offset, &span, sizeof span);
        return field->kind != STEP || plan_step_parse (span, &step);
    case PLAN_ID: // ignored: the id is taken from the Redis key
        return json_scan_integer (&self->scan, &value);
    case NO_KEEP:
        return json_scan_flag (&self->scan, &self->plan->schedule.keep);
    case MESSAGES:
        return scan_record_messages (self);
    case VOTE:
    case WORDS:
    case POLICY:
        break;
    }
    return false;
}

static bool scan_record (struct plan_parser *self)
{
    if (!json_scan_take (&self->scan, '{'))
        return false;
    do {
        enum field_name name;
        if (!record_scan_name (&self->scan, &self->next, &name) || self->seen & BIT (name) ||
            !scan_record_value (self, &plan_record[name]))
            return false;
        self->seen |= BIT (name);
    } while (json_scan_take (&self->scan, ','));
    return json_scan_take (&self->scan, '}') && json_scan_ended (&self->scan);
}

struct plan *plan_scan_stored (uint64_t id, struct span text)
{
    struct plan *plan = plan_new (text.size);
    struct plan_parser stored = {.scan = json_scan_of (text), .plan = plan};
    plan->id = id;
    if (!scan_record (&stored) || (stored.seen & required) != required ||
        !record_value_fits (plan) || plan->schedule.type == SCHEDULE_CRON)
        plan_destroy (&plan);
    return plan;
}

// -- by jansson

// Decode a frame value into the plan's own bytes. There is room: the JSON text is always larger.
static bool decode_stored_frame (struct plan *self, const json_t *value, struct span *ret)
{
    uint8_t *at = self->store + self->store_used;
    size_t size;
    if (!value || !json_to_frame (value, at, &size))
        return false;
    self->store_used += size;
    *ret = span_of (at, size);
    return true;
}

static bool read_messages (struct plan *self, const json_t *messages, struct reason *reason)
{
    if (!json_is_array (messages) || json_array_size (messages) > PLAN_MESSAGES_MAX)
        return reason_reject (reason, "messages: want an array of at most %d frames",
                              PLAN_MESSAGES_MAX);
    for (size_t i = 0; i < json_array_size (messages); i++) {
        if (!decode_stored_frame (self, json_array_get (messages, i), &self->messages[i]))
            return reason_reject (reason, "messages: item %zu is not a frame", i);
        self->message_count++;
    }
    return true;
}

// Read a field; `value` NULL: the plan has none.
static bool read_record_field (struct plan *self, const struct record_field *field,
                               const json_t *value, struct reason *reason)
{
    uint8_t *member = (uint8_t *)self + field->offset;
    struct span span = {0};
    struct plan_step step;
    int64_t number = json_integer_value (value);
    char *words = NULL;
    switch (field->kind) {
    case INTEGER:
        if (value && (!json_is_integer (value) || number < field->min || number > field->max))
            return reason_reject (reason, "%s: not an integer within its bounds", field->name);
        record_set_integer (self, field, number);
        break;
    case SPAN:
        if (!decode_stored_frame (self, value, &span))
            return reason_reject (reason, "%s: is missing or not a string", field->name);
        memcpy (member, &span, sizeof span);
        break;
    case STEP:
        if (value && !(decode_stored_frame (self, value, &span) && plan_step_parse (span, &step)))
            return reason_reject (reason, "step: is not the call of a step");
        self->step = span;
        break;
    case MESSAGES:
        return read_messages (self, value, reason);
    case VOTE:
        return !value || vote_rule_read (value, &self->vote, reason);
    case WORDS:
        if (value && !json_is_string (value))
            return reason_reject (reason, "%s: want a string", field->name);
        plan_set_text (&words, json_span (value), (size_t)field->max);
        memcpy (member, &words, sizeof words);
        break;
    case NO_KEEP: // read first, and checked last
        if (value && !json_is_boolean (value))
            return reason_reject (reason, "no_keep: want true or false");
        break;
    case POLICY:  // read from the whole object
    case PLAN_ID: // ignored: the id is taken from the Redis key
        break;
    }
    return true;
}

static bool read_fields_of_kind (struct plan *self, const json_t *object,
                                 enum record_field_kind kind, struct reason *reason)
{
    for (const struct record_field *field = plan_record; field < plan_record + FIELDS; field++)
        if (field->kind == kind &&
            !read_record_field (self, field, json_object_get (object, field->name), reason))
            return false;
    return true;
}

static bool read_policy_and_check_value (struct plan *self, const json_t *object,
                                         struct reason *reason)
{
    if (!policy_read_from (object, &self->policy, reason))
        return false;
    policy_into_schedule (self->policy, &self->schedule);
    if (self->schedule.type == SCHEDULE_CRON && !self->schedule.cron)
        return reason_reject (reason, "cron: is missing");
    struct value_range range = schedule_value_range (self->schedule.type);
    if (!record_value_fits (self))
        return reason_reject (reason, "plan_value: want %d..%d for plan_type %s", range.min,
                              range.max, schedule_type_name (self->schedule.type));
    return true;
}

struct plan *plan_parse_stored (uint64_t id, struct span text, struct reason *reason)
{
    json_t *object = json_read_object (text, reason);
    if (!object)
        return NULL;
    struct plan *self = plan_new (text.size);
    bool good = true;
    self->id = id;
    self->schedule.keep = json_is_true (json_object_get (object, "no_keep"));
    for (enum record_field_kind kind = INTEGER; good && kind < POLICY; kind++)
        good = read_fields_of_kind (self, object, kind, reason);
    if (!good || !read_policy_and_check_value (self, object, reason) ||
        !read_fields_of_kind (self, object, NO_KEEP, reason))
        plan_destroy (&self);
    json_decref (object);
    return self;
}

struct plan *plan_from_stored_json (uint64_t id, struct span text, struct reason *reason)
{
    struct plan *plan = plan_scan_stored (id, text);
    return plan ? plan : plan_parse_stored (id, text, reason);
}
