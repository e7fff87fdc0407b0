#include "json_names.h"

#include <stdio.h>
#include <string.h>

#include "codes.h"
#include "desc.h"
#include "ident.h"
#include "json.h"
#include "json_words.h"
#include "plan.h"
#include "policy.h"
#include "rfc3339.h"

// How a value is converted.
enum conversion {
    SAME,
    NESTED, // as the enclosing object
    DROP,
    HEX,         // an id
    INSTANT,     // of Unix seconds, or RFC 3339; null where there is none
    INSTANT_MS,  // of Unix milliseconds
    SECONDS_MS,  // a duration of milliseconds
    SECONDS_US,  // of microseconds
    STATE,       // a plan's
    STATUS,      // of a run
    VERDICT,     // absent where there is none
    PLAN_TYPE,   // the type's name
    PLAN_OBJECT, // of JSON_PLAN
    RUNS,        // a list of JSON_RUN
    TARGETS,     // a list of JSON_TARGET
    STOPPED,     // by, at, why
    PARSED,      // an object that is stored as JSON text
    FRAMES       // a message: command, args, frames
};

enum {
    PLAN = 1 << JSON_PLAN,
    RUN = 1 << JSON_RUN,
    TARGET = 1 << JSON_TARGET,
    ANSWER = 1 << JSON_ANSWER,
    ANY = PLAN | RUN | TARGET | ANSWER
};

// The first row that matches kind and name applies. `name` includes its object: "counts.runs".
static const struct wire_name {
    unsigned kinds;
    const char *wire, *name;
    enum conversion conversion;
} rows[] = {
    // of a plan, mostly in the order of a page, so that a row is found early
    {PLAN, "plan_id", "id", HEX},
    {PLAN, "request_id", "request_id", SAME},
    {PLAN, "station", "target", SAME},
    {PLAN, "caller", "caller", SAME},
    {PLAN, "description", "title", SAME},
    {PLAN, "revision", "revision", SAME},
    {PLAN, "plan_type", "spec.plan_type", PLAN_TYPE},
    {PLAN, "plan_value", "spec.plan_value", SAME},
    {PLAN, "plan_repet", "spec.plan_repet", SAME},
    {PLAN, "real_repet", "counts.runs", SAME},
    {PLAN, "last_state", "last.status", STATUS},
    {PLAN, "plan_time", "next_at", INSTANT},
    {PLAN, "exec_time", "last.started_at", INSTANT},
    {PLAN, "base_time", "base_at", INSTANT},
    {PLAN, "plan_state", "state", STATE},
    {PLAN, "add_time", "created_at", INSTANT},
    {PLAN, "skip_set", "spec.skip_set", SAME},
    {PLAN, "skip_num", "counts.skipped", SAME},
    {PLAN, "error_count", "counts.failures", SAME},
    {PLAN, "exec_id", "last.exec_id", HEX},
    {PLAN, "no_keep", "spec.no_keep", SAME},
    {PLAN, "command", "command", SAME},
    {PLAN, "key", "name", SAME},
    {PLAN, "error_info", "last.reason", SAME},
    {PLAN, "missed", "counts.missed", SAME},
    {PLAN, "skip_wait", "counts.skips_pending", SAME},
    {PLAN, "stopped", "stopped", STOPPED},
    {PLAN, "messages", "frames", FRAMES},
    {PLAN, "failures", "failures", RUNS},
    {PLAN, "vote", "spec.vote", SAME},
    {PLAN, "id", NULL, DROP},
    {PLAN, "type", NULL, DROP},
    {PLAN, "state", NULL, DROP},
    {PLAN, "poll", NULL, DROP},
    {PLAN, "extra", NULL, DROP},
#define PLAIN(name)
#define TEXT(name)               {PLAN, #name, "spec." #name, PARSED},
#define FIELD(name, stored, ...) stored (name)
#include "policy_fields.def"
    {PLAN, "run_with", "run_with", PARSED},
    // of a run
    {RUN, "id", NULL, DROP}, // the plan's id again
    {RUN, "plan", "plan", HEX},
    {RUN, "key", "name", SAME},
    {RUN, "nominal", "nominal_at", INSTANT},
    {RUN, "fired", "started_at", INSTANT},
    {RUN, "ended", "ended_at", INSTANT},
    {RUN, "state", "state", STATE},
    {RUN, "missed_first", "missed_first_at", INSTANT},
    {RUN, "missed_last", "missed_last_at", INSTANT},
    // of a target
    {TARGET, "since", "since_at", INSTANT},
    {TARGET, "no_worker", "no_worker_at", INSTANT},
    // of the station, its commands and files
    {ANSWER, "plan", "plan", PLAN_OBJECT},
    {ANSWER, "first", "next_at", INSTANT},
    {ANSWER, "there", NULL, DROP}, // `result` has it as a word
    {ANSWER, "refused", "detail", SAME},
    {ANSWER, "told", "notified", SAME},
    {ANSWER, "stations", "target_count", SAME},
    {ANSWER, "targets", "targets", TARGETS},
    {ANSWER, "runs", "items", RUNS},
    {ANSWER, "next", "next_at", INSTANT},
    {ANSWER, "at", "at", INSTANT},
    {ANSWER, "now_ms", "now_at", INSTANT_MS},
    {ANSWER, "clock_ahead_ms", "clock_ahead_s", SECONDS_MS},
    {ANSWER, "round_trip_us", "took_s", SECONDS_US},
    {ANSWER, "started_ms", "started_at", INSTANT_MS},
    {ANSWER, "heard_ms", "heard_at", INSTANT_MS},
    {ANSWER, "ended_ms", "ended_at", INSTANT_MS},
    {ANSWER, "since", "since_at", INSTANT},
    {ANSWER, "summary", "summary", SAME},   // counts by word
    {ANSWER, "counters", "counters", SAME}, // by the names of counters
    {ANSWER, "fields", "fields", SAME},     // of a kind: as submitted
    {ANSWER, "result", "result", SAME},     // of a worker: as it sent it
    // of all
    {ANY, "plan_id", "id", HEX},
    {ANY, "exec_id", "exec_id", HEX},
    {ANY, "flow_run", "flow_run", HEX},
    {ANY, "station", "target", SAME},
    {ANY, "plan_state", "state", STATE},
    {ANY, "verdict", "verdict", VERDICT},
    {ANY, "unresponsive_since", "unresponsive_since_at", INSTANT},
    {ANY, "late_ms", "late_s", SECONDS_MS},
    {ANY, "sum_us", "sum_s", SECONDS_US},
    {ANY, "le_us", "le", SECONDS_US}, // upper bounds, in seconds
};

static const struct wire_name *row_of (enum json_kind kind, const char *wire)
{
    // The first letter rules out most rows: a page of plans takes thousands of look-ups.
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].wire[0] == wire[0] && rows[i].kinds & 1U << kind &&
            strcmp (rows[i].wire, wire) == 0)
            return &rows[i];
    return NULL;
}

// -- values

// Plain values are shared: nobody changes one.
static json_t *same (const json_t *value)
{
    return json_is_object (value) || json_is_array (value)
               ? json_deep_copy (value)
               : json_incref ((json_t *)(uintptr_t)value);
}

json_t *json_instant_ms (int64_t time_ms)
{
    char text[RFC3339_SIZE + 8];
    int64_t seconds = time_ms / 1000 - (time_ms % 1000 < 0);
    int ms = (int)(time_ms - seconds * 1000);
    if (seconds < 0 || seconds > SCHEDULE_TIME_MAX)
        return json_null ();
    rfc3339_format (seconds, text);
    char *fraction = strchr (text, 'Z');
    const char digits[] = {
        '.', (char)('0' + ms / 100), (char)('0' + ms / 10 % 10), (char)('0' + ms % 10), 'Z', '\0'};
    memcpy (fraction, digits, sizeof digits);
    return json_string (text);
}

static json_t *instant (const json_t *value)
{
    struct reason ignored;
    int64_t seconds;
    double real = json_number_value (value);
    if (json_is_string (value)) {
        const char *text = json_string_value (value);
        return rfc3339_parse (span_text (text), &seconds, &ignored) == 0
                   ? json_instant_ms (seconds * 1000)
                   : json_string (text);
    }
    return real > 0 && real <= (double)SCHEDULE_TIME_MAX
               ? json_instant_ms ((int64_t)(real * 1000 + 0.5))
               : json_null ();
}

static json_t *hex (const json_t *id)
{
    char text[IDENT_SIZE];
    json_int_t number = json_integer_value (id);
    if (!json_is_integer (id))
        return same (id);
    return number > 0 ? json_string (ident_text ((uint64_t)number, text)) : json_null ();
}

// For a list, each item.
static json_t *duration (const json_t *value, double units)
{
    size_t i;
    const json_t *one;
    if (!json_is_array (value))
        return json_is_number (value) ? json_real (json_number_value (value) / units)
                                      : json_null ();
    json_t *list = json_array ();
    json_array_foreach (value, i, one) json_array_append_new (list, duration (one, units));
    return list;
}

static json_t *word (const char *text)
{
    return text ? json_string (text) : json_null ();
}

// "pause by ops at TIME", without "by ops" where the requester is unknown.
static json_t *stopped (const json_t *value)
{
    const char *text = json_string_value (value), *at = text ? strstr (text, " at ") : NULL;
    const char *by = text ? strstr (text, " by ") : NULL;
    if (!at || strchr (text, ' ') != (by ? by : at) || (by && by > at))
        return same (value);
    for (const char *next = at; next; next = strstr (next + 1, " at "))
        at = next; // the last one, as a name may contain another
    json_t *object = json_object ();
    json_t *verb = json_stringn (text, (size_t)((by ? by : at) - text));
    const char *state = json_state_name (verb);
    json_object_set_new (object, "why", state ? json_string (state) : json_incref (verb));
    json_decref (verb);
    json_t *when = json_string (at + 4);
    json_object_set_new (object, "at", instant (when));
    json_decref (when);
    json_object_set_new (object, "by",
                         by ? json_stringn (by + 4, (size_t)(at - by - 4)) : json_null ());
    return object;
}

static json_t *parsed (const json_t *value)
{
    struct reason ignored;
    const char *text = json_string_value (value);
    json_t *object = text ? json_read_object (span_text (text), &ignored) : NULL;
    return object ? object : same (value);
}

static json_t *name_items (enum json_kind kind, const json_t *list)
{
    size_t i;
    const json_t *item;
    json_t *names = json_array ();
    json_array_foreach (list, i, item) json_array_append_new (names, json_names (kind, item));
    return names;
}

static json_t *converted (enum json_kind kind, const struct wire_name *row, const json_t *value)
{
    switch (row->conversion) {
    case HEX:
        return hex (value);
    case INSTANT:
        return instant (value);
    case INSTANT_MS:
        return json_is_integer (value) ? json_instant_ms (json_integer_value (value))
                                       : json_null ();
    case SECONDS_MS:
        return duration (value, 1e3);
    case SECONDS_US:
        return duration (value, 1e6);
    case STATE:
        return word (json_state_name (value));
    case STATUS:
        return word (json_status_name (value));
    case VERDICT:
        return word (json_verdict_name (value));
    case PLAN_TYPE:
        if (json_is_integer (value) && json_integer_value (value) >= 0 &&
            json_integer_value (value) < SCHEDULE_TYPES)
            return json_string (
                schedule_type_name ((enum schedule_type)json_integer_value (value)));
        return same (value);
    case PLAN_OBJECT:
        return json_is_object (value) ? json_names (JSON_PLAN, value) : hex (value);
    case RUNS:
        return name_items (JSON_RUN, value);
    case TARGETS:
        return json_is_array (value)    ? name_items (JSON_TARGET, value)
               : json_is_object (value) ? json_names (kind, value)
                                        : same (value);
    case PARSED:
        return parsed (value);
    case STOPPED:
        return stopped (value);
    case NESTED:
        return json_is_object (value) || json_is_array (value) ? json_names (kind, value)
                                                               : same (value);
    default:
        return same (value);
    }
}

// -- the frames of a plan

// Set `command` and `args`, and all frames as `frames` if there are any others. The PLAN frame and
// the frames with names are omitted: `spec` and fields of the plan show them.
static void set_frames (json_t *names, const json_t *messages)
{
    enum { DESCRIPTION = 1, FIRST = 2 };
    struct desc desc;
    size_t i, count = json_array_size (messages);
    const json_t *frame;
    bool read = count >= FIRST &&
                json_to_desc (json_array_get (messages, DESCRIPTION), count - FIRST, &desc);
    json_t *frames = json_array (), *args = json_array ();
    const json_t *command = NULL;
    bool plain = true;
    json_array_foreach (messages, i, frame)
    {
        uint8_t type = read && i >= FIRST ? desc.types[i - FIRST] : 0;
        if (!read || i < FIRST || type == ZERO_FRAME_PLAN || type == ZERO_FRAME_STATION_ID ||
            type == ZERO_FRAME_GLOBAL_ID || type == ZERO_FRAME_REQUEST_ID)
            continue;
        json_t *entry = json_object ();
        json_object_set_new (entry, "type",
                             frame_name (type) ? json_string (frame_name (type))
                                               : json_integer (type));
        json_object_set (entry, json_is_string (frame) ? "text" : "b64",
                         json_is_string (frame) ? (json_t *)(uintptr_t)frame
                                                : json_object_get (frame, "b64"));
        json_array_append_new (frames, entry);
        bool is_command = type == ZERO_FRAME_COMMAND && !command && json_is_string (frame);
        plain =
            plain && (is_command || (type == ZERO_FRAME_ARG && command && json_is_string (frame)));
        if (is_command)
            command = frame;
        else if (type == ZERO_FRAME_ARG)
            json_array_append (args, (json_t *)(uintptr_t)frame);
    }
    if (command) {
        json_object_set (names, "command", (json_t *)(uintptr_t)command);
        json_object_set (names, "args", args);
    }
    if (!plain || !command)
        json_object_set (names, "frames", frames);
    json_decref (frames);
    json_decref (args);
}

// -- an object

// Set a field whose name includes its object, which is created: "counts.runs".
static void set_named (json_t *names, const char *name, json_t *value)
{
    const char *dot = strchr (name, '.');
    if (!dot) {
        json_object_setn_new_nocheck (names, name, strlen (name), value);
        return;
    }
    size_t size = (size_t)(dot - name);
    json_t *object = json_object_getn (names, name, size);
    if (!json_is_object (object)) {
        object = json_object ();
        json_object_setn_new (names, name, size, object);
    }
    json_object_setn_new_nocheck (object, dot + 1, strlen (dot + 1), value);
}

static void set_field (json_t *names, enum json_kind kind, const char *wire, const json_t *value)
{
    static const struct wire_name nested = {.conversion = NESTED};
    const struct wire_name *row = row_of (kind, wire);
    if (row && row->conversion == DROP)
        return;
    if (row && row->conversion == FRAMES) {
        set_frames (names, value);
        return;
    }
    if (row && row->conversion == VERDICT && !json_verdict_name (value))
        return;
    if (row) {
        set_named (names, row->name, converted (kind, row, value));
    } else if (kind == JSON_PLAN && policy_field (wire)) {
        char name[64];
        snprintf (name, sizeof name, "spec.%s", wire);
        set_named (names, name, same (value));
    } else if (kind == JSON_PLAN) {
        json_object_set_new (names, wire, same (value));
    } else {
        json_object_set_new (names, wire, converted (kind, &nested, value));
    }
}

// Add what derives from several fields of a plan.
static void finish_plan (json_t *names, const json_t *wire)
{
    const json_t *state = json_object_get (wire, "plan_state");
    if (!state)
        return;
    int64_t number = json_integer_value (state);
    json_object_set_new (names, "running", json_boolean (number == PLAN_EXECUTE));
    if (json_object_get (wire, "last_state") && !json_last_status (wire))
        set_named (names, "last.status", json_null ());
    if (number == PLAN_PAUSE || number == PLAN_ERROR || number == PLAN_CLOSE)
        json_object_set_new (names, "next_at", json_null ());
    const json_t *repeat = json_object_get (wire, "plan_repet");
    int64_t type = json_integer_value (json_object_get (wire, "plan_type"));
    int64_t used = json_integer_value (json_object_get (wire, "real_repet")) +
                   json_integer_value (json_object_get (wire, "skip_num"));
    int64_t all = type <= SCHEDULE_TIME ? 1 : json_integer_value (repeat);
    if (repeat && all < 0)
        set_named (names, "counts.left", json_null ());
    else if (repeat)
        set_named (names, "counts.left", json_integer (all > used ? all - used : 0));
    // Keep the requested time where `next_at` does not show it.
    if (type == SCHEDULE_TIME)
        set_named (names, "spec.plan_time", same (json_object_get (wire, "plan_time")));
}

// A status is a word; an error of a target that has no word of its own is `failed`, with its name
// as `code`. One that is printed as a word already has its number in `code`.
static void finish_run (json_t *names, const json_t *wire)
{
    const json_t *status = json_object_get (wire, "status");
    if (!status)
        return;
    char code[JSON_CODE_SIZE];
    const json_t *fired = json_object_get (wire, "fired"), *ended = json_object_get (wire, "ended");
    int64_t number = json_status_number (
        json_is_integer (json_object_get (wire, "code")) ? json_object_get (wire, "code") : status);
    json_t *as_number = json_integer (number);
    json_object_set_new (names, "status", word (json_status_name (as_number)));
    json_decref (as_number);
    json_object_del (names, "code");
    if (!json_status_has_name (number))
        json_object_set_new (names, "code", json_string (json_status_code ((uint8_t)number, code)));
    if (number == ZERO_STATUS_MISSED_ID && fired)
        json_object_set_new (names, "started_at", json_null ()); // there was no run
    else if (json_is_number (fired) && json_is_number (ended)) {
        double took = json_number_value (ended) - json_number_value (fired);
        json_object_set_new (names, "took_s",
                             took >= 0 ? json_real ((double)(int64_t)(took * 1000 + 0.5) / 1000)
                                       : json_null ());
    }
}

// In a published result `plan` is the plan after its run; in an outcome of the history it is the
// plan's id.
static void finish_published (json_t *names, const json_t *wire)
{
    json_t *id = json_object_get (wire, "id"), *after = json_object_get (wire, "plan");
    if (id)
        json_object_set (names, "plan", id);
    if (json_is_object (after))
        json_object_set_new (names, "after", json_names (JSON_PLAN, after));
}

json_t *json_names (enum json_kind kind, const json_t *wire)
{
    const char *name;
    json_t *value;
    if (json_is_array (wire))
        return name_items (kind, wire);
    if (!json_is_object (wire))
        return same (wire);
    json_t *names = json_object ();
    json_object_foreach ((json_t *)(uintptr_t)wire, name, value)
        set_field (names, kind, name, value);
    if (kind == JSON_PLAN)
        finish_plan (names, wire);
    if (kind == JSON_RUN) {
        finish_run (names, wire);
        finish_published (names, wire);
    }
    return names;
}
