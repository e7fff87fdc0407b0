// Fields are read by a table of name and reader; what a plan type demands of them is a second
// table, applied when the type is known.
#include "plan_frame.h"

#include <inttypes.h>

#include "json.h"
#include "pack.h"
#include "rfc3339.h"
#include "status.h"

// What was seen, so that "absent" and "0" differ where the rules tell them apart.
struct reading {
    struct plan_fields *fields;
    const struct plan_limits *limits;
    bool has_type, has_value, has_repeat;
    int64_t value;
    int64_t repeat;
    bool keep_seen;
    struct reason *reason;
};

struct field {
    const char *name;
    bool (*read) (struct reading *reading, const char *name, const json_t *value);
};

static bool read_integer (struct reading *reading, const char *name, const json_t *value,
                          int64_t *ret)
{
    if (json_is_integer (value)) {
        *ret = json_integer_value (value);
        return true;
    }
    reason_set (reading->reason, "%s: want an integer", name);
    return false;
}

static bool read_description (struct reading *reading, const char *name, const json_t *value)
{
    size_t size = json_string_length (value);
    if (!json_is_string (value)) {
        reason_set (reading->reason, "%s: want a string", name);
        return false;
    }
    if ((int64_t)size > reading->limits->description) {
        reason_set (reading->reason, "%s: at most %" PRId64 " bytes, got %zu", name,
                    reading->limits->description, size);
        return false;
    }
    memcpy (reading->fields->description, json_string_value (value), size);
    reading->fields->description_size = size;
    return true;
}

static bool read_type (struct reading *reading, const char *name, const json_t *value)
{
    int64_t type = -1;
    if (json_is_integer (value))
        type = json_integer_value (value);
    else if (json_is_string (value))
        type = schedule_type_parse (json_string_value (value));
    if (type < 0 || type >= SCHEDULE_TYPES) {
        reason_set (reading->reason,
                    "%s: want 0..7 or none, time, second, minute, hour, day, week, month", name);
        return false;
    }
    reading->fields->schedule.type = (enum schedule_type)type;
    reading->has_type = true;
    return true;
}

static bool read_value (struct reading *reading, const char *name, const json_t *value)
{
    reading->has_value = true;
    return read_integer (reading, name, value, &reading->value);
}

static bool read_repeat (struct reading *reading, const char *name, const json_t *value)
{
    reading->has_repeat = true;
    return read_integer (reading, name, value, &reading->repeat);
}

static bool read_keep (struct reading *reading, const char *name, const json_t *value)
{
    if (!json_is_boolean (value)) {
        reason_set (reading->reason, "%s: want true or false", name);
        return false;
    }
    if (reading->keep_seen) {
        reason_set (reading->reason, "no_skip: is the same field as no_keep, give one");
        return false;
    }
    reading->keep_seen = true;
    reading->fields->schedule.keep = json_is_true (value);
    return true;
}

static bool read_time (struct reading *reading, const char *name, const json_t *value)
{
    int64_t time;
    if (json_is_string (value)) {
        struct span text = span_of (json_string_value (value), json_string_length (value));
        struct reason why;
        if (rfc3339_parse (text, &time, &why)) {
            reason_set (reading->reason, "%s: %s", name, why.text);
            return false;
        }
    } else if (!json_is_integer (value)) {
        reason_set (reading->reason,
                    "%s: want whole Unix seconds or an RFC 3339 string, no fraction", name);
        return false;
    } else {
        time = json_integer_value (value);
    }
    if (time < 0 || time > SCHEDULE_TIME_MAX) {
        reason_set (reading->reason,
                    "%s: want Unix seconds 0..%" PRId64 " (year 9999), got %" PRId64, name,
                    SCHEDULE_TIME_MAX, time);
        return false;
    }
    reading->fields->schedule.base_time = time;
    return true;
}

static bool read_skip (struct reading *reading, const char *name, const json_t *value)
{
    if (!read_integer (reading, name, value, &reading->fields->skip_set))
        return false;
    if (reading->fields->skip_set < 0 || reading->fields->skip_set > INT32_MAX) {
        reason_set (reading->reason, "%s: want 0..%d, got %" PRId64, name, INT32_MAX,
                    reading->fields->skip_set);
        return false;
    }
    return true;
}

static bool read_vote (struct reading *reading, const char *name, const json_t *value)
{
    (void)name;
    return vote_rule_read (value, &reading->fields->vote, reading->reason);
}

static bool refuse_read_only (struct reading *reading, const char *name, const json_t *value)
{
    (void)value;
    reason_set (reading->reason, "%s: is kept by the station and cannot be submitted", name);
    return false;
}

static const struct field fields[] = {
    {"description", read_description},
    {"plan_type", read_type},
    {"plan_value", read_value},
    {"plan_repet", read_repeat},
    {"no_keep", read_keep},
    {"no_skip", read_keep},
    {"plan_time", read_time},
    {"skip_set", read_skip},
    {"vote", read_vote},
    {"plan_id", refuse_read_only},
    {"request_id", refuse_read_only},
    {"station", refuse_read_only},
    {"caller", refuse_read_only},
    {"real_repet", refuse_read_only},
    {"last_state", refuse_read_only},
    {"exec_time", refuse_read_only},
    {"messages", refuse_read_only},
    {"base_time", refuse_read_only},
    {"plan_state", refuse_read_only},
    {"add_time", refuse_read_only},
    {"skip_num", refuse_read_only},
    {"error_count", refuse_read_only},
    {"exec_id", refuse_read_only},
    {"revision", refuse_read_only},
    {"skip_wait", refuse_read_only},
    {"extra", refuse_read_only},
    {"poll", refuse_read_only},
};

static bool repeats (enum schedule_type type)
{
    return type >= SCHEDULE_SECOND;
}

static bool check_value (struct reading *reading)
{
    struct schedule *schedule = &reading->fields->schedule;
    struct value_range range = schedule_value_range (schedule->type);
    if (repeats (schedule->type) && !reading->has_value) {
        reason_set (reading->reason, "plan_value: is missing, plan_type %s needs it",
                    schedule_type_name (schedule->type));
        return false;
    }
    if (schedule->type == SCHEDULE_WEEK && reading->value == 7)
        reading->value = 0; // another number for Sunday
    if (reading->value < range.min || reading->value > range.max) {
        reason_set (reading->reason, "plan_value: want %d..%d, got %" PRId64, range.min, range.max,
                    reading->value);
        return false;
    }
    schedule->value = (int32_t)reading->value;
    return true;
}

static bool check_repeat (struct reading *reading)
{
    struct schedule *schedule = &reading->fields->schedule;
    if (reading->repeat < INT32_MIN || reading->repeat > INT32_MAX) {
        reason_set (reading->reason, "plan_repet: want -1 or 1..%d, got %" PRId64, INT32_MAX,
                    reading->repeat);
        return false;
    }
    schedule->repeat = (int32_t)reading->repeat;
    if (!repeats (schedule->type))
        return true;
    if (!reading->has_repeat) {
        reason_set (reading->reason, "plan_repet: is missing, plan_type %s needs it",
                    schedule_type_name (schedule->type));
        return false;
    }
    if (schedule->repeat < SCHEDULE_FOREVER || schedule->repeat == 0) {
        reason_set (reading->reason, "plan_repet: want -1 (for ever) or 1..%d, got %d", INT32_MAX,
                    schedule->repeat);
        return false;
    }
    return true;
}

static bool check_together (struct reading *reading)
{
    const struct schedule *schedule = &reading->fields->schedule;
    if (schedule->type == SCHEDULE_TIME && schedule->base_time == 0) {
        reason_set (reading->reason, "plan_time: is missing, plan_type time needs it");
        return false;
    }
    int64_t runs = repeats (schedule->type) ? schedule->repeat : 1;
    if (runs != SCHEDULE_FOREVER && reading->fields->skip_set >= runs) {
        reason_set (reading->reason,
                    "skip_set: want less than plan_repet (%" PRId64 "), got %" PRId64, runs,
                    reading->fields->skip_set);
        return false;
    }
    return true;
}

static const struct field *field_named (const char *name)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp (fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

bool plan_frame_field (const char *name)
{
    const struct field *field = field_named (name);
    return field && field->read != refuse_read_only;
}

static bool read_field (struct reading *reading, const char *name, const json_t *value)
{
    const struct field *field = field_named (name);
    if (field)
        return field->read (reading, name, value);
    reason_set (reading->reason, "%s: unknown field", quoted (span_text (name)));
    return false;
}

static bool read_all (struct reading *reading, json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach (object, name, value) if (!read_field (reading, name, value)) return false;
    if (!reading->has_type) {
        reason_set (reading->reason, "plan_type: is missing");
        return false;
    }
    return check_value (reading) && check_repeat (reading) && check_together (reading);
}

int plan_frame_read (json_t *object, const struct plan_limits *limits, struct plan_fields *ret,
                     struct reason *reason)
{
    ret->description_size = 0;
    ret->schedule = (struct schedule){0};
    ret->skip_set = 0;
    ret->vote = (struct vote_rule){0};
    struct reading reading = {.fields = ret, .limits = limits, .reason = reason};
    return read_all (&reading, object) ? 0 : ZPLAN_EPLAN;
}

const struct plan_limits plan_limits_default = {
    .bytes = 4096, .description = 1024, .depth = JSON_DEPTH_MAX};

int plan_frame_parse (struct span frame, const struct plan_limits *limits, struct plan_fields *ret,
                      struct reason *reason)
{
    if ((int64_t)frame.size > limits->bytes) {
        reason_set (reason, "PLAN: at most %" PRId64 " bytes, got %zu", limits->bytes, frame.size);
        return ZPLAN_EPLAN;
    }
    struct reason why;
    json_t *object =
        pack_is (frame) ? pack_read_object (frame, &why) : json_read_object (frame, &why);
    int rc = ZPLAN_EPLAN;
    if (!object)
        reason_set (reason, "PLAN: %s", why.text);
    else if (json_depth (object) > limits->depth)
        reason_set (reason, "PLAN: nested deeper than %" PRId64, limits->depth);
    else
        rc = plan_frame_read (object, limits, ret, reason);
    json_decref (object);
    return rc;
}
