// Reading what the station itself writes: no tree, and NULL for all that is unusual.
#include "json_scan.h"
#include "plan_record.h"

struct stored {
    struct json_scan scan;
    struct plan *plan;
    uint64_t seen; // bits: fields
    size_t next;   // in plan_record_order: the field that is expected
};

_Static_assert(FIELDS <= 64, "there is a bit for each field");

#define BIT(field) (UINT64_C (1) << (field))

// Fields that have to be there.
static const uint64_t required = BIT (FIELD_REQUEST_ID) | BIT (FIELD_STATION) | BIT (FIELD_CALLER) |
                                 BIT (FIELD_DESCRIPTION) | BIT (FIELD_MESSAGES);

static bool scan_frame (struct stored *self, struct span *ret)
{
    uint8_t *at = self->plan->store + self->plan->store_used;
    size_t size;
    if (!json_scan_frame (&self->scan, at, &size))
        return false;
    self->plan->store_used += size;
    *ret = span_of (at, size);
    return true;
}

static bool scan_messages (struct stored *self)
{
    struct plan *plan = self->plan;
    if (!json_scan_take (&self->scan, '['))
        return false;
    if (json_scan_take (&self->scan, ']'))
        return true;
    do {
        if (plan->message_count == PLAN_MESSAGES_MAX ||
            !scan_frame (self, &plan->messages[plan->message_count]))
            return false;
        plan->message_count++;
    } while (json_scan_take (&self->scan, ','));
    return json_scan_take (&self->scan, ']');
}

static bool scan_value (struct stored *self, const struct field *field)
{
    struct span span;
    int64_t value;
    switch (field->kind) {
    case INTEGER:
        if (!json_scan_integer (&self->scan, &value) || value < field->min || value > field->max)
            return false;
        record_set_integer (self->plan, field, value);
        return true;
    case SPAN:
        if (!scan_frame (self, &span))
            return false;
        memcpy ((uint8_t *)self->plan + field->offset, &span, sizeof span);
        return true;
    case PLAN_ID: // the key's counts
        return json_scan_integer (&self->scan, &value);
    case NO_KEEP:
        return json_scan_flag (&self->scan, &self->plan->schedule.keep);
    case MESSAGES:
        return scan_messages (self);
    case VOTE:
    case WORDS:
    case POLICY:
        break;
    }
    return false;
}

// The next name's field, from the expected one on. False: it is not known.
static bool scan_name (struct stored *self, enum field_name *ret)
{
    size_t place = self->next;
    for (size_t i = 0; i < FIELDS; i++, place++) {
        if (place == FIELDS)
            place = 0;
        const struct field *field = &plan_record[plan_record_order[place]];
        if (field->kind != POLICY && json_scan_name (&self->scan, &field->written)) {
            self->next = place + 1;
            *ret = plan_record_order[place];
            return true;
        }
    }
    return false;
}

static bool scan_fields (struct stored *self)
{
    if (!json_scan_take (&self->scan, '{'))
        return false;
    do {
        enum field_name name;
        if (!scan_name (self, &name) || self->seen & BIT (name) ||
            !scan_value (self, &plan_record[name]))
            return false;
        self->seen |= BIT (name);
    } while (json_scan_take (&self->scan, ','));
    return json_scan_take (&self->scan, '}') && json_scan_ended (&self->scan);
}

struct plan *plan_scan_stored (uint64_t id, struct span text)
{
    struct plan *plan = plan_new (text.size);
    struct stored stored = {.scan = json_scan_of (text), .plan = plan};
    plan->id = id;
    if (!scan_fields (&stored) || (stored.seen & required) != required ||
        !record_value_fits (plan) || plan->schedule.type == SCHEDULE_CRON)
        plan_destroy (&plan);
    return plan;
}
