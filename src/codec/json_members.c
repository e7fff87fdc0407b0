#include "json_members.h"

#include <stdlib.h>

#include "memory.h"

static void grow_members (struct json_members *self)
{
    bool initial = self->at == self->initial;
    self->room *= 2;
    self->at = memory_resize (initial ? NULL : self->at, self->room * sizeof *self->at);
    if (initial)
        memcpy (self->at, self->initial, sizeof self->initial);
}

bool json_members_take (struct json_members *self, struct json_scan *scan)
{
    self->at = self->initial;
    self->count = 0;
    self->room = sizeof self->initial / sizeof *self->initial;
    if (!json_scan_take (scan, '{'))
        return false;
    if (json_scan_take (scan, '}'))
        return true;
    do {
        if (self->count == self->room)
            grow_members (self);
        struct json_member *member = &self->at[self->count++];
        if (!json_scan_any_name (scan, &member->name) || !json_scan_value (scan, &member->value))
            return false;
    } while (json_scan_take (scan, ','));
    return json_scan_take (scan, '}');
}

void json_members_release (struct json_members *self)
{
    if (self->at != self->initial)
        free (self->at);
    self->at = self->initial;
    self->count = 0;
}

struct span json_members_get (const struct json_members *self, const char *name)
{
    struct span wanted = span_text (name);
    for (size_t i = 0; i < self->count; i++)
        if (span_equal (self->at[i].name, wanted))
            return self->at[i].value;
    return (struct span){0};
}
