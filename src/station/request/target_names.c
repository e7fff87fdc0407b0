#include "target_names.h"

#include "flow_book.h"
#include "permit.h"

struct known {
    const struct station *station;
    const char *user;
    struct reason *reason;
    size_t used, count, shown;
};

static void add_name (struct known *self, const char *name)
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
static void add_known (const struct station *self, const char *user, struct reason *reason)
{
    const struct flow_names *flows = &self->flows->names;
    struct known known = {self, user, reason, strlen (reason->text), 0, 0};
    for (size_t i = 0; i < self->target_count; i++)
        add_name (&known, target_name (self->targets[i]));
    for (size_t i = 0; i < flows->count; i++)
        if (flow_book_has (self, span_text (flows->entries[i].name)))
            add_name (&known, flows->entries[i].name);
    if (known.shown < known.count)
        snprintf (reason->text + known.used, REASON_MAX - known.used,
                  known.shown ? " and %zu more" : "; known: %zu", known.count - known.shown);
}

int target_not_found (const struct station *self, const char *user, const char *field,
                      struct span name, struct reason *reason)
{
    if (!self->targets_read) {
        reason_set (reason, "%s: the targets have not been read from Redis yet", field);
        return ZPLAN_ENET;
    }
    reason_set (reason, "%s: no target %s", field, quoted (name));
    add_known (self, user, reason);
    return ZPLAN_ENOTFIND;
}
