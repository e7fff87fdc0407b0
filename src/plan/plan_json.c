// Fields are one table, so that writing and reading cannot drift apart.
#include "plan_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "json_scan.h"

enum width { WIDTH_8, WIDTH_32, WIDTH_64 };
enum presence { ALWAYS, RARE }; // a rare field is not written while it is 0

enum kind { INTEGER, SPAN, PLAN_ID, NO_KEEP, VOTE, WORDS, POLICY, MESSAGES };

// In the order of the public text.
enum field_name {
    FIELD_PLAN_ID,
    FIELD_REQUEST_ID,
    FIELD_STATION,
    FIELD_CALLER,
    FIELD_DESCRIPTION,
    FIELD_REVISION,
    FIELD_PLAN_TYPE,
    FIELD_PLAN_VALUE,
    FIELD_PLAN_REPET,
    FIELD_REAL_REPET,
    FIELD_LAST_STATE,
    FIELD_PLAN_TIME,
    FIELD_EXEC_TIME,
    FIELD_BASE_TIME,
    FIELD_PLAN_STATE,
    FIELD_ADD_TIME,
    FIELD_SKIP_SET,
    FIELD_SKIP_NUM,
    FIELD_SKIP_WAIT,
    FIELD_EXTRA,
    FIELD_POLL,
    FIELD_ERROR_COUNT,
    FIELD_EXEC_ID,
    FIELD_MISSED,
    FIELD_TRIES,
    FIELD_VERDICT,
    FIELD_ERROR_INFO,
    FIELD_REMARK,
    FIELD_STOPPED,
    FIELD_NO_KEEP,
    FIELD_VOTE,
    FIELD_POLICY, // members, not one
    PUBLIC_FIELDS,
    FIELD_MESSAGES = PUBLIC_FIELDS,
    FIELDS
};

// One field of the record.
static const struct field {
    const char *name;
    struct json_name written;
    enum kind kind;
    size_t offset;    // of INTEGER and SPAN
    enum width width; // of an INTEGER's member
    int64_t min, max;
    enum presence presence;
    uint8_t padded; // in the stored text: spaces up to this width
} fields[FIELDS] = {
#define INTEGER_FIELD(field, member, ...)                                                          \
    {                                                                                              \
        field, JSON_NAME (field), INTEGER, offsetof (struct plan, member), __VA_ARGS__             \
    }
#define SPAN_FIELD(field, member)                                                                  \
    {                                                                                              \
        field, JSON_NAME (field), SPAN, offsetof (struct plan, member), 0, 0, 0, 0, 0              \
    }
#define WORDS_FIELD(field, member)                                                                 \
    {                                                                                              \
        field, JSON_NAME (field), WORDS, offsetof (struct plan, member), 0, 0, 0, 0, 0             \
    }
#define OTHER_FIELD(field, kind)                                                                   \
    {                                                                                              \
        field, JSON_NAME (field), kind, 0, 0, 0, 0, 0, 0                                           \
    }
    [FIELD_PLAN_ID] = OTHER_FIELD ("plan_id", PLAN_ID),
    [FIELD_REQUEST_ID] = SPAN_FIELD ("request_id", request_id),
    [FIELD_STATION] = SPAN_FIELD ("station", station),
    [FIELD_CALLER] = SPAN_FIELD ("caller", caller),
    [FIELD_DESCRIPTION] = SPAN_FIELD ("description", description),
    [FIELD_REVISION] = INTEGER_FIELD ("revision", revision, WIDTH_64, 0, INT64_MAX, ALWAYS, 0),
    [FIELD_PLAN_TYPE] =
        INTEGER_FIELD ("plan_type", schedule.type, WIDTH_32, 0, SCHEDULE_TYPES - 1, ALWAYS, 0),
    [FIELD_PLAN_VALUE] =
        INTEGER_FIELD ("plan_value", schedule.value, WIDTH_32, -31, 32766, ALWAYS, 0),
    [FIELD_PLAN_REPET] =
        INTEGER_FIELD ("plan_repet", schedule.repeat, WIDTH_32, INT32_MIN, INT32_MAX, ALWAYS, 0),
    [FIELD_REAL_REPET] =
        INTEGER_FIELD ("real_repet", real_repet, WIDTH_64, 0, INT64_MAX / 4, ALWAYS, 0),
    [FIELD_LAST_STATE] = INTEGER_FIELD ("last_state", last_state, WIDTH_8, 0, 255, ALWAYS, 0),
    [FIELD_PLAN_TIME] =
        INTEGER_FIELD ("plan_time", plan_time, WIDTH_64, 0, SCHEDULE_TIME_MAX, ALWAYS, 0),
    [FIELD_EXEC_TIME] = INTEGER_FIELD ("exec_time", exec_time, WIDTH_64, 0, SCHEDULE_TIME_MAX,
                                       ALWAYS, PLAN_EXEC_TIME_WIDTH),
    [FIELD_BASE_TIME] =
        INTEGER_FIELD ("base_time", schedule.base_time, WIDTH_64, 0, SCHEDULE_TIME_MAX, ALWAYS, 0),
    [FIELD_PLAN_STATE] =
        INTEGER_FIELD ("plan_state", state, WIDTH_32, 0, PLAN_STATES - 1, ALWAYS, 0),
    [FIELD_ADD_TIME] =
        INTEGER_FIELD ("add_time", schedule.received, WIDTH_64, 0, SCHEDULE_TIME_MAX, ALWAYS, 0),
    [FIELD_SKIP_SET] = INTEGER_FIELD ("skip_set", skip_set, WIDTH_64, 0, INT32_MAX, ALWAYS, 0),
    [FIELD_SKIP_NUM] = INTEGER_FIELD ("skip_num", skip_num, WIDTH_64, 0, INT64_MAX / 4, ALWAYS, 0),
    [FIELD_SKIP_WAIT] = INTEGER_FIELD ("skip_wait", skip_wait, WIDTH_64, 0, INT64_MAX / 4, RARE, 0),
    [FIELD_EXTRA] = INTEGER_FIELD ("extra", extra, WIDTH_32, 0, PLAN_STATES - 1, RARE, 0),
    [FIELD_POLL] = INTEGER_FIELD ("poll", poll, WIDTH_64, 0, INT64_MAX, RARE, 0),
    [FIELD_ERROR_COUNT] =
        INTEGER_FIELD ("error_count", error_count, WIDTH_64, 0, INT64_MAX / 4, ALWAYS, 0),
    [FIELD_EXEC_ID] =
        INTEGER_FIELD ("exec_id", exec_id, WIDTH_64, 0, INT64_MAX, ALWAYS, PLAN_EXEC_ID_WIDTH),
    [FIELD_MISSED] = INTEGER_FIELD ("missed", missed, WIDTH_64, 0, INT64_MAX / 4, RARE, 0),
    [FIELD_TRIES] = INTEGER_FIELD ("tries", tries, WIDTH_64, 0, INT64_MAX / 4, RARE, 0),
    [FIELD_VERDICT] = INTEGER_FIELD ("verdict", verdict, WIDTH_32, 0, VERDICTS - 1, RARE, 0),
    [FIELD_ERROR_INFO] = WORDS_FIELD ("error_info", error_info),
    [FIELD_REMARK] = WORDS_FIELD ("remark", remark),
    [FIELD_STOPPED] = WORDS_FIELD ("stopped", stopped),
    [FIELD_NO_KEEP] = OTHER_FIELD ("no_keep", NO_KEEP),
    [FIELD_VOTE] = OTHER_FIELD ("vote", VOTE),
    [FIELD_POLICY] = OTHER_FIELD ("", POLICY),
    [FIELD_MESSAGES] = OTHER_FIELD ("messages", MESSAGES),
#undef INTEGER_FIELD
#undef SPAN_FIELD
#undef WORDS_FIELD
#undef OTHER_FIELD
};

// The order of the stored text: the head, and then as in public.
static const uint8_t stored_order[FIELDS] = {
    FIELD_EXEC_ID,    FIELD_EXEC_TIME,  FIELD_PLAN_STATE,  FIELD_REVISION,    FIELD_CALLER,
    FIELD_PLAN_ID,    FIELD_REQUEST_ID, FIELD_STATION,     FIELD_DESCRIPTION, FIELD_PLAN_TYPE,
    FIELD_PLAN_VALUE, FIELD_PLAN_REPET, FIELD_REAL_REPET,  FIELD_LAST_STATE,  FIELD_PLAN_TIME,
    FIELD_BASE_TIME,  FIELD_ADD_TIME,   FIELD_SKIP_SET,    FIELD_SKIP_NUM,    FIELD_SKIP_WAIT,
    FIELD_EXTRA,      FIELD_POLL,       FIELD_ERROR_COUNT, FIELD_MISSED,      FIELD_TRIES,
    FIELD_VERDICT,    FIELD_ERROR_INFO, FIELD_REMARK,      FIELD_STOPPED,     FIELD_NO_KEEP,
    FIELD_VOTE,       FIELD_POLICY,     FIELD_MESSAGES,
};

_Static_assert(sizeof (enum schedule_type) == 4 && sizeof (enum plan_state) == 4,
               "enums of the record are read and written as 32 bits");

static int64_t get_integer (const struct plan *self, const struct field *field)
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
static int64_t bounded (const struct plan *self, const struct field *field)
{
    int64_t value = get_integer (self, field);
    return value < field->min ? field->min : value > field->max ? field->max : value;
}

static void set_integer (struct plan *self, const struct field *field, int64_t value)
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

static struct span get_span (const struct plan *self, const struct field *field)
{
    struct span span;
    memcpy (&span, (const uint8_t *)self + field->offset, sizeof span);
    return span;
}

// Owned by the plan; NULL = none.
static const char *get_words (const struct plan *self, const struct field *field)
{
    const char *words;
    memcpy (&words, (const uint8_t *)self + field->offset, sizeof words);
    return words;
}

// -- writing

// What the texts take besides their frames: names and numbers, of which few are long.
enum { ROOM_BASE = 640 };

// What most frames take: some need escapes, some base64.
static size_t room_for (struct span frame)
{
    return frame.size + frame.size / 2 + 16;
}

static size_t public_room (const struct plan *self)
{
    return ROOM_BASE + room_for (self->request_id) + room_for (self->station) +
           room_for (self->caller) + room_for (self->description);
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
    if (!vote)
        return;
    char *rule = json_write (vote);
    json_text_name (text, name);
    json_text_raw (text, span_text (rule));
    free (rule);
    json_decref (vote);
}

static void write_messages (const struct plan *self, struct json_text *text)
{
    json_text_raw (text, span_of ("[", 1));
    for (size_t i = 0; i < self->message_count; i++) {
        json_text_item (text);
        json_text_frame (text, self->messages[i]);
    }
    json_text_raw (text, span_of ("]", 1));
}

static void write_integer (const struct plan *self, const struct field *field, size_t width,
                           struct json_text *text)
{
    int64_t value = bounded (self, field);
    if (!value && field->presence == RARE)
        return;
    json_text_name (text, &field->written);
    json_text_padded (text, value, width);
}

// Another field than an integer.
static void write_other (const struct plan *self, const struct field *field, bool stored,
                         struct json_text *text)
{
    if (field->kind == VOTE) {
        write_vote (self, &field->written, text);
        return;
    }
    if (field->kind == POLICY) {
        if (self->policy)
            policy_write (self->policy, stored, text);
        return;
    }
    if (field->kind == WORDS && !get_words (self, field))
        return;
    json_text_name (text, &field->written);
    if (field->kind == SPAN)
        json_text_frame (text, get_span (self, field));
    else if (field->kind == PLAN_ID)
        json_text_integer (text, (int64_t)self->id);
    else if (field->kind == WORDS)
        json_text_frame (text, span_text (get_words (self, field)));
    else if (field->kind == NO_KEEP)
        json_text_raw (text, self->schedule.keep ? span_of ("true", 4) : span_of ("false", 5));
    else
        write_messages (self, text);
}

static void write_member (struct json_text *text, const char *name, int64_t value)
{
    char member[64];
    snprintf (member, sizeof member, ",\"%s\":%" PRId64, name, value);
    json_text_raw (text, span_text (member));
}

// Where it stands among its iterations. `ahead`: 1 for the run that begins, which is not counted
// yet.
static void write_place (const struct plan *self, int64_t ahead, struct json_text *text)
{
    int64_t cycle = policy_cycle (self->policy);
    if (!cycle)
        return;
    struct place place = policy_place (plan_occurrence (self).used + ahead, cycle);
    write_member (text, "current_iteration", place.iteration);
    write_member (text, "current_cycle", place.cycle);
}

static void write_public (const struct plan *self, int64_t ahead, struct json_text *text)
{
    json_text_start (text, public_room (self));
    json_text_raw (text, span_of ("{", 1));
    for (size_t i = 0; i < PUBLIC_FIELDS; i++) {
        if (fields[i].kind == INTEGER)
            write_integer (self, &fields[i], 0, text);
        else
            write_other (self, &fields[i], false, text);
    }
    write_place (self, ahead, text);
}

void plan_write_stored (const struct plan *self, struct json_text *text)
{
    json_text_raw (text, span_of ("{", 1));
    for (size_t i = 0; i < FIELDS; i++) {
        const struct field *field = &fields[stored_order[i]];
        if (field->kind == INTEGER)
            write_integer (self, field, field->padded, text);
        else
            write_other (self, field, true, text);
    }
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
    write_public (self, 0, &text);
    json_text_raw (&text, span_of ("}", 1));
    return json_text_end (&text, &size);
}

char *plan_dispatch_text (const struct plan *self, int64_t deadline)
{
    struct json_text text;
    static const struct json_name name = JSON_NAME ("deadline");
    size_t size;
    write_public (self, self->extra ? 0 : 1, &text);
    json_text_name (&text, &name);
    json_text_integer (&text, deadline);
    json_text_raw (&text, span_of ("}", 1));
    return json_text_end (&text, &size);
}

// Where the plan stands among its iterations, which is derived and never stored.
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
    struct place place = policy_place (runs + skips, cycle);
    json_object_set_new (object, "current_iteration", json_integer (place.iteration));
    json_object_set_new (object, "current_cycle", json_integer (place.cycle));
}

json_t *plan_in_public_order (json_t *stored)
{
    json_t *object = json_object ();
    json_object_del (stored, fields[FIELD_MESSAGES].name);
    for (size_t i = 0; i < PUBLIC_FIELDS; i++) {
        json_t *value = json_object_get (stored, fields[i].name);
        if (value)
            json_object_set (object, fields[i].name, value);
    }
    json_object_update_missing (object, stored);
    json_decref (stored);
    policy_show (object);
    show_place (object);
    return object;
}

// -- reading

// What no single field can tell: the schedule asserts on it.
static bool value_fits (const struct plan *self)
{
    struct value_range range = schedule_value_range (self->schedule.type);
    return self->schedule.value >= range.min && self->schedule.value <= range.max;
}

// -- reading by jansson: any text

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
    for (size_t i = 0; i < FIELDS; i++) {
        const struct field *field = &fields[i];
        int64_t value = 0;
        if (field->kind != INTEGER)
            continue;
        if (json_object_get (object, field->name) &&
            !json_get_integer (object, field->name, field->min, field->max, &value)) {
            reason_set (reason, "%s: no integer within its bounds", field->name);
            return false;
        }
        set_integer (self, field, value);
    }
    return true;
}

static bool read_vote (struct plan *self, const json_t *object, struct reason *reason)
{
    const json_t *vote = json_object_get (object, "vote");
    return !vote || vote_rule_read (vote, &self->vote, reason);
}

static bool read_words (struct plan *self, const json_t *object, struct reason *reason)
{
    const struct {
        const char *name;
        void (*set) (struct plan *self, struct span words);
    } words[] = {
        {"error_info", plan_set_error}, {"remark", plan_set_remark}, {"stopped", plan_set_stopped}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const json_t *text = json_object_get (object, words[i].name);
        if (text && !json_is_string (text)) {
            reason_set (reason, "%s: want a string", words[i].name);
            return false;
        }
        words[i].set (self, span_of (json_string_value (text), json_string_length (text)));
    }
    return true;
}

static bool read_policy (struct plan *self, const json_t *object, struct reason *reason)
{
    if (!policy_read_from (object, &self->policy, reason))
        return false;
    policy_into_schedule (self->policy, &self->schedule);
    if (self->schedule.type == SCHEDULE_CRON && !self->schedule.cron) {
        reason_set (reason, "cron: is missing");
        return false;
    }
    return true;
}

static bool check_together (const struct plan *self, const json_t *object, struct reason *reason)
{
    struct value_range range = schedule_value_range (self->schedule.type);
    if (!value_fits (self)) {
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

struct plan *plan_parse_stored (uint64_t id, struct span text, struct reason *reason)
{
    json_t *object = json_read_object (text, reason);
    if (!object)
        return NULL;
    struct plan *self = plan_new (text.size);
    self->id = id;
    self->schedule.keep = json_is_true (json_object_get (object, "no_keep"));
    if (!read_integers (self, object, reason) || !read_spans (self, object, reason) ||
        !read_messages (self, object, reason) || !read_vote (self, object, reason) ||
        !read_words (self, object, reason) || !read_policy (self, object, reason) ||
        !check_together (self, object, reason))
        plan_destroy (&self);
    json_decref (object);
    return self;
}

// -- reading what is written above: no tree, and NULL for all that is unusual

struct stored {
    struct json_scan scan;
    struct plan *plan;
    uint64_t seen; // bits: fields
    size_t next;   // in stored_order: the field that is expected
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

static bool scan_span (struct stored *self, const struct field *field)
{
    struct span span;
    if (!scan_frame (self, &span))
        return false;
    memcpy ((uint8_t *)self->plan + field->offset, &span, sizeof span);
    return true;
}

static bool scan_integer (struct stored *self, const struct field *field)
{
    int64_t value;
    if (!json_scan_integer (&self->scan, &value) || value < field->min || value > field->max)
        return false;
    set_integer (self->plan, field, value);
    return true;
}

static bool scan_value (struct stored *self, const struct field *field)
{
    int64_t ignored;
    switch (field->kind) {
    case INTEGER:
        return scan_integer (self, field);
    case SPAN:
        return scan_span (self, field);
    case PLAN_ID: // the key's counts
        return json_scan_integer (&self->scan, &ignored);
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
        const struct field *field = &fields[stored_order[place]];
        if (field->kind != POLICY && json_scan_name (&self->scan, &field->written)) {
            self->next = place + 1;
            *ret = stored_order[place];
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
            !scan_value (self, &fields[name]))
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
    if (!scan_fields (&stored) || (stored.seen & required) != required || !value_fits (plan) ||
        plan->schedule.type == SCHEDULE_CRON)
        plan_destroy (&plan);
    return plan;
}

struct plan *plan_from_stored_json (uint64_t id, struct span text, struct reason *reason)
{
    struct plan *plan = plan_scan_stored (id, text);
    return plan ? plan : plan_parse_stored (id, text, reason);
}
