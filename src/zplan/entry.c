#include "entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ahead.h"
#include "desc.h"
#include "json.h"
#include "memory.h"
#include "nearest.h"

// Fields of a line that stand in the PLAN frame as they are.
static const char *const rule_fields[] = {"plan_type", "plan_value", "plan_repet", "plan_time",
                                          "no_keep",   "no_skip",    "skip_set"};

enum { RULE_FIELDS = sizeof rule_fields / sizeof *rule_fields };

// A line in the words of `zplan add`, as it is read.
struct line {
    struct order order;
    struct option_group groups[2];
    json_t *plan; // the PLAN frame's fields that stand in the line
    bool has_rule;
    struct reason *reason;
};

static int read_id (json_t *object, struct entry *ret, struct reason *reason)
{
    const json_t *text = json_object_get (object, "id"),
                 *number = json_object_get (object, "plan_id");
    uint64_t id = (uint64_t)json_integer_value (number);
    if (json_is_string (text) && !ident_parse (span_text (json_string_value (text)), &id))
        id = 0;
    if (!text && !number)
        return 0;
    if (id == 0 || id > INT64_MAX || (text && !json_is_string (text)) ||
        (number && !json_is_integer (number))) {
        reason_set (reason, "%s: want a plan id, 1..7fffffffffffffff", text ? "id" : "plan_id");
        return -1;
    }
    ident_text (id, ret->id);
    return 0;
}

// -- in the words of add

static const struct option *row_named (const struct line *self, const char *field,
                                       void **ret_values)
{
    for (size_t i = 0; i < sizeof self->groups / sizeof *self->groups; i++) {
        const struct option_group *group = &self->groups[i];
        for (size_t j = 0; j < group->count; j++) {
            const char *name = group->rows[j].name + strlen ("--");
            size_t at = 0;
            while (field[at] && (field[at] == '_' ? '-' : field[at]) == name[at])
                at++;
            if (!field[at] && !name[at]) {
                *ret_values = group->values;
                return &group->rows[j];
            }
        }
    }
    return NULL;
}

static int refuse_field (const struct line *self, const char *field)
{
    struct nearest nearest = nearest_to (field);
    for (size_t i = 0; i < sizeof self->groups / sizeof *self->groups; i++)
        for (size_t j = 0; j < self->groups[i].count; j++)
            nearest_try (&nearest, self->groups[i].rows[j].name + strlen ("--"));
    for (size_t i = 0; i < RULE_FIELDS; i++)
        nearest_try (&nearest, rule_fields[i]);
    nearest_try (&nearest, "description");
    reason_set (self->reason, "%s: unknown field%s", quoted (span_text (field)),
                nearest_hint (&nearest));
    return -1;
}

// One value of an option: a text, or a number that is made one and then is the object's.
static int set_option (const struct line *self, const struct option *row, void *values,
                       const json_t *value)
{
    if (row->type == OPTION_FLAG ? json_is_true (value) : json_is_string (value))
        return option_set (row, values, json_string_value (value), self->reason);
    if (row->type == OPTION_FLAG && json_is_false (value))
        return 0;
    reason_set (self->reason, "%s: want %s", row->name + strlen ("--"),
                row->type == OPTION_FLAG ? "true or false" : "a text");
    return -1;
}

static int read_option (const struct line *self, const char *field, const json_t *value)
{
    void *values;
    size_t i;
    const json_t *item;
    const struct option *row = row_named (self, field, &values);
    if (!row)
        return refuse_field (self, field);
    if (row->type != OPTION_TEXTS || !json_is_array (value))
        return set_option (self, row, values, value);
    json_array_foreach (value, i, item)
    {
        if (set_option (self, row, values, item))
            return -1;
    }
    return 0;
}

static bool is_rule (const char *field)
{
    for (size_t i = 0; i < RULE_FIELDS; i++)
        if (strcmp (rule_fields[i], field) == 0)
            return true;
    return false;
}

static int read_field (struct line *self, const char *field, json_t *value)
{
    bool rule = is_rule (field);
    if (strcmp (field, "id") == 0 || strcmp (field, "plan_id") == 0)
        return 0;
    self->has_rule = self->has_rule || rule;
    if (!rule && strcmp (field, "description") != 0 && !json_is_object (value))
        return read_option (self, field, value);
    if (!rule && json_is_object (value) && strcmp (field, "vote") != 0)
        return read_option (self, field, value); // which wants a text
    json_object_set (self->plan, field, value);
    return 0;
}

// Numbers in the place of texts become texts.
static void soften (json_t *object)
{
    const char *field;
    json_t *value;
    void *next;
    json_object_foreach_safe (object, next, field, value)
    {
        char text[24];
        if (!json_is_integer (value) || is_rule (field) || strcmp (field, "plan_id") == 0)
            continue;
        snprintf (text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value (value));
        json_object_set_new (object, field, json_string (text));
    }
}

static int make_plan (struct line *self, const struct zone *zone, int64_t now_us)
{
    json_t *vote;
    struct when when;
    const char *given = options_given (&self->groups[1]);
    if (self->has_rule && given) {
        reason_set (self->reason, "%s and the fields of the PLAN frame: want one or the other",
                    given + strlen ("--"));
        return -1;
    }
    if (order_vote (&self->order, NULL, &vote, self->reason))
        return -1;
    int rc = self->has_rule ? 0 : when_read (&self->order.words, zone, now_us, &when, self->reason);
    if (rc == 0 && !self->has_rule) {
        json_t *rule = order_plan (&when, self->order.title, vote);
        json_object_update (self->plan, rule);
        json_decref (rule);
    } else if (rc == 0) {
        if (self->order.title)
            json_object_set_new (self->plan, "description", json_string (self->order.title));
        if (vote)
            json_object_set (self->plan, "vote", vote);
    }
    json_decref (vote);
    return rc;
}

static void take_frames (const struct order *order, struct entry *ret)
{
    struct order_frames parts = order_frames (order);
    for (size_t i = 0; i < ORDER_FRAME_TYPES; i++)
        for (size_t j = 0; j < parts.types[i].count; j++) {
            const char *text = parts.types[i].texts[j];
            ret->frames[ret->count++] =
                (struct zplan_frame){parts.types[i].type, text, strlen (text)};
        }
}

static int read_words (json_t *object, const struct zone *zone, int64_t now_us, struct entry *ret,
                       struct reason *reason)
{
    const char *field;
    json_t *value;
    struct line line = {.plan = json_object (), .reason = reason};
    line.groups[0] = order_options (&line.order);
    line.groups[1] = when_options (&line.order.words);
    soften (object);
    int rc = 0;
    json_object_foreach (object, field, value)
    {
        rc = rc ? rc : read_field (&line, field, value);
    }
    rc = rc ? rc : make_plan (&line, zone, now_us);
    if (rc == 0 && !line.order.command && !line.order.publish_title) {
        reason_set (reason, "command: must be given (or publish_title, for pub targets)");
        rc = -1;
    }
    if (rc == 0) {
        ret->plan = json_write (line.plan);
        ret->station = line.order.station;
        take_frames (&line.order, ret);
    }
    json_decref (line.plan);
    return rc;
}

// -- as the station keeps it

// Above all that a station takes, and small enough to be added and multiplied.
static const int64_t NUMBER_MAX = INT64_C (1) << 45;

static int64_t number (const json_t *object, const char *field)
{
    int64_t value = json_integer_value (json_object_get (object, field));
    return value > NUMBER_MAX ? NUMBER_MAX : value < -NUMBER_MAX ? -NUMBER_MAX : value;
}

// What a copy of this plan skips so that its first occurrence is the one that waits here: a rule of
// weeks or months begins anew at the moment at which it is submitted.
static int64_t skip_left (const json_t *object, const struct zone *zone, int64_t now)
{
    int64_t type = number (object, "plan_type"), value = number (object, "plan_value");
    if (type <= 0 || type >= SCHEDULE_TYPES || value < INT32_MIN || value > INT32_MAX)
        return 0;
    const struct schedule rule = {.type = (enum schedule_type)type, .value = (int32_t)value};
    return occurrences_ahead (&rule, zone, now, number (object, "plan_time"));
}

// The PLAN frame of a plan that goes on where this one is. Its first occurrence is the one that
// waits, or whose run is out.
static json_t *rule_left (const json_t *object, int64_t left, int64_t skip)
{
    static const int64_t units[SCHEDULE_TYPES] = {[SCHEDULE_SECOND] = 1,
                                                  [SCHEDULE_MINUTE] = 60,
                                                  [SCHEDULE_HOUR] = 3600,
                                                  [SCHEDULE_DAY] = 86400};
    int64_t type = number (object, "plan_type"), value = number (object, "plan_value");
    int64_t next = number (object, "plan_time"), base = number (object, "base_time");
    bool interval = type > 0 && type < SCHEDULE_TYPES && units[type] > 0;
    int64_t time = interval ? next - value * units[type] : type == SCHEDULE_TIME ? next : base;
    json_t *plan = json_object ();
    json_object_set (plan, "description", json_object_get (object, "description"));
    json_object_set_new (plan, "plan_type", json_integer (type));
    json_object_set_new (plan, "plan_value", json_integer (value));
    json_object_set_new (plan, "plan_repet", json_integer (left > 0 ? left + skip : left));
    if (skip > 0) // uses up repeats, and these are used up already
        json_object_set_new (plan, "skip_set", json_integer (skip));
    if (time > 0)
        json_object_set_new (plan, "plan_time", json_integer (time));
    json_object_set_new (
        plan, "no_keep",
        json_boolean (type == SCHEDULE_TIME || json_is_true (json_object_get (object, "no_keep"))));
    if (json_object_get (object, "vote"))
        json_object_set (plan, "vote", json_object_get (object, "vote"));
    return plan;
}

// The frames of the messages: mailbox, description, frames. 0, or -1: they are none.
static int read_messages (const json_t *messages, struct entry *ret)
{
    enum { DESCRIPTION = 1, FIRST = 2 };
    struct desc desc;
    struct reason ignored;
    size_t i, size, count = json_array_size (messages), used = 0;
    const json_t *frame;
    char *text = json_write (messages);
    ret->bytes = memory_new (strlen (text) + 1);
    free (text);
    if (count < FIRST ||
        !json_to_frame (json_array_get (messages, DESCRIPTION), ret->bytes, &size) ||
        desc_parse (span_of (ret->bytes, size), count - FIRST, &desc, &ignored))
        return -1;
    json_array_foreach (messages, i, frame)
    {
        if (i < FIRST)
            continue;
        uint8_t type = desc.types[i - FIRST];
        if (!json_to_frame (frame, ret->bytes + used, &size))
            return -1;
        if (type != ZERO_FRAME_PLAN && type != ZERO_FRAME_STATION_ID &&
            type != ZERO_FRAME_GLOBAL_ID)
            ret->frames[ret->count++] = (struct zplan_frame){type, ret->bytes + used, size};
        used += size;
    }
    return 0;
}

static enum entry_state state_left (const json_t *object, int64_t left)
{
    enum { STATE_PAUSE = 5, STATE_ERROR = 6, STATE_CLOSE = 7 };
    int64_t state = number (object, "plan_state");
    if (state == STATE_CLOSE || left == 0)
        return ENTRY_OVER;
    return state == STATE_PAUSE || state == STATE_ERROR ? ENTRY_PAUSED : ENTRY_RUNS;
}

static int read_kept (json_t *object, const struct zone *zone, int64_t now_us, struct entry *ret,
                      struct reason *reason)
{
    int64_t repeats = number (object, "plan_repet");
    int64_t left = repeats - number (object, "real_repet") - number (object, "skip_num");
    bool once = number (object, "plan_type") <= SCHEDULE_TIME;
    left = repeats < 0 || once ? repeats : left > 0 ? left : 0;
    if (read_messages (json_object_get (object, "messages"), ret)) {
        reason_set (reason, "messages: want mailbox, description and the frames that it describes");
        return -1;
    }
    json_t *plan = rule_left (object, left, skip_left (object, zone, now_us / 1000000));
    ret->plan = json_write (plan);
    json_decref (plan);
    ret->station = json_string_value (json_object_get (object, "station"));
    ret->state = state_left (object, once ? 1 : left);
    return 0;
}

// -- both

int entry_read (json_t *object, const struct zone *zone, int64_t now_us, struct entry *ret,
                struct reason *reason)
{
    *ret = (struct entry){.object = json_incref (object)};
    int rc = read_id (object, ret, reason);
    if (rc == 0 && json_object_get (object, "messages"))
        rc = read_kept (object, zone, now_us, ret, reason);
    else if (rc == 0)
        rc = read_words (object, zone, now_us, ret, reason);
    if (rc == 0 && !ret->station) {
        reason_set (reason, "station: must be given");
        rc = -1;
    }
    if (rc)
        entry_clear (ret);
    return rc;
}

void entry_clear (struct entry *self)
{
    free (self->plan);
    free (self->bytes);
    json_decref (self->object);
    *self = (struct entry){0};
}

// The next frame from `at` on that is no name of a request, or the end.
static size_t next_frame (const struct entry *self, size_t at)
{
    while (at < self->count && (self->frames[at].type == ZERO_FRAME_GLOBAL_ID ||
                                self->frames[at].type == ZERO_FRAME_REQUEST_ID))
        at++;
    return at;
}

bool entry_same (const struct entry *a, const struct entry *b)
{
    size_t i = next_frame (a, 0), j = next_frame (b, 0);
    while (i < a->count && j < b->count && a->frames[i].type == b->frames[j].type &&
           span_equal (span_of (a->frames[i].data, a->frames[i].size),
                       span_of (b->frames[j].data, b->frames[j].size))) {
        i = next_frame (a, i + 1);
        j = next_frame (b, j + 1);
    }
    return i == a->count && j == b->count && strcmp (a->station, b->station) == 0;
}
