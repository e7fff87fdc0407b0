// The conversion of single values of the wire to the form that people and programs read
// (json_names.h). A value is valid JSON text without white space around it. Pure.
#pragma once

#include "json_text.h"

// Whether the value's first byte is this one, which determines its type: { [ " or -.
bool json_value_begins (struct span value, char first);

// Read an integer. False: the value is not an integer; `ret` is then unspecified.
bool json_value_integer (struct span value, int64_t *ret);

// Read an integer. Returns 0 if the value is not an integer.
int64_t json_value_integer_or_0 (struct span value);

// Read a number, with or without decimals. False: the value is not a number.
bool json_value_number (struct span value, double *ret);

// Parse the value. Returns a new reference.
json_t *json_value_tree (struct span value);

// The RFC 3339 string of an instant in Unix milliseconds; null outside of the years 1970 to 9999. A
// new reference.
json_t *json_instant_ms (int64_t time_ms);

// ---- append a value

// Append a string; null for NULL.
void json_put_string (struct json_text *text, const char *word);

// Append a tree and release it.
void json_put_tree (struct json_text *text, json_t *value);

// Append an id: hex text for an integer, null for one below 1; any other value is unchanged.
void json_put_id (struct json_text *text, struct span value);

// Append an instant, given in Unix seconds or as an RFC 3339 string of any offset, as RFC 3339 in
// UTC. A number that is no instant, such as 0, becomes null; any other string is unchanged.
void json_put_instant (struct json_text *text, struct span value);

// Append an instant, given in Unix milliseconds, as RFC 3339 in UTC; any other value becomes null.
void json_put_ms_as_instant (struct json_text *text, struct span value);

// Append a duration, given in milliseconds, in seconds; null if it is no number. Each item of a
// list is converted.
void json_put_ms_as_seconds (struct json_text *text, struct span value);

// Append a duration, given in microseconds, as json_put_ms_as_seconds does.
void json_put_us_as_seconds (struct json_text *text, struct span value);

// Append the word for a plan's state (status_names.h); null if it is unknown.
void json_put_state (struct json_text *text, struct span value);

// Append the name of a plan's type; an unknown type is unchanged.
void json_put_plan_type (struct json_text *text, struct span value);

// Append {"why", "at", "by"}, read from a plan's `stopped` text (plan_note_stop); a text of another
// form is unchanged.
void json_put_stopped (struct json_text *text, struct span value);

// Append the object that a string contains as JSON text; any other value is unchanged.
void json_put_object_text (struct json_text *text, struct span value);

// ---- frames

// Set members of `names` from a plan's `messages`: `command` and `args` if there is a COMMAND, and
// `frames`, a list of all frames, unless `command` and `args` contain them all. PLAN, STATION_ID,
// GLOBAL_ID and REQUEST_ID are omitted, as other members of the plan show them.
void json_set_frames (json_t *names, const json_t *messages);
