#include "on_failure.h"

#include <string.h>

#include "station_name.h"

static const struct on_failure_field {
    const char *name;
    size_t offset;
} fields[] = {
    {"command", offsetof (struct on_failure, command)},
    {"station", offsetof (struct on_failure, station)},
    {"title", offsetof (struct on_failure, title)},
};

static const struct on_failure_field *field_named (const char *name)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp (fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

bool on_failure_read (const json_t *object, struct on_failure *ret, struct reason *reason)
{
    const char *name;
    json_t *value;
    *ret = (struct on_failure){0};
    if (!json_is_object (object)) {
        reason_set (reason, "on_failure: want an object with command, and station or title");
        return false;
    }
    json_object_foreach ((json_t *)object, name, value)
    {
        const struct on_failure_field *field = field_named (name);
        size_t size = json_string_length (value);
        if (!field) {
            reason_set (reason, "on_failure: %s: unknown field", quoted (span_text (name)));
            return false;
        }
        if (!json_is_string (value) || size < 1 || size > ON_FAILURE_TEXT_MAX) {
            reason_set (reason, "on_failure: %s: want a string of 1..%d bytes", name,
                        ON_FAILURE_TEXT_MAX);
            return false;
        }
        *(const char **)((char *)ret + field->offset) = json_string_value (value);
    }
    if (!ret->command)
        reason_set (reason, "on_failure: command: is missing");
    else if (ret->station && !station_name_valid (span_text (ret->station)))
        reason_set (reason, "on_failure: station: want 1..%d of A-Z a-z 0-9 _ . -, got %s",
                    STATION_NAME_MAX, quoted (span_text (ret->station)));
    else
        return true;
    return false;
}
