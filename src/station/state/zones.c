#include "zones.h"

#include <czmq.h>
#include <inttypes.h>

#include "log.h"
#include "zonefile.h"

enum { ZONES_MAX = 128 }; // a few kilobytes each

static void destroy_zone (void **zone)
{
    zone_destroy ((struct zone **)zone);
}

const struct zone *zones_named (struct station *self, const char *name, struct reason *reason)
{
    if (!*name)
        return self->zone;
    if (!self->zones) {
        self->zones = zhashx_new ();
        zhashx_set_destructor (self->zones, destroy_zone);
    }
    struct zone *zone = zhashx_lookup (self->zones, name);
    if (zone)
        return zone;
    zone = zonefile_load (name, reason);
    if (!zone)
        return NULL;
    if (zhashx_size (self->zones) >= ZONES_MAX)
        zhashx_purge (self->zones);
    zhashx_insert (self->zones, name, zone);
    return zone;
}

const struct zone *zones_find (struct station *self, const struct policy *policy,
                               struct reason *reason)
{
    return zones_named (self, policy ? policy->timezone : "", reason);
}

const struct zone *zones_of (struct station *self, const struct plan *plan)
{
    struct reason reason;
    if (!plan->policy)
        return self->zone;
    const struct zone *zone = zones_find (self, plan->policy, &reason);
    if (zone)
        return zone;
    log_event (LEVEL_ERROR, "zone.missing", "plan=%" PRIx64 " reason=\"%s\"", plan->id,
               reason.text);
    return self->zone;
}

// Load a zone from its file; NULL: that failed and was logged.
static struct zone *load_zone (const char *name)
{
    struct reason reason;
    struct zone *zone = zonefile_load (name, &reason);
    if (!zone)
        log_event (LEVEL_ERROR, "zone.kept_old", "reason=\"%s\"", reason.text);
    return zone;
}

void zones_reread (struct station *self)
{
    struct zone *own = load_zone (self->settings->timezone);
    if (own) {
        zone_destroy (&self->zone);
        self->zone = own;
    }
    zlistx_t *names = self->zones ? zhashx_keys (self->zones) : NULL;
    for (const char *name = names ? zlistx_first (names) : NULL; name; name = zlistx_next (names)) {
        struct zone *zone = load_zone (name);
        if (zone)
            zhashx_update (self->zones, name, zone);
    }
    zlistx_destroy (&names);
}

void zones_stop (struct station *self)
{
    zhashx_destroy (&self->zones);
}
