#include "json_names.h"

#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "json.h"
#include "json_members.h"
#include "json_values.h"
#include "status_names.h"
#include "plan.h"
#include "policy.h"

// How a value is converted.
enum conversion {
    SAME,
    HEX,        // an id to hex text
    INSTANT,    // Unix seconds, or an RFC 3339 string, to RFC 3339 in UTC; null if there is none
    INSTANT_MS, // Unix milliseconds to RFC 3339
    SECONDS_MS, // milliseconds to seconds
    SECONDS_US, // microseconds to seconds
    STATE,      // a plan's state to its word
    PLAN_TYPE,  // a plan's type to its name
    STOPPED,    // the text of `stopped` to the object {"why", "at", "by"}
    PARSED,     // a string with JSON text to the object in it
    PLAIN_CONVERSIONS,
    PLAN_OBJECT = PLAIN_CONVERSIONS, // an object of JSON_PLAN; a number is a plan's id
    RUNS,                            // a list of JSON_RUN
    TARGETS,                         // a list of JSON_TARGET; any other value as in its object
    VERDICT,                         // a plan's verdict to its name; omitted if there is none
    FRAMES,                          // a plan's `messages` to `command`, `args` and `frames`
    DROP,                            // omitted
    DERIVED // depends on several members: put_plan_derived and put_run_derived write it
};

// The nested object that a member is moved to; TOP: none.
enum group { SPEC, COUNTS, LAST, GROUPS, TOP = GROUPS };

enum {
    PLAN = 1 << JSON_PLAN,
    RUN = 1 << JSON_RUN,
    TARGET = 1 << JSON_TARGET,
    ANSWER = 1 << JSON_ANSWER,
    ANY = PLAN | RUN | TARGET | ANSWER
};

// The first row that matches kind and name applies.
static const struct wire_name {
    unsigned kinds;
    const char *wire;
    enum group group;
    const char *name;
    enum conversion conversion;
} rows[] = {
    // A plan's members, mostly in the order of a page, so that a row is found early.
    {PLAN, "plan_id", TOP, "id", HEX},
    {PLAN, "request_id", TOP, "request_id", SAME},
    {PLAN, "station", TOP, "target", SAME},
    {PLAN, "caller", TOP, "caller", SAME},
    {PLAN, "description", TOP, "title", SAME},
    {PLAN, "revision", TOP, "revision", SAME},
    {PLAN, "plan_type", SPEC, "plan_type", PLAN_TYPE},
    {PLAN, "plan_value", SPEC, "plan_value", SAME},
    {PLAN, "plan_repet", SPEC, "plan_repet", SAME},
    {PLAN, "real_repet", COUNTS, "runs", SAME},
    {PLAN, "last_state", LAST, "status", DERIVED},
    {PLAN, "plan_time", TOP, "next_at", DERIVED},
    {PLAN, "exec_time", LAST, "started_at", INSTANT},
    {PLAN, "base_time", TOP, "base_at", INSTANT},
    {PLAN, "plan_state", TOP, "state", STATE},
    {PLAN, "add_time", TOP, "created_at", INSTANT},
    {PLAN, "skip_set", SPEC, "skip_set", SAME},
    {PLAN, "skip_num", COUNTS, "skipped", SAME},
    {PLAN, "error_count", COUNTS, "failures", SAME},
    {PLAN, "exec_id", LAST, "exec_id", HEX},
    {PLAN, "no_keep", SPEC, "no_keep", SAME},
    {PLAN, "command", TOP, "command", SAME},
    {PLAN, "key", TOP, "name", SAME},
    {PLAN, "error_info", LAST, "reason", SAME},
    {PLAN, "missed", COUNTS, "missed", SAME},
    {PLAN, "skip_wait", COUNTS, "skips_pending", SAME},
    {PLAN, "stopped", TOP, "stopped", STOPPED},
    {PLAN, "messages", TOP, "frames", FRAMES},
    {PLAN, "failures", TOP, "failures", RUNS},
    {PLAN, "vote", SPEC, "vote", SAME},
    {PLAN, "id", TOP, NULL, DROP},
    {PLAN, "type", TOP, NULL, DROP},
    {PLAN, "state", TOP, NULL, DROP},
    {PLAN, "poll", TOP, NULL, DROP},
    {PLAN, "extra", TOP, NULL, DROP},
#define PLAIN(name)
#define TEXT(name)               {PLAN, #name, SPEC, #name, PARSED},
#define FIELD(name, stored, ...) stored (name)
#include "policy_fields.def"
    {PLAN, "run_with", TOP, "run_with", PARSED},
    // A run's members.
    {RUN, "id", TOP, "plan", DERIVED},
    {RUN, "plan", TOP, "plan", DERIVED},
    {RUN, "status", TOP, "status", DERIVED},
    {RUN, "code", TOP, "code", DERIVED},
    {RUN, "key", TOP, "name", SAME},
    {RUN, "nominal", TOP, "nominal_at", INSTANT},
    {RUN, "fired", TOP, "started_at", DERIVED},
    {RUN, "ended", TOP, "ended_at", INSTANT},
    {RUN, "state", TOP, "state", STATE},
    {RUN, "missed_first", TOP, "missed_first_at", INSTANT},
    {RUN, "missed_last", TOP, "missed_last_at", INSTANT},
    // A target's members.
    {TARGET, "since", TOP, "since_at", INSTANT},
    {TARGET, "no_worker", TOP, "no_worker_at", INSTANT},
    // Members of all other answers.
    {ANSWER, "plan", TOP, "plan", PLAN_OBJECT},
    {ANSWER, "first", TOP, "next_at", INSTANT},
    {ANSWER, "there", TOP, NULL, DROP}, // `result` shows it as a word
    {ANSWER, "refused", TOP, "detail", SAME},
    {ANSWER, "told", TOP, "notified", SAME},
    {ANSWER, "stations", TOP, "target_count", SAME},
    {ANSWER, "targets", TOP, "targets", TARGETS},
    {ANSWER, "runs", TOP, "items", RUNS},
    {ANSWER, "next", TOP, "next_at", INSTANT},
    {ANSWER, "at", TOP, "at", INSTANT},
    {ANSWER, "now_ms", TOP, "now_at", INSTANT_MS},
    {ANSWER, "clock_ahead_ms", TOP, "clock_ahead_s", SECONDS_MS},
    {ANSWER, "round_trip_us", TOP, "took_s", SECONDS_US},
    {ANSWER, "started_ms", TOP, "started_at", INSTANT_MS},
    {ANSWER, "heard_ms", TOP, "heard_at", INSTANT_MS},
    {ANSWER, "ended_ms", TOP, "ended_at", INSTANT_MS},
    {ANSWER, "since", TOP, "since_at", INSTANT},
    // The names inside these four are no names of the wire.
    {ANSWER, "summary", TOP, "summary", SAME},   // the counts of a load or restore
    {ANSWER, "counters", TOP, "counters", SAME}, // numbers by name of the counter
    {ANSWER, "fields", TOP, "fields", SAME},     // a kind's, as submitted
    {ANSWER, "result", TOP, "result", SAME},     // a worker's, as it sent it
    // Members of any object.
    {ANY, "plan_id", TOP, "id", HEX},
    {ANY, "exec_id", TOP, "exec_id", HEX},
    {ANY, "flow_run", TOP, "flow_run", HEX},
    {ANY, "station", TOP, "target", SAME},
    {ANY, "plan_state", TOP, "state", STATE},
    {ANY, "verdict", TOP, "verdict", VERDICT},
    {ANY, "unresponsive_since", TOP, "unresponsive_since_at", INSTANT},
    {ANY, "late_ms", TOP, "late_s", SECONDS_MS},
    {ANY, "sum_us", TOP, "sum_s", SECONDS_US},
    {ANY, "le_us", TOP, "le", SECONDS_US}, // upper bounds, in seconds
};

static bool row_matches (const struct wire_name *row, enum json_kind kind, struct span wire)
{
    // The first letter rules out most rows; an empty name has its quote there.
    return row->wire[0] == (char)wire.data[0] && row->kinds & 1U << kind &&
           span_is (wire, row->wire);
}

// Find a member's row, or NULL. Members are mostly in the table's order: `next` is tried first.
static const struct wire_name *find_wire_row (enum json_kind kind, struct span wire,
                                              const struct wire_name **next)
{
    const struct wire_name *end = rows + sizeof rows / sizeof *rows;
    if (*next < end && row_matches (*next, kind, wire))
        return (*next)++;
    for (const struct wire_name *row = rows; row < end; row++) {
        if (row_matches (row, kind, wire)) {
            *next = row + 1;
            return row;
        }
    }
    return NULL;
}

// -- plain values

typedef void plain_put_fn (struct json_text *text, struct span value);

static plain_put_fn *const plain_converters[] = {
    [SAME] = json_text_raw,
    [HEX] = json_put_id,
    [INSTANT] = json_put_instant,
    [INSTANT_MS] = json_put_ms_as_instant,
    [SECONDS_MS] = json_put_ms_as_seconds,
    [SECONDS_US] = json_put_us_as_seconds,
    [STATE] = json_put_state,
    [PLAN_TYPE] = json_put_plan_type,
    [PARSED] = json_put_object_text,
    [STOPPED] = json_put_stopped,
};

// -- an object

struct converter {
    enum json_kind kind;
    struct json_members wire;
    struct json_text *text;
    struct json_text groups[GROUPS]; // begun when they get a member
};

static bool convert_value (enum json_kind kind, struct json_scan *scan, struct json_text *text,
                           int depth);

// Append the name of a member, which is in JSON form. Returns the text to append the value to.
static struct json_text *put_raw_key (struct converter *self, enum group group, struct span name)
{
    struct json_text *text = group == TOP ? self->text : &self->groups[group];
    if (!text->bytes) {
        json_text_start (text, 256);
        json_text_raw (text, span_text ("{"));
    }
    json_text_item (text);
    json_text_raw (text, span_text ("\""));
    json_text_raw (text, name);
    json_text_raw (text, span_text ("\":"));
    return text;
}

static struct json_text *put_key (struct converter *self, enum group group, const char *name)
{
    return put_raw_key (self, group, span_text (name));
}

// Convert a value that was scanned: it is valid, and its depth is bounded.
static void convert_nested (enum json_kind kind, struct span value, struct json_text *text)
{
    struct json_scan scan = json_scan_of (value);
    convert_value (kind, &scan, text, 0);
}

static void put_frames (struct converter *self, struct span value)
{
    const char *name;
    json_t *part, *messages = json_value_tree (value), *names = json_object ();
    json_set_frames (names, messages);
    json_object_foreach (names, name, part) json_text_value (put_key (self, TOP, name), part);
    json_decref (names);
    json_decref (messages);
}

static void put_verdict (struct converter *self, struct span value)
{
    json_t *verdict = json_value_tree (value);
    const char *name = json_verdict_name (verdict);
    if (name)
        json_put_string (put_key (self, TOP, "verdict"), name);
    json_decref (verdict);
}

static void put_by_row (struct converter *self, const struct wire_name *row, struct span value)
{
    if (row->conversion < PLAIN_CONVERSIONS) {
        plain_converters[row->conversion](put_key (self, row->group, row->name), value);
        return;
    }
    switch (row->conversion) {
    case PLAN_OBJECT:
        if (json_value_begins (value, '{'))
            convert_nested (JSON_PLAN, value, put_key (self, TOP, row->name));
        else
            json_put_id (put_key (self, TOP, row->name), value);
        return;
    case RUNS:
        convert_nested (JSON_RUN, value, put_key (self, TOP, row->name));
        return;
    case TARGETS:
        convert_nested (json_value_begins (value, '[') ? JSON_TARGET : self->kind, value,
                        put_key (self, TOP, row->name));
        return;
    case VERDICT:
        put_verdict (self, value);
        return;
    case FRAMES:
        put_frames (self, value);
        return;
    default: // DROP, DERIVED
        return;
    }
}

// Whether a converted plan has a member of this name, which no other member may get then.
static bool is_converted_name (struct span name)
{
    static const char *const more[] = {"spec", "counts", "last", "running", "args", "frames"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (span_is (name, more[i]))
            return true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kinds & PLAN && rows[i].group == TOP && rows[i].name &&
            span_is (name, rows[i].name))
            return true;
    return false;
}

// Append a member without a row, name unchanged. An operator may have added it to a plan.
static void put_unlisted (struct converter *self, const struct json_member *wire)
{
    char name[64] = "";
    if (self->kind != JSON_PLAN) {
        convert_nested (self->kind, wire->value, put_raw_key (self, TOP, wire->name));
        return;
    }
    if (wire->name.size < sizeof name)
        span_put (name, 0, wire->name);
    bool is_policy = policy_field (name);
    if (is_policy || !is_converted_name (wire->name))
        json_text_raw (put_raw_key (self, is_policy ? SPEC : TOP, wire->name), wire->value);
}

static struct span wire_get (const struct converter *self, const char *name)
{
    return json_members_get (&self->wire, name);
}

static uint64_t wire_count (const struct converter *self, const char *name)
{
    int64_t count = json_value_integer_or_0 (wire_get (self, name));
    return count > 0 ? (uint64_t)count : 0;
}

// Append the members of a plan that derive from several of its fields.
static void put_plan_derived (struct converter *self)
{
    struct span state = wire_get (self, "plan_state"), time = wire_get (self, "plan_time"),
                last = wire_get (self, "last_state"), repeat = wire_get (self, "plan_repet");
    int64_t number = json_value_integer_or_0 (state),
            type = json_value_integer_or_0 (wire_get (self, "plan_type"));
    bool runs = number == PLAN_EXECUTE;
    if (number == PLAN_PAUSE || number == PLAN_ERROR || number == PLAN_CLOSE)
        json_put_string (put_key (self, TOP, "next_at"), NULL);
    else if (time.size)
        json_put_instant (put_key (self, TOP, "next_at"), time);
    if (last.size) {
        json_t *status = json_value_tree (last);
        bool ended = !state.size || json_status_ends (status, runs);
        json_put_string (put_key (self, LAST, "status"), ended ? json_status_name (status) : NULL);
        json_decref (status);
    }
    if (!state.size)
        return;
    json_text_raw (put_key (self, TOP, "running"), span_text (runs ? "true" : "false"));
    bool repeats = type > SCHEDULE_TIME;
    uint64_t used = wire_count (self, "real_repet") + wire_count (self, "skip_num");
    uint64_t all = repeats ? wire_count (self, "plan_repet") : 1;
    if (repeat.size && repeats && json_value_begins (repeat, '-'))
        json_put_string (put_key (self, COUNTS, "left"), NULL); // it repeats for ever
    else if (repeat.size)
        json_put_tree (put_key (self, COUNTS, "left"),
                       json_integer (all > used ? (json_int_t)(all - used) : 0));
    // Keep the requested time where `next_at` does not show it.
    if (type == SCHEDULE_TIME && time.size)
        json_text_raw (put_key (self, SPEC, "plan_time"), time);
}

// Append a run's status as a word; an error without a word of its own is "failed", with its name as
// `code`. On the wire, a status may be text; its number is then in `code`. Returns the number.
static int64_t put_run_status (struct converter *self, struct span status, struct span code)
{
    char text[JSON_CODE_SIZE];
    int64_t number = 0;
    if (!json_value_integer (code, &number) && !json_value_integer (status, &number)) {
        json_t *word = json_value_tree (status);
        number = json_status_number (word);
        json_decref (word);
    }
    json_t *read = json_integer (number);
    json_put_string (put_key (self, TOP, "status"), json_status_name (read));
    json_decref (read);
    if (!json_status_has_name (number))
        json_put_string (put_key (self, TOP, "code"), json_status_code ((uint8_t)number, text));
    return number;
}

static void put_run_duration (struct converter *self, struct span fired)
{
    double began, ended;
    if (!json_value_number (fired, &began) || !json_value_number (wire_get (self, "ended"), &ended))
        return;
    double took = ended - began;
    bool known = took >= 0 && took <= (double)SCHEDULE_TIME_MAX;
    json_put_tree (put_key (self, TOP, "took_s"),
                   known ? json_real ((double)(int64_t)(took * 1000 + 0.5) / 1000) : json_null ());
}

static void put_run_derived (struct converter *self)
{
    struct span status = wire_get (self, "status"), code = wire_get (self, "code"),
                fired = wire_get (self, "fired"), id = wire_get (self, "id"),
                plan = wire_get (self, "plan");
    int64_t number = 0;
    if (status.size)
        number = put_run_status (self, status, code);
    else if (code.size)
        json_text_raw (put_key (self, TOP, "code"), code);
    if (fired.size && number == ZERO_STATUS_MISSED_ID) {
        json_put_string (put_key (self, TOP, "started_at"), NULL); // there was no run
    } else if (fired.size) {
        json_put_instant (put_key (self, TOP, "started_at"), fired);
        if (status.size)
            put_run_duration (self, fired);
    }
    // In a published result `plan` is the plan after its run; in an outcome of the history it is
    // the plan's id.
    if (id.size)
        json_text_raw (put_key (self, TOP, "plan"), id);
    else if (plan.size)
        json_put_id (put_key (self, TOP, "plan"), plan);
    if (json_value_begins (plan, '{'))
        convert_nested (JSON_PLAN, plan, put_key (self, TOP, "after"));
}

static void put_groups (struct converter *self)
{
    static const char *const names[GROUPS] = {
        [SPEC] = "spec", [COUNTS] = "counts", [LAST] = "last"};
    for (enum group group = SPEC; group < GROUPS; group++) {
        struct json_text *members = &self->groups[group];
        if (!members->bytes)
            continue;
        json_text_raw (members, span_text ("}"));
        json_text_raw (put_key (self, TOP, names[group]), span_of (members->bytes, members->size));
        free (members->bytes);
    }
}

// Consume and convert an object. False: it is invalid.
static bool convert_object (enum json_kind kind, struct json_scan *scan, struct json_text *text)
{
    struct converter self = {.kind = kind, .text = text};
    const struct wire_name *next = rows;
    bool good = json_members_take (&self.wire, scan);
    json_text_raw (text, span_text ("{"));
    for (size_t i = 0; good && i < self.wire.count; i++) {
        const struct json_member *wire = &self.wire.at[i];
        const struct wire_name *row = find_wire_row (kind, wire->name, &next);
        if (row)
            put_by_row (&self, row, wire->value);
        else
            put_unlisted (&self, wire);
    }
    if (kind == JSON_PLAN)
        put_plan_derived (&self);
    if (kind == JSON_RUN)
        put_run_derived (&self);
    put_groups (&self);
    json_text_raw (text, span_text ("}"));
    json_members_release (&self.wire);
    return good;
}

// Consume a list inside `depth` others, and convert its items. False: it is invalid.
static bool convert_list (enum json_kind kind, struct json_scan *scan, struct json_text *text,
                          int depth)
{
    json_scan_take (scan, '[');
    json_text_raw (text, span_text ("["));
    if (!json_scan_take (scan, ']')) {
        do {
            json_text_item (text);
            if (!convert_value (kind, scan, text, depth + 1))
                return false;
        } while (json_scan_take (scan, ','));
        if (!json_scan_take (scan, ']'))
            return false;
    }
    json_text_raw (text, span_text ("]"));
    return true;
}

static bool convert_value (enum json_kind kind, struct json_scan *scan, struct json_text *text,
                           int depth)
{
    struct span value;
    json_scan_space (scan);
    if (json_scan_is_next (scan, '{'))
        return convert_object (kind, scan, text);
    if (json_scan_is_next (scan, '['))
        return depth < JSON_DEPTH_MAX && convert_list (kind, scan, text, depth);
    if (!json_scan_value (scan, &value))
        return false;
    json_text_raw (text, value);
    return true;
}

bool json_names_take (enum json_kind kind, struct json_scan *scan, struct json_text *text)
{
    return convert_value (kind, scan, text, 0);
}

json_t *json_names (enum json_kind kind, const json_t *wire)
{
    if (!json_is_object (wire) && !json_is_array (wire))
        return json_incref ((json_t *)(uintptr_t)wire);
    char *written = json_write (wire);
    struct json_scan scan = json_scan_of (span_text (written));
    struct json_text text;
    json_text_start (&text, strlen (written) * 2);
    json_t *names = json_names_take (kind, &scan, &text)
                        ? json_loadb (text.bytes, text.size, JSON_ALLOW_NUL, NULL)
                        : NULL;
    free (text.bytes);
    free (written);
    return names ? names : json_deep_copy (wire); // it is nested deeper than JSON_DEPTH_MAX
}
