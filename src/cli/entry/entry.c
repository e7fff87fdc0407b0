#include "entry.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "nearest.h"
#include "reason.h"
#include "retry_option.h"
#include "zonefile.h"

// Fields of a line that are copied to the PLAN frame unchanged.
#define RULE_FIELDS "plan_type plan_value plan_repet plan_time no_keep no_skip skip_set"

// Fields of policies that have no option of the same name.
#define WIRE_POLICIES "start_time end_time timeout"

// The state of reading a line that has the options of `zplan add`.
struct entry_line {
    struct action_options action;
    struct option_group groups[4];
    json_t *plan; // the PLAN frame's fields that the line has
    bool has_rule;
    struct reason *reason;
};

// -- a line with its plan in `spec`: {target, title, command, args, frames, spec, hold}

// Add a field to the flat form; it must not be there yet.
static int set_member (json_t *object, const char *name, json_t *value, struct reason *reason)
{
    if (!json_object_get (object, name))
        return json_object_set (object, name, value);
    return reason_set (reason, "%s: is given twice", quoted (span_text (name)));
}

static int flatten_frame (json_t *object, json_t *frame, json_t *args, struct reason *reason)
{
    static const struct {
        const char *type, *field;
    } fields[] = {{"COMMAND", "command"},
                  {"CONTENT", "content"},
                  {"CONTEXT", "context"},
                  {"PUB_TITLE", "publish_title"}};
    const char *type = json_string_value (json_object_get (frame, "type"));
    json_t *text = json_object_get (frame, "text");
    if (type && json_is_string (text) && strcmp (type, "ARG") == 0)
        return json_array_append (args, text);
    for (size_t i = 0; type && json_is_string (text) && i < sizeof fields / sizeof *fields; i++)
        if (strcmp (type, fields[i].type) == 0)
            return set_member (object, fields[i].field, text, reason);
    return reason_set (reason,
                       "frames: want {type, text} of the types COMMAND, ARG, CONTENT, CONTEXT and "
                       "PUB_TITLE");
}

// Drop the fields of `zplan show --json` that describe the plan's progress and not its definition,
// and two fields that follow from others.
static void drop_progress (json_t *object, json_t *spec)
{
    static const char *const course[] = {
        "last",       "state",    "revision",          "caller",   "request_id",
        "counts",     "next_at",  "base_at",           "stopped",  "failures",
        "created_at", "running",  "verdict",           "remark",   "held",
        "progress",   "run_with", "current_iteration", "flow_run", "current_cycle"};
    if (json_integer_value (json_object_get (object, "held"))) // it was submitted as paused
        json_object_set_new (object, "hold", json_true ());
    for (size_t i = 0; i < sizeof course / sizeof *course; i++)
        json_object_del (object, course[i]);
    if (json_is_object (json_object_get (object, "flow"))) // the run that it is a step of
        json_object_del (object, "flow");
    if (json_object_get (spec, "misfire"))
        json_object_del (spec, "no_keep");
    if (json_object_get (spec, "iteration"))
        json_object_del (spec, "plan_repet");
}

// Remove a member of the object. Returns it, owned by the caller; NULL: there is none.
static json_t *take_member (json_t *object, const char *name)
{
    json_t *value = json_incref (json_object_get (object, name));
    json_object_del (object, name);
    return value;
}

// Convert the object to the flat form, in place; without `spec`, `args` and `frames` it is not
// changed. 0, or -1 with a reason.
static int entry_flatten (json_t *object, struct reason *reason)
{
    const char *name;
    json_t *value, *frame;
    size_t i;
    int rc = 0;
    json_t *spec = take_member (object, "spec"), *frames = take_member (object, "frames");
    if (spec)
        drop_progress (object, spec);
    if (frames) { // `command` and `args` only repeat them
        json_object_del (object, "command");
        json_object_del (object, "args");
    }
    json_t *args = take_member (object, "args");
    if ((spec && !json_is_object (spec)) || (frames && !json_is_array (frames)) ||
        (args && !json_is_array (args)))
        rc = reason_set (reason, "want spec as an object, frames and args as arrays");
    args = args ? args : json_array ();
    json_object_foreach (spec, name, value)
    {
        // The flat form uses the names of options.
        const char *field = strcmp (name, "key") == 0 ? "name" : name;
        rc = rc ? rc : set_member (object, field, value, reason);
    }
    json_array_foreach (frames, i, frame) rc =
        rc ? rc : flatten_frame (object, frame, args, reason);
    if (rc == 0 && json_array_size (args) > 0)
        rc = set_member (object, "arg", args, reason);
    json_decref (spec);
    json_decref (frames);
    json_decref (args);
    return rc;
}

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
        (number && !json_is_integer (number)))
        return reason_set (reason, "%s: want a plan id, 1..7fffffffffffffff",
                           text ? "id" : "plan_id");
    ident_text (id, ret->id);
    return 0;
}

// -- a line with the options of add

static const struct option *option_row_named (const struct entry_line *self, const char *field,
                                              void **ret_values)
{
    char option[64]; // longer than the name of any option
    snprintf (option, sizeof option, "--%s", field);
    for (char *at = option; *at; at++)
        *at = *at == '_' ? '-' : *at;
    for (size_t i = 0; i < sizeof self->groups / sizeof *self->groups; i++) {
        const struct option *row = option_named (&self->groups[i], span_text (option));
        *ret_values = self->groups[i].values;
        if (row)
            return row;
    }
    return NULL;
}

static int refuse_field (const struct entry_line *self, const char *field)
{
    struct nearest nearest = nearest_to (field);
    for (size_t i = 0; i < sizeof self->groups / sizeof *self->groups; i++) {
        const struct option_group *group = &self->groups[i];
        for (size_t j = 0; group->rows && j < group->count; j++)
            nearest_try (&nearest, group->rows[j].name + strlen ("--"));
    }
    nearest_try_list (&nearest, RULE_FIELDS " description " WIRE_POLICIES);
    return reason_set (self->reason, "%s: unknown field%s", quoted (span_text (field)),
                       nearest_hint (&nearest));
}

// Set one value of an option; the object `value` keeps the text.
static int set_option (const struct entry_line *self, const struct option *row, const char *field,
                       void *values, const json_t *value)
{
    if (row->type == OPTION_FLAG ? json_is_true (value) : json_is_string (value))
        return option_set (row, field, values, json_string_value (value), self->reason);
    if (row->type == OPTION_FLAG && json_is_false (value))
        return 0;
    return reason_set (self->reason, "%s: want %s", field,
                       row->type == OPTION_FLAG ? "true or false" : "a text");
}

static int read_option (const struct entry_line *self, const char *field, const json_t *value)
{
    void *values;
    size_t i;
    const json_t *item;
    const struct option *row = option_row_named (self, field, &values);
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

// Whether the field is a policy in the wire's form, not in that of an option.
static bool is_wire_policy (const struct entry_line *self, const char *field, const json_t *value)
{
    struct span name = span_text (field);
    return words_include (WIRE_POLICIES " callback params defaults workers", name) ||
           (self->has_rule && words_include ("cron timezone", name)) ||
           (json_is_object (value) && words_include ("retry on_failure ext", name)) ||
           (json_is_array (value) && strcmp (field, "cycle") == 0);
}

static int read_field (struct entry_line *self, const char *field, json_t *value)
{
    bool vote = strcmp (field, "vote") == 0 && json_is_object (value);
    if (words_include ("id plan_id", span_text (field)))
        return 0;
    if (is_wire_policy (self, field, value))
        return terms_put (self->plan, field, json_incref (value), self->reason);
    if (!vote && !words_include (RULE_FIELDS " description", span_text (field)))
        return read_option (self, field, value);
    json_object_set (self->plan, field, value);
    return 0;
}

// Convert [2,3,5] to "2,3,5"; NULL: invalid.
static json_t *join_numbers (const json_t *list)
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

// Replace numbers by strings, as the values of options are texts.
static void numbers_to_texts (json_t *object)
{
    const char *field;
    json_t *value;
    void *next;
    json_object_foreach_safe (object, next, field, value)
    {
        char text[24];
        json_t *words = strcmp (field, "cycle") == 0 ? join_numbers (value) : NULL;
        if (words) {
            json_object_set_new (object, field, words);
            continue;
        }
        if (!json_is_integer (value) ||
            words_include (RULE_FIELDS " " WIRE_POLICIES " plan_id", span_text (field)))
            continue;
        snprintf (text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value (value));
        json_object_set_new (object, field, json_string (text));
    }
}

static int make_plan (struct entry_line *self, const struct zone *zone, int64_t now_us)
{
    json_t *vote;
    struct when when;
    const char *given = options_given (&self->groups[1], 1);
    if (self->has_rule && given)
        return reason_set (self->reason,
                           "%s and the fields of the PLAN frame: want one or the other",
                           given + strlen ("--"));
    if (action_vote (&self->action, NULL, &vote, self->reason))
        return -1;
    int rc;
    if (self->has_rule) {
        const struct terms_context context = {.zone = zone, .step = 1};
        rc = terms_read (&self->action.words.terms, &context, self->plan, self->reason);
        action_add_fields (&self->action, vote, self->plan);
    } else {
        rc = when_read (&self->action.words, zone, now_us, &when, self->reason);
        json_t *rule = rc ? NULL : action_plan_frame (&self->action, &when, vote);
        json_object_update (self->plan, rule);
        json_decref (rule);
        if (rc == 0)
            when_clear (&when);
    }
    if (!self->action.flow)
        retry_add_default (self->plan, self->action.words.terms.retry);
    rc = rc ? rc : action_set_target (&self->action, self->reason);
    rc = rc ? rc : action_params (&self->action, self->plan, self->reason);
    json_decref (vote);
    return rc;
}

static int read_option_line (json_t *object, struct entry_zone zone, int64_t now_us,
                             struct entry *ret, struct reason *reason)
{
    const char *field;
    json_t *value;
    struct entry_line line = {
        .plan = json_object (),
        .reason = reason,
        .groups = {action_option_group (&line.action), when_options (&line.action.words),
                   terms_options (&line.action.words.terms),
                   terms_names (&line.action.words.terms)},
    };
    numbers_to_texts (object);
    json_object_foreach (object, field, value) line.has_rule =
        line.has_rule || words_include (RULE_FIELDS, span_text (field));
    int rc = 0;
    json_object_foreach (object, field, value) rc = rc ? rc : read_field (&line, field, value);
    const char *name = line.has_rule ? NULL : line.action.words.timezone;
    struct zone *own = rc == 0 && name ? zonefile_load (name, reason) : NULL;
    if (!name && !line.has_rule)
        line.action.words.timezone = zone.name;
    rc = rc || (name && !own) ? -1 : make_plan (&line, own ? own : zone.zone, now_us);
    zone_destroy (&own);
    if (rc == 0 && !line.action.command && !line.action.publish_title && !line.action.flow)
        rc = reason_set (reason, "command: must be given (or publish_title, for pub targets)");
    if (rc == 0) {
        ret->plan = json_write (line.plan);
        ret->station = line.action.station;
        ret->count = action_frames (&line.action, ret->frames);
    }
    json_decref (line.plan);
    return rc;
}

// -- both forms

int entry_read (json_t *object, struct entry_zone zone, int64_t now_us, struct entry *ret,
                struct reason *reason)
{
    *ret = (struct entry){.object = json_incref (object)};
    int rc = read_id (object, ret, reason);
    if (rc == 0 && json_object_get (object, "messages"))
        rc = entry_read_stored (object, zone.zone, now_us, ret, reason);
    else if (rc == 0)
        rc = entry_flatten (object, reason) || read_option_line (object, zone, now_us, ret, reason)
                 ? -1
                 : 0;
    if (rc == 0 && !ret->station)
        rc = reason_set (reason, "station: must be given");
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

// Find the next frame from `at` on that is neither GLOBAL_ID nor REQUEST_ID, or the end.
static size_t next_frame (const struct entry *self, size_t at)
{
    while (at < self->count && (self->frames[at].type == ZERO_FRAME_GLOBAL_ID ||
                                self->frames[at].type == ZERO_FRAME_REQUEST_ID))
        at++;
    return at;
}

bool entry_equals (const struct entry *a, const struct entry *b)
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
