#include "flow_stored.h"

#include <string.h>
#include <unistd.h>

#include "print.h"

struct span flow_stored_text (struct span object)
{
    static const char mark[] = "\"definition\":";
    size_t size = object.size;
    while (size > 0 && strchr (" \t\r\n", object.data[size - 1]))
        size--;
    const uint8_t *at = size ? memmem (object.data, size, mark, sizeof mark - 1) : NULL;
    if (!at || object.data[size - 1] != '}')
        return (struct span){0};
    at += sizeof mark - 1;
    return span_of (at, (size_t)(object.data + size - 1 - at));
}

bool flow_stored_write (FILE *file, struct span object)
{
    struct span text = flow_stored_text (object);
    if (isatty (fileno (file))) { // escape control characters
        json_t *definition = json_loadb ((const char *)text.data, text.size, 0, NULL);
        write_json (file, definition);
        json_decref (definition);
        return text.size > 0;
    }
    for (size_t i = 0; i < text.size; i++) // line breaks occur only between tokens
        fputc (text.data[i] == '\n' || text.data[i] == '\r' ? ' ' : text.data[i], file);
    return text.size > 0;
}

json_t *flow_stored_params (struct zplan_client *client, const char *flow)
{
    struct zplan_reply reply;
    if (zplan_client_manage (client, "flow", (const char *[]){"get", flow}, 2, &reply))
        return NULL;
    struct span text = flow_stored_text (call_frame (&reply, ZERO_FRAME_JSON));
    json_t *definition =
        text.size ? json_loadb ((const char *)text.data, text.size, 0, NULL) : NULL;
    json_t *params = json_incref (json_object_get (definition, "params"));
    json_decref (definition);
    return params;
}

static void take_target (const json_t *call, void (*take) (void *owner, const char *target),
                         void *owner)
{
    const char *target = json_string_value (json_object_get (call, "target"));
    if (target)
        take (owner, target);
}

void flow_stored_targets (const json_t *definition, void (*take) (void *owner, const char *target),
                          void *owner)
{
    const char *name;
    json_t *step;
    take_target (json_object_get (definition, "defaults"), take, owner);
    json_object_foreach (json_object_get (definition, "steps"), name, step)
    {
        take_target (step, take, owner);
        take_target (json_object_get (step, "undo"), take, owner);
    }
}
