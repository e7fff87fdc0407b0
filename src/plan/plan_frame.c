// Fields are read by a table of names and readers; plan_frame_check.c then checks them together. A
// reader takes a value from either parser, with or without a tree: each rule exists once, and both
// parsers apply it.
#include "plan_frame.h"

#include <inttypes.h>

#include "json.h"
#include "json_scan.h"
#include "pack.h"
#include "plan_frame_check.h"
#include "plan_json.h"
#include "rfc3339.h"
#include "status.h"

const struct plan_limits plan_limits_default = {
    .bytes = 4096, .description = 1024, .depth = JSON_DEPTH_MAX};

enum frame_field_kind { INTEGER, TEXT, FLAG, OTHER };

// The value of a field, as both parsers make it for the readers.
struct value {
    enum frame_field_kind kind;
    int64_t integer;
    bool flag;
    struct span text;   // UTF-8, followed by a NUL
    const json_t *tree; // NULL: read without a tree; then `kind` is not OTHER
};

struct frame_field {
    const char *name;
    struct json_name written;
    bool (*read) (struct plan_frame_reader *reader, const char *name, const struct value *value);
};

static bool read_integer (struct plan_frame_reader *reader, const char *name,
                          const struct value *value, int64_t *ret)
{
    if (value->kind == INTEGER) {
        *ret = value->integer;
        return true;
    }
    return reason_reject (reader->reason, "%s: want an integer", name);
}

static bool read_description (struct plan_frame_reader *reader, const char *name,
                              const struct value *value)
{
    size_t size = value->text.size;
    if (value->kind != TEXT)
        return reason_reject (reader->reason, "%s: want a string", name);
    if ((int64_t)size > reader->limits->description)
        return reason_reject (reader->reason, "%s: at most %" PRId64 " bytes, got %zu", name,
                              reader->limits->description, size);
    memcpy (reader->fields->description, value->text.data, size);
    reader->fields->description_size = size;
    return true;
}

static bool read_plan_type (struct plan_frame_reader *reader, const char *name,
                            const struct value *value)
{
    int64_t type = -1;
    if (value->kind == INTEGER)
        type = value->integer;
    else if (value->kind == TEXT)
        type = schedule_type_parse ((const char *)value->text.data);
    if (type < 0 || type >= SCHEDULE_TYPES)
        return reason_reject (reader->reason, "%s: want 0..%d or " SCHEDULE_TYPE_NAMES (", "), name,
                              SCHEDULE_TYPES - 1);
    reader->fields->schedule.type = (enum schedule_type)type;
    reader->has_type = true;
    return true;
}

static bool read_plan_value (struct plan_frame_reader *reader, const char *name,
                             const struct value *value)
{
    reader->has_value = true;
    return read_integer (reader, name, value, &reader->value);
}

static bool read_plan_repet (struct plan_frame_reader *reader, const char *name,
                             const struct value *value)
{
    reader->has_repeat = true;
    return read_integer (reader, name, value, &reader->repeat);
}

static bool read_no_keep (struct plan_frame_reader *reader, const char *name,
                          const struct value *value)
{
    if (value->kind != FLAG)
        return reason_reject (reader->reason, "%s: want true or false", name);
    if (reader->keep_seen)
        return reason_reject (reader->reason,
                              "no_skip: is the same field as no_keep; give only one");
    reader->keep_seen = true;
    reader->fields->schedule.keep = value->flag;
    return true;
}

static bool read_plan_time (struct plan_frame_reader *reader, const char *name,
                            const struct value *value)
{
    int64_t time;
    if (value->kind == TEXT) {
        struct reason why;
        if (rfc3339_parse (value->text, &time, &why))
            return reason_reject (reader->reason, "%s: %s", name, why.text);
    } else if (value->kind != INTEGER) {
        return reason_reject (
            reader->reason, "%s: want whole Unix seconds or an RFC 3339 string, no fraction", name);
    } else {
        time = value->integer;
    }
    if (time < 0 || time > SCHEDULE_TIME_MAX)
        return reason_reject (reader->reason,
                              "%s: want Unix seconds 0..%" PRId64 " (year 9999), got %" PRId64,
                              name, SCHEDULE_TIME_MAX, time);
    reader->fields->schedule.base_time = time;
    return true;
}

static bool read_skip_set (struct plan_frame_reader *reader, const char *name,
                           const struct value *value)
{
    if (!read_integer (reader, name, value, &reader->fields->skip_set))
        return false;
    if (reader->fields->skip_set < 0 || reader->fields->skip_set > INT32_MAX)
        return reason_reject (reader->reason, "%s: want 0..%d, got %" PRId64, name, INT32_MAX,
                              reader->fields->skip_set);
    return true;
}

static bool read_remark (struct plan_frame_reader *reader, const char *name,
                         const struct value *value)
{
    if (value->kind != TEXT || value->text.size > PLAN_WORDS_MAX)
        return reason_reject (reader->reason, "%s: want a string of at most %d bytes", name,
                              PLAN_WORDS_MAX);
    memcpy (reader->fields->remark, value->text.data, value->text.size);
    reader->fields->remark_size = value->text.size;
    return true;
}

// Check that only one of the fields hold and paused is given.
static bool check_hold_once (struct plan_frame_reader *reader)
{
    if (reader->hold_seen)
        reason_set (reader->reason, "paused: is the same as hold \"pause\"; give only one");
    bool first = !reader->hold_seen;
    reader->hold_seen = true;
    return first;
}

static bool read_hold (struct plan_frame_reader *reader, const char *name,
                       const struct value *value)
{
    enum hold *hold = &reader->fields->hold;
    bool paused = value->kind == TEXT && strcmp ((const char *)value->text.data, "pause") == 0;
    if (value->kind != FLAG && !paused)
        return reason_reject (reader->reason, "%s: want true, false or \"pause\"", name);
    *hold = paused ? HOLD_PAUSED : value->flag ? HOLD_MARKED : HOLD_NONE;
    return check_hold_once (reader);
}

static bool read_paused (struct plan_frame_reader *reader, const char *name,
                         const struct value *value)
{
    if (value->kind != FLAG)
        return reason_reject (reader->reason, "%s: want true or false", name);
    reader->fields->hold = value->flag ? HOLD_PAUSED : HOLD_NONE;
    return check_hold_once (reader);
}

static bool read_vote (struct plan_frame_reader *reader, const char *name,
                       const struct value *value)
{
    (void)name;
    return vote_rule_read (value->tree, &reader->fields->vote, reader->reason);
}

static const struct frame_field fields[] = {
#define FIELD(name, read)                                                                          \
    {                                                                                              \
        name, JSON_NAME (name), read                                                               \
    }
    FIELD ("description", read_description),
    FIELD ("plan_type", read_plan_type),
    FIELD ("plan_value", read_plan_value),
    FIELD ("plan_repet", read_plan_repet),
    FIELD ("no_keep", read_no_keep),
    FIELD ("no_skip", read_no_keep),
    FIELD ("plan_time", read_plan_time),
    FIELD ("skip_set", read_skip_set),
    FIELD ("vote", read_vote),
    FIELD ("remark", read_remark),
    FIELD ("hold", read_hold),
    FIELD ("paused", read_paused),
#undef FIELD
};

enum { FIELDS = sizeof fields / sizeof *fields };

void plan_fields_clear (struct plan_fields *self)
{
    if (self->policy)
        policy_destroy (&self->policy);
}

// Start reading a frame: clear `into` apart from the bytes of its texts.
static struct plan_frame_reader start_frame_reader (struct plan_fields *into,
                                                    const struct plan_limits *limits,
                                                    struct reason *reason)
{
    into->description_size = 0;
    into->schedule = (struct schedule){0};
    into->skip_set = 0;
    into->vote = (struct vote_rule){0};
    into->hold = HOLD_NONE;
    into->remark_size = 0;
    into->policy = NULL;
    into->step = (struct span){0};
    return (struct plan_frame_reader){.fields = into, .limits = limits, .reason = reason};
}

// -- reading a tree: any frame

static struct value value_of_tree (const json_t *tree)
{
    struct value value = {.kind = OTHER, .tree = tree};
    if (json_is_integer (tree)) {
        value.kind = INTEGER;
        value.integer = json_integer_value (tree);
    } else if (json_is_string (tree)) {
        value.kind = TEXT;
        value.text = json_span (tree);
    } else if (json_is_boolean (tree)) {
        value.kind = FLAG;
        value.flag = json_is_true (tree);
    }
    return value;
}

static const struct frame_field *frame_field_named (const char *name)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (strcmp (fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

bool plan_frame_field (const char *name)
{
    return frame_field_named (name) || policy_field (name);
}

static bool reject_frame_field (struct plan_frame_reader *reader, const char *name)
{
    if (*name && plan_has_field (name))
        return reason_reject (reader->reason, "%s: is set by the station and cannot be submitted",
                              name);
    return reason_reject (reader->reason, "%s: unknown field", quoted (span_text (name)));
}

static bool read_frame_field (struct plan_frame_reader *reader, const char *name,
                              const json_t *tree)
{
    const struct frame_field *field = frame_field_named (name);
    struct value value = value_of_tree (tree);
    if (!field && policy_field (name)) {
        if (!reader->policy)
            reader->policy = json_object ();
        if (json_object_set (reader->policy, name, (json_t *)tree) == 0)
            return true;
        return reason_reject (reader->reason, "%s: out of memory", name);
    }
    return field ? field->read (reader, name, &value) : reject_frame_field (reader, name);
}

static bool read_frame_fields (struct plan_frame_reader *reader, json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach (object, name, value)
    {
        if (!read_frame_field (reader, name, value))
            return false;
    }
    if (json_object_size (reader->policy) > 0) {
        reader->fields->policy = policy_read (reader->policy, reader->reason);
        if (!reader->fields->policy)
            return false;
    }
    return plan_frame_check (reader);
}

int plan_frame_read (json_t *object, const struct plan_limits *limits, struct plan_fields *ret,
                     struct reason *reason)
{
    struct plan_frame_reader reader = start_frame_reader (ret, limits, reason);
    bool read = read_frame_fields (&reader, object);
    json_decref (reader.policy);
    if (!read)
        plan_fields_clear (ret);
    return read ? 0 : ZPLAN_EPLAN;
}

// -- reading JSON of plain values without a tree; false: the frame is wrong or merely unusual

struct scan {
    struct json_scan left;
    uint32_t seen; // a bit for each field that was read
    size_t next;   // index of the field that is expected next
    uint8_t *text; // buffer for the value that is read, if it is a string
};

_Static_assert(FIELDS <= 32, "there is a bit for each field");

// The field of the next name, searched from the expected one on. NULL: unknown or a duplicate.
static const struct frame_field *scan_frame_name (struct scan *self)
{
    size_t place = self->next;
    for (size_t i = 0; i < FIELDS; i++, place++) {
        if (place == FIELDS)
            place = 0;
        if (!json_scan_name (&self->left, &fields[place].written))
            continue;
        if (self->seen & 1U << place)
            return NULL;
        self->seen |= 1U << place;
        self->next = place + 1;
        return &fields[place];
    }
    return NULL;
}

static bool scan_frame_value (struct scan *self, struct value *ret)
{
    size_t size;
    *ret = (struct value){.kind = INTEGER};
    if (json_scan_integer (&self->left, &ret->integer))
        return true;
    ret->kind = FLAG;
    if (json_scan_flag (&self->left, &ret->flag))
        return true;
    ret->kind = TEXT;
    if (!json_scan_string (&self->left, self->text, &size))
        return false;
    self->text[size] = '\0';
    ret->text = span_of (self->text, size);
    return true;
}

static bool scan_frame_fields (struct scan *self, struct plan_frame_reader *reader)
{
    if (!json_scan_take (&self->left, '{'))
        return false;
    do {
        struct value value;
        const struct frame_field *field = scan_frame_name (self);
        if (!field || !scan_frame_value (self, &value) ||
            !field->read (reader, field->name, &value))
            return false;
    } while (json_scan_take (&self->left, ','));
    return json_scan_take (&self->left, '}') && json_scan_ended (&self->left);
}

bool plan_frame_scan (struct span frame, const struct plan_limits *limits, struct plan_fields *ret)
{
    uint8_t text[DESCRIPTION_ROOM + 1];
    struct reason ignored;
    if (frame.size > DESCRIPTION_ROOM || limits->depth < 1)
        return false;
    struct scan scan = {.left = json_scan_of (frame), .text = text};
    struct plan_frame_reader reader = start_frame_reader (ret, limits, &ignored);
    return scan_frame_fields (&scan, &reader) && plan_frame_check (&reader);
}

// -- reading bytes

int plan_frame_parse_tree (struct span frame, const struct plan_limits *limits,
                           struct plan_fields *ret, struct reason *reason)
{
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

int plan_frame_parse (struct span frame, const struct plan_limits *limits, struct plan_fields *ret,
                      struct reason *reason)
{
    if ((int64_t)frame.size > limits->bytes)
        return reason_error (reason, ZPLAN_EPLAN, "PLAN: at most %" PRId64 " bytes, got %zu",
                             limits->bytes, frame.size);
    return plan_frame_scan (frame, limits, ret)
               ? 0
               : plan_frame_parse_tree (frame, limits, ret, reason);
}
