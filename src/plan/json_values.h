// Values of the wire, and as people and programs read them. A value is JSON text, valid and without
// white space around it. Pure.
#pragma once

#include "json_text.h"

bool json_value_begins (struct span value, char first);

// False: it is no integer; `ret` is unspecified then.
bool json_value_integer (struct span value, int64_t *ret);

// 0 if it is no integer.
int64_t json_value_integer_or_0 (struct span value);

// False: it is no number.
bool json_value_number (struct span value, double *ret);

// A new reference.
json_t *json_value_tree (struct span value);

// An instant in Unix milliseconds, as a string.
json_t *json_instant_ms (int64_t time_ms);

// ---- append a value

void json_put_word (struct json_text *text, const char *word); // NULL: null

void json_put_tree (struct json_text *text, json_t *value); // `value` is released

// A number as an id, anything else as it is.
void json_put_hex (struct json_text *text, struct span value);

// RFC 3339 of Unix seconds or milliseconds, or null; a string of another offset in UTC.
void json_put_instant (struct json_text *text, struct span value);
void json_put_instant_of_ms (struct json_text *text, struct span value);

// Seconds; of a list, each item.
void json_put_seconds_of_ms (struct json_text *text, struct span value);
void json_put_seconds_of_us (struct json_text *text, struct span value);

// A plan's state, and its type, by name.
void json_put_state (struct json_text *text, struct span value);
void json_put_plan_type (struct json_text *text, struct span value);

// Who stopped a plan, as an object.
void json_put_stopped (struct json_text *text, struct span value);

// An object that is stored as JSON text.
void json_put_parsed (struct json_text *text, struct span value);

// ---- frames

// Set `command` and `args`, and all frames as `frames` if there are any others. The PLAN frame and
// the frames with names are omitted: `spec` and fields of the plan show them.
void json_set_frames (json_t *names, const json_t *messages);
