#include "json_values.h"

#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "desc.h"
#include "ident.h"
#include "json.h"
#include "json_scan.h"
#include "status_names.h"
#include "rfc3339.h"
#include "schedule.h"

bool json_value_integer (struct span value, int64_t *ret)
{
    struct json_scan scan = json_scan_of (value);
    return json_scan_integer (&scan, ret) && json_scan_ended (&scan);
}

int64_t json_value_integer_or_0 (struct span value)
{
    int64_t number;
    return json_value_integer (value, &number) ? number : 0;
}

bool json_value_begins (struct span value, char first)
{
    return value.size && value.data[0] == (uint8_t)first;
}

bool json_value_number (struct span value, double *ret)
{
    char text[64];
    if (!value.size || value.size >= sizeof text || !strchr ("-0123456789", value.data[0]))
        return false;
    text[span_put (text, 0, value)] = '\0';
    *ret = strtod (text, NULL);
    return true;
}

json_t *json_value_tree (struct span value)
{
    int64_t number;
    return json_value_integer (value, &number)
               ? json_integer (number)
               : json_loadb ((const char *)value.data, value.size, JSON_DECODE_ANY | JSON_ALLOW_NUL,
                             NULL);
}

void json_put_tree (struct json_text *text, json_t *value)
{
    json_text_value (text, value);
    json_decref (value);
}

void json_put_string (struct json_text *text, const char *word)
{
    if (word)
        json_text_frame (text, span_text (word));
    else
        json_text_raw (text, span_text ("null"));
}

void json_put_id (struct json_text *text, struct span id)
{
    char digits[IDENT_SIZE];
    int64_t number;
    if (json_value_integer (id, &number))
        json_put_string (text, number > 0 ? ident_text ((uint64_t)number, digits) : NULL);
    else
        json_text_raw (text, id);
}

enum { INSTANT_SIZE = RFC3339_SIZE + 8 };

// Write an instant in RFC 3339 with milliseconds. Returns `out`; NULL: it is before 1970 or after
// the year 9999.
static const char *instant_text (int64_t time_ms, char out[INSTANT_SIZE])
{
    int64_t seconds = time_ms / 1000 - (time_ms % 1000 < 0);
    int ms = (int)(time_ms - seconds * 1000);
    if (seconds < 0 || seconds > SCHEDULE_TIME_MAX)
        return NULL;
    rfc3339_format (seconds, out);
    char *fraction = strchr (out, 'Z');
    const char digits[] = {
        '.', (char)('0' + ms / 100), (char)('0' + ms / 10 % 10), (char)('0' + ms % 10), 'Z', '\0'};
    memcpy (fraction, digits, sizeof digits);
    return out;
}

json_t *json_instant_ms (int64_t time_ms)
{
    char text[INSTANT_SIZE];
    const char *instant = instant_text (time_ms, text);
    return instant ? json_string (instant) : json_null ();
}

static void put_instant_ms (struct json_text *text, int64_t time_ms)
{
    char out[INSTANT_SIZE];
    json_put_string (text, instant_text (time_ms, out));
}

void json_put_instant (struct json_text *text, struct span value)
{
    struct reason ignored;
    int64_t seconds;
    double real;
    if (json_value_begins (value, '"')) {
        struct span inside = span_of (value.data + 1, value.size - 2);
        if (rfc3339_parse (inside, &seconds, &ignored) == 0)
            put_instant_ms (text, seconds * 1000);
        else
            json_text_raw (text, value);
    } else if (json_value_integer (value, &seconds)) {
        bool known = seconds > 0 && seconds <= SCHEDULE_TIME_MAX;
        put_instant_ms (text, known ? seconds * 1000 : -1);
    } else {
        bool known =
            json_value_number (value, &real) && real > 0 && real <= (double)SCHEDULE_TIME_MAX;
        put_instant_ms (text, known ? (int64_t)(real * 1000 + 0.5) : -1);
    }
}

void json_put_ms_as_instant (struct json_text *text, struct span value)
{
    int64_t time_ms;
    put_instant_ms (text, json_value_integer (value, &time_ms) ? time_ms : -1);
}

// Append a number, given in 1 / `units` of a second, in seconds; null if it is not a number. Each
// item of a list is converted.
static void put_as_seconds (struct json_text *text, struct span value, double units)
{
    double number;
    struct span item;
    struct json_scan scan = json_scan_of (value);
    if (!json_scan_take (&scan, '[')) {
        bool known = json_value_number (value, &number);
        json_put_tree (text, known ? json_real (number / units) : json_null ());
        return;
    }
    json_text_raw (text, span_text ("["));
    while (json_scan_value (&scan, &item)) {
        json_text_item (text);
        put_as_seconds (text, item, units);
        json_scan_take (&scan, ',');
    }
    json_text_raw (text, span_text ("]"));
}

void json_put_ms_as_seconds (struct json_text *text, struct span value)
{
    put_as_seconds (text, value, 1e3);
}

void json_put_us_as_seconds (struct json_text *text, struct span value)
{
    put_as_seconds (text, value, 1e6);
}

void json_put_state (struct json_text *text, struct span value)
{
    json_t *state = json_value_tree (value);
    json_put_string (text, json_state_name (state));
    json_decref (state);
}

void json_put_plan_type (struct json_text *text, struct span value)
{
    int64_t number;
    if (json_value_integer (value, &number) && number >= 0 && number < SCHEDULE_TYPES)
        json_put_string (text, schedule_type_name ((enum schedule_type)number));
    else
        json_text_raw (text, value);
}

// Parse "pause by ops at TIME", without "by ops" if the requester is unknown. A new object; NULL:
// the text has another form.
static json_t *parse_stopped (const char *text)
{
    const char *at = text ? strstr (text, " at ") : NULL;
    const char *by = text ? strstr (text, " by ") : NULL;
    int64_t seconds;
    struct reason ignored;
    if (!at || strchr (text, ' ') != (by ? by : at) || (by && at < by + 4))
        return NULL;
    for (const char *next = at; next; next = strstr (next + 1, " at "))
        at = next; // the last " at ": the requester's name may contain it too
    json_t *verb = json_stringn (text, (size_t)((by ? by : at) - text));
    const char *state = json_state_name (verb);
    bool known = rfc3339_parse (span_text (at + 4), &seconds, &ignored) == 0;
    json_t *ret =
        json_pack ("{s:o, s:o, s:o}", "why", state ? json_string (state) : json_incref (verb), "at",
                   known ? json_instant_ms (seconds * 1000) : json_string (at + 4), "by",
                   by ? json_stringn (by + 4, (size_t)(at - by - 4)) : json_null ());
    json_decref (verb);
    return ret;
}

static json_t *parse_object_text (const char *text)
{
    struct reason ignored;
    return text ? json_read_object (span_text (text), &ignored) : NULL;
}

// Append the tree that `read` makes of a string; the value unchanged if `read` returns NULL.
static void put_parsed_string (struct json_text *text, struct span value,
                               json_t *read (const char *))
{
    json_t *string = json_value_begins (value, '"') ? json_value_tree (value) : NULL;
    json_t *tree = read (json_string_value (string));
    if (tree)
        json_put_tree (text, tree);
    else
        json_text_raw (text, value);
    json_decref (string);
}

void json_put_stopped (struct json_text *text, struct span value)
{
    put_parsed_string (text, value, parse_stopped);
}

void json_put_object_text (struct json_text *text, struct span value)
{
    put_parsed_string (text, value, parse_object_text);
}

// -- the frames of a plan

void json_set_frames (json_t *names, const json_t *messages)
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
