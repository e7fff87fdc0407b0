#include "zones.h"

#include <inttypes.h>

#include "log.h"
#include "zonefile.h"

enum { ZONES_MAX = 128 }; // of some kilobytes each

static void destroy (void **zone)
{
    zone_destroy ((struct zone **)zone);
}

static zhashx_t *zones_new (void)
{
    zhashx_t *zones = zhashx_new ();
    zhashx_set_destructor (zones, destroy);
    return zones;
}

const struct zone *zones_find (struct station *self, const struct policy *policy,
                               struct reason *reason)
{
    if (!policy || !policy->timezone[0])
        return self->zone;
    if (!self->zones)
        self->zones = zones_new ();
    struct zone *zone = zhashx_lookup (self->zones, policy->timezone);
    if (zone)
        return zone;
    zone = zonefile_load (policy->timezone, reason);
    if (!zone)
        return NULL;
    if (zhashx_size (self->zones) >= ZONES_MAX)
        zhashx_purge (self->zones);
    zhashx_insert (self->zones, policy->timezone, zone);
    return zone;
}

const struct zone *zones_of (struct station *self, const struct plan *plan)
{
    struct reason reason;
    const struct zone *zone = zones_find (self, plan->policy, &reason);
    if (zone)
        return zone;
    log_event (LEVEL_ERROR, "zone.missing", "plan=%" PRIx64 " reason=%s", plan->id,
               quoted (span_text (reason.text)));
    return self->zone;
}

void zones_stop (struct station *self)
{
    zhashx_destroy (&self->zones);
}
