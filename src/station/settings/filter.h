// Arguments of admin commands: numbers, texts, and JSON objects that are read by a table. Pure.
#pragma once

#include <jansson.h>

#include "reason.h"
#include "span.h"

// A decimal number of an argument within its bounds.
bool argument_number (struct span text, int64_t min, int64_t max, int64_t *ret);

// A JSON text into a fixed one. False: no string, or too long.
bool copy_text (const json_t *value, char *out, size_t room);

enum filter_type {
    FILTER_OWN,    // by `read`
    FILTER_TEXT,   // char[max + 1]: a string of min..max bytes
    FILTER_NUMBER, // int64_t: an integer min..max
    FILTER_FLAG,   // bool
    FILTER_IDENT   // uint64_t: the number of a plan or a run, as an integer or in hex
};

struct filter_field {
    const char *name;
    const char *rule;
    enum filter_type type;
    size_t at; // of the value in the filter, 0 = of the filter itself
    int64_t min, max;
    bool (*read) (void *value_of_filter, const json_t *value);
};

// False: the reason names the field and its rule.
bool filter_read (json_t *object, const struct filter_field *fields, size_t count, void *filter,
                  struct reason *reason);

// The same of the text of an object. False: it is none, too.
bool filter_parse (struct span text, const struct filter_field *fields, size_t count, void *filter,
                   struct reason *reason);
