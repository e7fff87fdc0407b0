#include "target_names.h"

#include "flow_book.h"
#include "permit.h"

struct known_names {
    const struct station *station;
    const char *user;
    struct reason *reason;
    size_t used, count, shown;
};

static void append_name (struct known_names *self, const char *name)
{
    enum { ROOM_REST = 24 }; // room for ", and N more"
    if (!permits_station (self->station, self->user, span_text (name)))
        return;
    self->count++;
    if (self->shown + 1 < self->count || self->used + strlen (name) + ROOM_REST > REASON_MAX)
        return;
    self->used += (size_t)snprintf (self->reason->text + self->used, REASON_MAX - self->used,
                                    "%s%s", self->shown ? ", " : "; known: ", name);
    self->shown++;
}

// Append "; known: jobs, mail": as many targets and flows as fit, then the number of the others.
static void append_known_targets (const struct station *self, const char *user,
                                  struct reason *reason)
{
    const struct flow_names *flows = &self->flows->names;
    struct known_names known_names = {self, user, reason, strlen (reason->text), 0, 0};
    for (size_t i = 0; i < self->target_count; i++)
        append_name (&known_names, target_name (self->targets[i]));
    for (size_t i = 0; i < flows->count; i++)
        if (flow_book_has (self, span_text (flows->entries[i].name)))
            append_name (&known_names, flows->entries[i].name);
    if (known_names.shown < known_names.count)
        snprintf (reason->text + known_names.used, REASON_MAX - known_names.used,
                  known_names.shown ? " and %zu more" : "; known: %zu",
                  known_names.count - known_names.shown);
}

int target_not_found (const struct station *self, const char *user, const char *field,
                      struct span name, struct reason *reason)
{
    if (!self->targets_read) {
        reason_set (reason, "%s: the targets have not been read from Redis yet", field);
        return ZPLAN_ENET;
    }
    reason_set (reason, "%s: no target %s", field, quoted (name));
    append_known_targets (self, user, reason);
    return ZPLAN_ENOTFIND;
}
