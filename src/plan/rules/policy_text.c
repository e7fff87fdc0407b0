// Writes a policy as members of a JSON object.
#include <stdlib.h>
#include <string.h>

#include "callback_rule.h"
#include "json.h"
#include "policy_private.h"

// The TEXT fields: objects that are stored as strings.
static const char *const texts[] = {
#define PLAIN(name)
#define TEXT(name)               #name,
#define FIELD(name, stored, ...) stored (name)
#include "policy_fields.def"
};

enum { TEXTS = sizeof texts / sizeof *texts };

static bool is_stored_as_text (const char *name)
{
    for (size_t i = 0; i < TEXTS; i++)
        if (strcmp (texts[i], name) == 0)
            return true;
    return false;
}

void policy_restore_objects (json_t *stored)
{
    for (size_t i = 0; i < TEXTS; i++) {
        const json_t *text = json_object_get (stored, texts[i]);
        struct span bytes = json_span (text);
        struct reason ignored;
        json_t *object = json_is_string (text) ? json_read_object (bytes, &ignored) : NULL;
        if (object && json_depth (object) <= POLICY_DEPTH_MAX)
            json_object_set (stored, texts[i], object);
        json_decref (object);
    }
}

// The JSON text of a field's value; free it.
static char *field_value_text (const char *name, json_t *value, bool stored)
{
    char *text = json_write (value);
    if (!stored || !is_stored_as_text (name) || json_is_string (value))
        return text;
    json_t *string = json_string (text);
    free (text);
    text = json_write (string);
    json_decref (string);
    return text;
}

void policy_write (const struct policy *self, bool stored, struct json_text *text)
{
    const char *name;
    json_t *value;
    json_object_foreach (self->fields, name, value)
    {
        if (!stored && strcmp (name, "traceparent") == 0)
            continue; // plan_json.c writes it, as it may be a run's
        bool masked = !stored && value == self->callback;
        json_t *shown = masked ? callback_rule_masked (value) : json_incref (value);
        char *bytes = field_value_text (name, shown, stored);
        json_decref (shown);
        json_text_raw (text, span_of (",\"", 2));
        json_text_raw (text, span_text (name));
        json_text_raw (text, span_of ("\":", 2));
        json_text_raw (text, span_text (bytes));
        free (bytes);
    }
}
