#include "target_names.h"

#include "permit.h"

// "; known: jobs, mail", as many as have room; the others as a number.
static void add_known (const struct station *self, const char *user, struct reason *reason)
{
    enum { ROOM_REST = 24 }; // of ", and N more"
    size_t used = strlen (reason->text), known = 0, shown = 0;
    for (size_t i = 0; i < self->target_count; i++) {
        const char *name = target_name (self->targets[i]);
        if (!permits_station (self, user, span_text (name)))
            continue;
        known++;
        if (shown + 1 < known || used + strlen (name) + ROOM_REST > REASON_MAX)
            continue;
        used += (size_t)snprintf (reason->text + used, REASON_MAX - used, "%s%s",
                                  shown ? ", " : "; known: ", name);
        shown++;
    }
    if (shown < known)
        snprintf (reason->text + used, REASON_MAX - used, shown ? " and %zu more" : "; known: %zu",
                  known - shown);
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
