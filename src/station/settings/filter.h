// Arguments of admin commands: numbers, texts, and JSON objects that are read by a table. Pure.
#pragma once

#include <jansson.h>

#include "reason.h"
#include "span.h"

// A decimal number of an argument within its bounds.
bool argument_number (struct span text, int64_t min, int64_t max, int64_t *ret);

// A JSON text into a fixed one. False: no string, or too long.
bool copy_text (const json_t *value, char *out, size_t room);

struct filter_field {
    const char *name;
    bool (*read) (void *filter, const json_t *value);
    const char *rule;
};

// False: the reason names the field and its rule.
bool filter_read (json_t *object, const struct filter_field *fields, size_t count, void *filter,
                  struct reason *reason);

// A number that is given as an integer or in hex, as those of plans and runs. False: it is none.
bool copy_ident (const json_t *value, uint64_t *ret);
