#include "query.h"

#include <stdio.h>

#include "status_names.h"
#include "rfc3339.h"
#include "settings.h"

enum query_kind { TEXT, NUMBER, FLAG, YES, STATE, STATUS, INSTANT, INTEGER_OR_TEXT };

static const struct query_row {
    const char *name, *wire;
    enum query_kind kind;
    int64_t min, max;
} rows[] = {
    {"limit", "limit", NUMBER, 1, 1000},
    {"target", "station", TEXT},
    {"state", "state", STATE},
    {"type", "type", TEXT},
    {"title", "title", TEXT},
    {"verdict", "verdict", TEXT},
    {"held", "held", YES},
    {"tenant", "tenant", INTEGER_OR_TEXT},
    {"creator", "creator", INTEGER_OR_TEXT},
    {"category", "category", TEXT},
    {"kind", "kind", TEXT},
    {"name", "key", TEXT},
    {"group", "group", TEXT},
    {"remark", "remark", TEXT},
    {"flow_run", "flow_run", TEXT},
    {"plan", "plan", TEXT},
    {"since", "since", NUMBER, 0, INT64_MAX},
    {"epoch", "epoch", TEXT},
    {"newest", "newest", FLAG},
    {"output", "output", FLAG},
    {"order", "order", TEXT},
    {"status", "status", STATUS},
    {"from", "from", INSTANT},
    {"to", "to", INSTANT},
    {"step", "step", NUMBER, 1, 604800},
};

static int reject_field (struct reason *reason, const char *name, const char *want, const char *got)
{
    return reason_set (reason, "%s: want %s, got %s", name, want, quoted (span_text (got)));
}

static int parse_query_flag (const char *name, const char *text, bool *ret, struct reason *reason)
{
    bool yes = strcmp (text, "1") == 0 || strcmp (text, "true") == 0;
    if (!yes && strcmp (text, "0") != 0 && strcmp (text, "false") != 0)
        return reject_field (reason, name, "1, true, 0 or false", text);
    *ret = yes;
    return 0;
}

static int parse_query_number (const char *name, const char *text, int64_t min, int64_t max,
                               int64_t *ret, struct reason *reason)
{
    int64_t number;
    if (number_parse (text, &number) && number >= min && number <= max) {
        *ret = number;
        return 0;
    }
    char want[64];
    snprintf (want, sizeof want, "%lld..%lld", (long long)min, (long long)max);
    return reject_field (reason, name, want, text);
}

// The number on the wire of the state with this name; if two have that name, the queued one. NULL:
// unknown.
static json_t *state_number (const char *text)
{
    if (strcmp (text, "failed") == 0) // as people see it
        text = "error";
    for (int i = 1; i < 8; i++) {
        json_t *number = json_integer (i);
        const char *name = json_state_name (number);
        if (name && strcmp (name, text) == 0)
            return number;
        json_decref (number);
    }
    return NULL;
}

// Parse one or several comma-separated statuses: names, or numbers.
static json_t *parse_statuses (const char *text)
{
    json_t *list = json_array ();
    for (const char *at = text;; at++) {
        char word[32];
        int64_t number;
        size_t size = strcspn (at, ",");
        snprintf (word, sizeof word, "%.*s", (int)size, at);
        json_array_append_new (list, number_parse (word, &number) ? json_integer (number)
                                                                  : json_string (word));
        at += size;
        if (!*at)
            return list;
    }
}

static json_t *query_value (const struct query_row *row, const char *text, struct reason *reason)
{
    int64_t number;
    bool flag;
    json_t *state;
    switch (row->kind) {
    case NUMBER:
        return parse_query_number (row->name, text, row->min, row->max, &number, reason)
                   ? NULL
                   : json_integer (number);
    case FLAG:
        return parse_query_flag (row->name, text, &flag, reason) ? NULL : json_boolean (flag);
    case YES: // the station has no filter for the opposite
        if (strcmp (text, "1") == 0 || strcmp (text, "true") == 0)
            return json_true ();
        reject_field (reason, row->name, "1 or true", text);
        return NULL;
    case INTEGER_OR_TEXT:
        return number_parse (text, &number) ? json_integer (number) : json_string (text);
    case INSTANT:
        return query_instant (row->name, text, &number, reason) ? NULL : json_integer (number);
    case STATUS:
        return parse_statuses (text);
    case STATE:
        state = state_number (text);
        if (!state)
            reject_field (reason, "state",
                          "queued, running, retrying, paused, failed (or error) or closed", text);
        return state;
    default:
        return json_string (text);
    }
}

json_t *query_filter (const struct request_target *target, struct reason *reason)
{
    json_t *filter = json_object ();
    for (size_t i = 0; i < target->field_count; i++)
        for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
            if (strcmp (rows[at].name, target->fields[i].name) != 0)
                continue;
            json_t *value = query_value (&rows[at], target->fields[i].value, reason);
            if (!value) {
                json_decref (filter);
                return NULL;
            }
            json_object_set_new (filter, rows[at].wire, value);
        }
    return filter;
}

int query_instant (const char *name, const char *text, int64_t *ret, struct reason *reason)
{
    struct reason ignored;
    char whole[40];
    const char *point = strchr (text, '.');
    size_t front = point ? (size_t)(point - text) : strlen (text);
    const char *rest = point ? point + 1 + strspn (point + 1, "0123456789") : "";
    snprintf (whole, sizeof whole, "%.*s%s", (int)(front < 32 ? front : 32), text, rest);
    if ((number_parse (text, ret) && *ret >= 0) ||
        rfc3339_parse (span_text (whole), ret, &ignored) == 0)
        return 0;
    return reject_field (reason, name, "RFC 3339 with an offset, or Unix seconds", text);
}

int query_number (const struct request_target *target, const char *name, int64_t min, int64_t max,
                  int64_t fallback, int64_t *ret, struct reason *reason)
{
    const char *text = request_target_field (target, name);
    *ret = fallback;
    return text ? parse_query_number (name, text, min, max, ret, reason) : 0;
}

int query_flag (const struct request_target *target, const char *name, bool *ret,
                struct reason *reason)
{
    const char *text = request_target_field (target, name);
    *ret = false;
    return text ? parse_query_flag (name, text, ret, reason) : 0;
}
