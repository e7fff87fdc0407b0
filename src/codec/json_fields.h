// Members of a JSON object, read by a table: fields of plans and options of commands. Pure.
#pragma once

#include <jansson.h>

#include "reason.h"

// The type a member is read as, and what `min` and `max` bound.
enum json_as {
    AS_OWN,     // by `read` or `read_with_reason`
    AS_TEXT,    // char[max + 1]: a string, bounded in bytes
    AS_STRING,  // const char *, borrowed from the object: a string, bounded in bytes
    AS_NUMBER,  // int64_t: an integer
    AS_SECONDS, // int64_t: an integer that the derived rule calls seconds
    AS_INT,     // int32_t: an integer
    AS_FLAG,    // bool
    AS_WORD,    // an enum: the index of a string in `words`, from `min` on and below `max`
    AS_IDENT    // uint64_t: the number of a plan or a run, as an integer or in hex
};

#define JSON_NOWHERE SIZE_MAX // offset of a member that is only checked

struct json_field {
    const char *name;
    enum json_as as;
    size_t at; // offset of the member in the struct that is read into; 0 = the struct itself
    int64_t min, max;
    const char *rule; // the reason if the value is wrong; NULL: derived from bounds or `words`
    const char *const *words;
    // AS_OWN: one of these reads the value. The second sets the reason itself, so `rule` is NULL.
    bool (*read) (void *value_of_object, const json_t *value);
    bool (*read_with_reason) (void *value_of_object, const json_t *value, struct reason *reason);
    bool reason_names_it; // the reason of `read_with_reason` already names the member
};

// Read one member into `ret`; NULL: only check it. False: the reason names the member and its rule.
bool json_field_read (const struct json_field *field, const json_t *value, void *ret,
                      struct reason *reason);

// Read all members into `ret`; NULL: only check them. False: the reason names the first that is
// unknown or wrong, and its rule.
bool json_fields_read (const json_t *object, const struct json_field *fields, size_t count,
                       void *ret, struct reason *reason);

// Parse an object, and read its members as json_fields_read does. False also if the text is no JSON
// object.
bool json_fields_parse (struct span text, const struct json_field *fields, size_t count, void *ret,
                        struct reason *reason);
