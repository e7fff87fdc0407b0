// Integers are one table, so that writing and reading cannot drift apart; the rest is by name.
#include "plan_json.h"

enum width { WIDTH_8, WIDTH_32, WIDTH_64 };
enum presence { ALWAYS, RARE }; // a rare field is not written while it is 0

// One integer field of the record.
static const struct integer_field {
    const char *name;
    size_t offset;
    enum width width; // of the record's member
    int64_t min, max;
    enum presence presence;
} integers[] = {
    {"revision", offsetof (struct plan, revision), WIDTH_64, 0, INT64_MAX, ALWAYS},
    {"plan_type", offsetof (struct plan, schedule.type), WIDTH_32, 0, SCHEDULE_TYPES - 1, ALWAYS},
    {"plan_value", offsetof (struct plan, schedule.value), WIDTH_32, -31, 32766, ALWAYS},
    {"plan_repet", offsetof (struct plan, schedule.repeat), WIDTH_32, INT32_MIN, INT32_MAX, ALWAYS},
    {"real_repet", offsetof (struct plan, real_repet), WIDTH_64, 0, INT64_MAX / 4, ALWAYS},
    {"last_state", offsetof (struct plan, last_state), WIDTH_8, 0, 255, ALWAYS},
    {"plan_time", offsetof (struct plan, plan_time), WIDTH_64, 0, SCHEDULE_TIME_MAX, ALWAYS},
    {"exec_time", offsetof (struct plan, exec_time), WIDTH_64, 0, SCHEDULE_TIME_MAX, ALWAYS},
    {"base_time", offsetof (struct plan, schedule.base_time), WIDTH_64, 0, SCHEDULE_TIME_MAX,
     ALWAYS},
    {"plan_state", offsetof (struct plan, state), WIDTH_32, 0, PLAN_STATES - 1, ALWAYS},
    {"add_time", offsetof (struct plan, schedule.received), WIDTH_64, 0, SCHEDULE_TIME_MAX, ALWAYS},
    {"skip_set", offsetof (struct plan, skip_set), WIDTH_64, 0, INT32_MAX, ALWAYS},
    {"skip_num", offsetof (struct plan, skip_num), WIDTH_64, 0, INT64_MAX / 4, ALWAYS},
    {"skip_wait", offsetof (struct plan, skip_wait), WIDTH_64, 0, INT64_MAX / 4, RARE},
    {"extra", offsetof (struct plan, extra), WIDTH_32, 0, PLAN_STATES - 1, RARE},
    {"poll", offsetof (struct plan, poll), WIDTH_64, 0, INT64_MAX, RARE},
    {"error_count", offsetof (struct plan, error_count), WIDTH_64, 0, INT64_MAX / 4, ALWAYS},
    {"exec_id", offsetof (struct plan, exec_id), WIDTH_64, 0, INT64_MAX, ALWAYS},
};

enum { INTEGERS = sizeof integers / sizeof *integers };

_Static_assert(sizeof (enum schedule_type) == 4 && sizeof (enum plan_state) == 4,
               "enums of the record are read and written as 32 bits");

static int64_t get_integer (const struct plan *self, const struct integer_field *field)
{
    const uint8_t *at = (const uint8_t *)self + field->offset;
    if (field->width == WIDTH_8)
        return *at;
    if (field->width == WIDTH_64) {
        int64_t wide;
        memcpy (&wide, at, sizeof wide);
        return wide;
    }
    int32_t narrow;
    memcpy (&narrow, at, sizeof narrow);
    return narrow;
}

// What is written can be read again: a counter that an operator set to its bound stays there.
static int64_t bounded (const struct plan *self, const struct integer_field *field)
{
    int64_t value = get_integer (self, field);
    return value < field->min ? field->min : value > field->max ? field->max : value;
}

static void set_integer (struct plan *self, const struct integer_field *field, int64_t value)
{
    uint8_t *at = (uint8_t *)self + field->offset;
    int32_t narrow = (int32_t)value;
    if (field->width == WIDTH_8)
        *at = (uint8_t)value;
    else if (field->width == WIDTH_64)
        memcpy (at, &value, sizeof value);
    else
        memcpy (at, &narrow, sizeof narrow);
}

json_t *plan_to_json (const struct plan *self)
{
    json_t *object = json_object ();
    json_object_set_new (object, "plan_id", json_integer ((json_int_t)self->id));
    json_object_set_new (object, "request_id", json_from_frame (self->request_id));
    json_object_set_new (object, "station", json_from_frame (self->station));
    json_object_set_new (object, "caller", json_from_frame (self->caller));
    json_object_set_new (object, "description", json_from_frame (self->description));
    for (size_t i = 0; i < INTEGERS; i++) {
        int64_t value = bounded (self, &integers[i]);
        if (value || integers[i].presence == ALWAYS)
            json_object_set_new (object, integers[i].name, json_integer (value));
    }
    json_object_set_new (object, "no_keep", json_boolean (self->schedule.keep));
    json_t *vote = vote_rule_write (&self->vote);
    if (vote)
        json_object_set_new (object, "vote", vote);
    return object;
}

json_t *plan_to_stored_json (const struct plan *self)
{
    json_t *object = plan_to_json (self);
    json_t *messages = json_array ();
    for (size_t i = 0; i < self->message_count; i++)
        json_array_append_new (messages, json_from_frame (self->messages[i]));
    json_object_set_new (object, "messages", messages);
    return object;
}

// Decode a frame value into the plan's own bytes, of which the JSON text is always the larger.
static bool read_frame (struct plan *self, const json_t *value, struct span *ret)
{
    uint8_t *at = self->store + self->store_used;
    size_t size;
    if (!value || !json_to_frame (value, at, &size))
        return false;
    self->store_used += size;
    *ret = span_of (at, size);
    return true;
}

static bool read_spans (struct plan *self, const json_t *object, struct reason *reason)
{
    const struct {
        const char *name;
        struct span *span;
    } spans[] = {
        {"request_id", &self->request_id},
        {"station", &self->station},
        {"caller", &self->caller},
        {"description", &self->description},
    };
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        if (!read_frame (self, json_object_get (object, spans[i].name), spans[i].span)) {
            reason_set (reason, "%s: is missing or no text", spans[i].name);
            return false;
        }
    }
    return true;
}

static bool read_messages (struct plan *self, const json_t *object, struct reason *reason)
{
    const json_t *messages = json_object_get (object, "messages");
    if (!json_is_array (messages) || json_array_size (messages) > PLAN_MESSAGES_MAX) {
        reason_set (reason, "messages: want an array of at most %d frames", PLAN_MESSAGES_MAX);
        return false;
    }
    for (size_t i = 0; i < json_array_size (messages); i++) {
        if (!read_frame (self, json_array_get (messages, i), &self->messages[i])) {
            reason_set (reason, "messages: item %zu is no frame", i);
            return false;
        }
        self->message_count++;
    }
    return true;
}

static bool read_integers (struct plan *self, const json_t *object, struct reason *reason)
{
    for (size_t i = 0; i < INTEGERS; i++) {
        int64_t value = 0;
        if (json_object_get (object, integers[i].name) &&
            !json_get_integer (object, integers[i].name, integers[i].min, integers[i].max,
                               &value)) {
            reason_set (reason, "%s: no integer within its bounds", integers[i].name);
            return false;
        }
        set_integer (self, &integers[i], value);
    }
    return true;
}

static bool read_vote (struct plan *self, const json_t *object, struct reason *reason)
{
    const json_t *vote = json_object_get (object, "vote");
    return !vote || vote_rule_read (vote, &self->vote, reason);
}

// What no single field can tell: the schedule asserts on it.
static bool check_together (const struct plan *self, const json_t *object, struct reason *reason)
{
    struct value_range range = schedule_value_range (self->schedule.type);
    if (self->schedule.value < range.min || self->schedule.value > range.max) {
        reason_set (reason, "plan_value: want %d..%d for plan_type %s", range.min, range.max,
                    schedule_type_name (self->schedule.type));
        return false;
    }
    const json_t *keep = json_object_get (object, "no_keep");
    if (keep && !json_is_boolean (keep)) {
        reason_set (reason, "no_keep: want true or false");
        return false;
    }
    return true;
}

struct plan *plan_from_stored_json (uint64_t id, struct span text, struct reason *reason)
{
    json_t *object = json_read_object (text, reason);
    if (!object)
        return NULL;
    struct plan *self = plan_new (text.size);
    self->id = id;
    self->schedule.keep = json_is_true (json_object_get (object, "no_keep"));
    if (!read_integers (self, object, reason) || !read_spans (self, object, reason) ||
        !read_messages (self, object, reason) || !read_vote (self, object, reason) ||
        !check_together (self, object, reason))
        plan_destroy (&self);
    json_decref (object);
    return self;
}
