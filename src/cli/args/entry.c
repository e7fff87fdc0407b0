#include "entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ahead.h"
#include "desc.h"
#include "entry_spec.h"
#include "json.h"
#include "memory.h"
#include "nearest.h"
#include "retry_words.h"
#include "zonefile.h"

// Fields of a line that stand in the PLAN frame as they are.
static const char *const rule_fields[] = {"plan_type", "plan_value", "plan_repet", "plan_time",
                                          "no_keep",   "no_skip",    "skip_set"};

enum { RULE_FIELDS = sizeof rule_fields / sizeof *rule_fields };

// Those of policies that no option has the name of.
#define WIRE_POLICIES "start_time end_time timeout"

// A line in the words of `zplan add`, as it is read.
struct line {
    struct order order;
    struct option_group groups[4];
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
    char option[64]; // longer than any
    snprintf (option, sizeof option, "--%s", field);
    for (char *at = option; *at; at++)
        *at = *at == '_' ? '-' : *at;
    for (size_t i = 0; i < sizeof self->groups / sizeof *self->groups; i++) {
        const struct option_group *group = &self->groups[i];
        for (size_t j = 0; j < group->count; j++) {
            if (option_has_name (&group->rows[j], span_text (option))) {
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
    for (size_t i = 0; i < sizeof self->groups / sizeof *self->groups; i++) {
        const struct option_group *group = &self->groups[i];
        for (size_t j = 0; group->rows && j < group->count; j++)
            nearest_try (&nearest, group->rows[j].name + strlen ("--"));
    }
    for (size_t i = 0; i < RULE_FIELDS; i++)
        nearest_try (&nearest, rule_fields[i]);
    nearest_try_list (&nearest, "description " WIRE_POLICIES);
    reason_set (self->reason, "%s: unknown field%s", quoted (span_text (field)),
                nearest_hint (&nearest));
    return -1;
}

// One value of an option: a text, or a number that is made one and then is the object's.
static int set_option (const struct line *self, const struct option *row, const char *field,
                       void *values, const json_t *value)
{
    if (row->type == OPTION_FLAG ? json_is_true (value) : json_is_string (value))
        return option_set (row, field, values, json_string_value (value), self->reason);
    if (row->type == OPTION_FLAG && json_is_false (value))
        return 0;
    reason_set (self->reason, "%s: want %s", field,
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
        return set_option (self, row, field, values, value);
    json_array_foreach (value, i, item)
    {
        if (set_option (self, row, field, values, item))
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

static bool is_wire_policy (const char *field)
{
    return strcmp (field, "start_time") == 0 || strcmp (field, "end_time") == 0 ||
           strcmp (field, "timeout") == 0;
}

// Whether it is a policy as the wire has it, and not in the words of an option.
static bool is_policy (const struct line *self, const char *field, const json_t *value)
{
    bool of_rule = strcmp (field, "cron") == 0 || strcmp (field, "timezone") == 0;
    return is_wire_policy (field) || (self->has_rule && of_rule) ||
           (strcmp (field, "retry") == 0 && json_is_object (value)) ||
           (strcmp (field, "on_failure") == 0 && json_is_object (value)) ||
           strcmp (field, "callback") == 0 ||
           (strcmp (field, "cycle") == 0 && json_is_array (value)) ||
           strcmp (field, "params") == 0 || strcmp (field, "defaults") == 0;
}

static int read_field (struct line *self, const char *field, json_t *value)
{
    bool vote = strcmp (field, "vote") == 0 && json_is_object (value);
    if (strcmp (field, "id") == 0 || strcmp (field, "plan_id") == 0)
        return 0;
    if (is_policy (self, field, value))
        return terms_put (self->plan, field, json_incref (value), self->reason);
    if (!vote && !is_rule (field) && strcmp (field, "description") != 0)
        return read_option (self, field, value);
    json_object_set (self->plan, field, value);
    return 0;
}

// "2,3,5" of [2,3,5]; NULL: it is none.
static json_t *joined (const json_t *list)
{
    enum { NUMBERS_MAX = 64, DIGITS_MAX = 5 };
    char text[NUMBERS_MAX * (DIGITS_MAX + 1) + 1] = "";
    size_t i, size = 0;
    const json_t *item;
    if (json_array_size (list) < 2 || json_array_size (list) > NUMBERS_MAX)
        return NULL;
    json_array_foreach (list, i, item)
    {
        json_int_t number = json_integer_value (item);
        if (number < 1 || number > 99999)
            return NULL;
        size += (size_t)snprintf (text + size, sizeof text - size, "%s%" JSON_INTEGER_FORMAT,
                                  i ? "," : "", number);
    }
    return json_string (text);
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
        json_t *words = strcmp (field, "cycle") == 0 ? joined (value) : NULL;
        if (words) {
            json_object_set_new (object, field, words);
            continue;
        }
        if (!json_is_integer (value) || is_rule (field) || is_wire_policy (field) ||
            strcmp (field, "plan_id") == 0)
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
    int rc;
    if (self->has_rule) {
        const struct terms_reading reading = {.zone = zone, .step = 1};
        rc = terms_read (&self->order.words.terms, &reading, self->plan, self->reason);
        if (self->order.title)
            json_object_set_new (self->plan, "description", json_string (self->order.title));
        if (self->order.hold)
            json_object_set_new (self->plan, "hold", json_true ());
        if (self->order.paused)
            json_object_set_new (self->plan, "paused", json_true ());
        if (vote)
            json_object_set (self->plan, "vote", vote);
    } else {
        rc = when_read (&self->order.words, zone, now_us, &when, self->reason);
        json_t *rule = rc ? NULL : order_plan (&self->order, &when, vote);
        json_object_update (self->plan, rule);
        json_decref (rule);
        if (rc == 0)
            when_clear (&when);
    }
    if (!self->order.flow)
        retry_fill (self->plan, self->order.words.terms.retry);
    rc = rc ? rc : order_target (&self->order, self->reason);
    rc = rc ? rc : order_params (&self->order, self->plan, self->reason);
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

static int read_words (json_t *object, struct entry_zone zone, int64_t now_us, struct entry *ret,
                       struct reason *reason)
{
    const char *field;
    json_t *value;
    struct line line = {.plan = json_object (), .reason = reason};
    line.groups[0] = order_options (&line.order);
    line.groups[1] = when_options (&line.order.words);
    line.groups[2] = terms_options (&line.order.words.terms);
    line.groups[3] = terms_names (&line.order.words.terms);
    soften (object);
    for (size_t i = 0; i < RULE_FIELDS; i++)
        line.has_rule = line.has_rule || json_object_get (object, rule_fields[i]);
    int rc = 0;
    json_object_foreach (object, field, value)
    {
        rc = rc ? rc : read_field (&line, field, value);
    }
    const char *name = line.has_rule ? NULL : line.order.words.timezone;
    struct zone *own = rc == 0 && name ? zonefile_load (name, reason) : NULL;
    if (!name && !line.has_rule)
        line.order.words.timezone = zone.name;
    rc = rc || (name && !own) ? -1 : make_plan (&line, own ? own : zone.zone, now_us);
    zone_destroy (&own);
    if (rc == 0 && !line.order.command && !line.order.publish_title && !line.order.flow) {
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

// What the object says of when it runs; the policy, which may be NULL, is borrowed.
struct kept {
    const json_t *object;
    const struct policy *policy;
    struct schedule rule;
    bool calendar;            // read from a wall clock
    int64_t next, base, used; // as stored
};

static struct kept kept_of (const json_t *object, const struct policy *policy)
{
    int64_t type = number (object, "plan_type"), value = number (object, "plan_value");
    struct kept kept = {.object = object,
                        .policy = policy,
                        .next = number (object, "plan_time"),
                        .base = number (object, "base_time"),
                        .used = number (object, "real_repet") + number (object, "skip_num")};
    struct schedule *rule = &kept.rule;
    bool good = type >= 0 && type < SCHEDULE_TYPES && value >= INT32_MIN && value <= INT32_MAX;
    rule->type = good ? (enum schedule_type)type : SCHEDULE_NONE;
    rule->value = good ? (int32_t)value : 0;
    rule->repeat = SCHEDULE_FOREVER;
    policy_into_schedule (policy, rule);
    bool days = rule->type == SCHEDULE_DAY && rule->wall_clock && (rule->value > 0 || rule->cycle);
    kept.calendar = days || rule->type > SCHEDULE_DAY;
    if (days && !kept.base)
        kept.base = number (object, "add_time");
    rule->base_time = kept.base;
    return kept;
}

// What a copy of this plan skips so that its first occurrence is the one that waits here: a rule of
// the calendar begins anew at the moment at which it is submitted.
static int64_t skip_left (const struct kept *kept, const struct zone *zone, int64_t now)
{
    if (!kept->calendar)
        return 0;
    struct reason ignored;
    const char *name = kept->policy ? kept->policy->timezone : "";
    struct zone *own = *name ? zonefile_load (name, &ignored) : NULL;
    int64_t skip = occurrences_ahead (&kept->rule, own ? own : zone, now, kept->next);
    zone_destroy (&own);
    return skip;
}

// The plan_time of a copy of an interval: its first occurrence is one step later.
static int64_t step_before (const struct kept *kept)
{
    static const int64_t units[SCHEDULE_TYPES] = {[SCHEDULE_SECOND] = 1,
                                                  [SCHEDULE_MINUTE] = 60,
                                                  [SCHEDULE_HOUR] = 3600,
                                                  [SCHEDULE_DAY] = 86400};
    const struct cycle *cycle = kept->rule.cycle;
    int64_t steps = kept->rule.value;
    if (cycle)
        steps = cycle->durations[(size_t)(kept->used > 0 ? kept->used : 0) % cycle->count];
    return kept->next - steps * units[kept->rule.type];
}

// The policy of the copy: a cycle of waits goes on where it is, and iterations are those left.
static void policy_left (const struct kept *kept, int64_t repeats, json_t *plan)
{
    const char *name;
    json_t *value;
    const struct cycle *cycle = kept->rule.cycle;
    json_object_foreach ((json_t *)(uintptr_t)kept->object, name, value)
    {
        if (policy_field (name))
            json_object_set (plan, name, value);
    }
    policy_show (plan); // objects are kept as texts
    if (kept->policy && kept->policy->misfire)
        json_object_del (plan, "no_keep");
    if (cycle && !kept->calendar && kept->used > 0) {
        json_t *turned = json_array ();
        for (size_t i = 0; i < cycle->count; i++)
            json_array_append_new (
                turned, json_integer (cycle->durations[((size_t)kept->used + i) % cycle->count]));
        json_object_set_new (plan, "cycle", turned);
    }
    if (!kept->policy || !kept->policy->iteration)
        return;
    int64_t runs = policy_cycle (kept->policy);
    json_object_del (plan, repeats % runs ? "iteration" : "plan_repet");
    if (repeats % runs == 0)
        json_object_set_new (plan, "iteration", json_integer (repeats / runs));
}

// The PLAN frame of a plan that goes on where this one is. Its first occurrence is the one that
// waits, or whose run is out.
static json_t *rule_left (const struct kept *kept, int64_t left, int64_t skip)
{
    const struct schedule *rule = &kept->rule;
    const json_t *object = kept->object;
    bool interval = !kept->calendar && rule->type >= SCHEDULE_SECOND;
    int64_t repeats = left > 0 ? left + skip : left;
    int64_t time = interval                      ? step_before (kept)
                   : rule->type == SCHEDULE_TIME ? kept->next
                                                 : kept->base;
    json_t *plan = json_object ();
    json_object_set (plan, "description", json_object_get (object, "description"));
    json_object_set (plan, "plan_type", json_object_get (object, "plan_type"));
    json_object_set (plan, "plan_value", json_object_get (object, "plan_value"));
    json_object_set_new (plan, "plan_repet", json_integer (repeats));
    if (skip > 0) // uses up repeats, and these are used up already
        json_object_set_new (plan, "skip_set", json_integer (skip));
    if (time > 0)
        json_object_set_new (plan, "plan_time", json_integer (time));
    bool keep = rule->type == SCHEDULE_TIME || json_is_true (json_object_get (object, "no_keep"));
    json_object_set_new (plan, "no_keep", json_boolean (keep));
    if (json_object_get (object, "vote"))
        json_object_set (plan, "vote", json_object_get (object, "vote"));
    policy_left (kept, repeats, plan);
    return plan;
}

// The frames of the messages: mailbox, description, frames. 0, or -1: they are none.
static int read_messages (const json_t *messages, struct entry *ret)
{
    enum { DESCRIPTION = 1, FIRST = 2 };
    struct desc desc;
    size_t i, size, count = json_array_size (messages), used = 0;
    const json_t *frame;
    char *text = json_write (messages);
    ret->bytes = memory_new (strlen (text) + 1);
    free (text);
    if (count < FIRST ||
        !json_to_desc (json_array_get (messages, DESCRIPTION), count - FIRST, &desc))
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
    struct policy *policy;
    if (!policy_read_from (object, &policy, reason))
        return -1;
    const struct kept kept = kept_of (object, policy);
    json_t *plan = rule_left (&kept, left, skip_left (&kept, zone, now_us / 1000000));
    ret->plan = json_write (plan);
    json_decref (plan);
    policy_destroy (&policy);
    ret->station = json_string_value (json_object_get (object, "station"));
    ret->state = state_left (object, once ? 1 : left);
    return 0;
}

// -- both

int entry_read (json_t *object, struct entry_zone zone, int64_t now_us, struct entry *ret,
                struct reason *reason)
{
    *ret = (struct entry){.object = json_incref (object)};
    int rc = read_id (object, ret, reason);
    if (rc == 0 && json_object_get (object, "messages"))
        rc = read_kept (object, zone.zone, now_us, ret, reason);
    else if (rc == 0 && entry_flatten (object, reason))
        rc = -1;
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
