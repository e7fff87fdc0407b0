#include "on_failure.h"

#include "json_fields.h"
#include "station_name.h"

#define FIELD(name) offsetof (struct on_failure, name)

static const struct json_field fields[] = {
    {"command", AS_STRING, FIELD (command), 1, ON_FAILURE_TEXT_MAX},
    {"station", AS_STRING, FIELD (station), 1, ON_FAILURE_TEXT_MAX},
    {"title", AS_STRING, FIELD (title), 1, ON_FAILURE_TEXT_MAX},
};

bool on_failure_read (void *rule, const json_t *object, struct reason *reason)
{
    struct on_failure *self = rule;
    *self = (struct on_failure){0};
    if (!json_is_object (object))
        reason_set (reason, "want an object with command, and station or title");
    else if (!json_fields_read (object, fields, sizeof fields / sizeof *fields, self, reason))
        return false;
    else if (!self->command)
        reason_set (reason, "command: is missing");
    else if (self->station && !station_name_valid (span_text (self->station)))
        reason_set (reason, "station: want 1..%d of A-Z a-z 0-9 _ . -, got %s", STATION_NAME_MAX,
                    quoted (span_text (self->station)));
    else
        return true;
    return false;
}
