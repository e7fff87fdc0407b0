#include "attend.h"

#include <inttypes.h>

#include "clock.h"
#include "log.h"
#include "targets.h"

enum { ATTEND_US = 4000000 };

static void tell_loss (struct station *self, const struct store_attended *answer)
{
    if (!answer->lost && !answer->replaced)
        return;
    self->counters.lost_data++;
    log_event (LEVEL_ERROR, "redis.lost_data", "how=%s reason=%s",
               answer->replaced ? "replaced" : "tail",
               answer->replaced
                   ? "\"the data were replaced: acknowledged plans may be lost\""
                   : "\"its last writes are lost: acknowledged plans and results may be lost, and "
                     "runs repeated\"");
}

// Somebody wrote to a key of ours. What stood in it is gone: without the queue no plan runs.
static void tell_wrong (struct station *self, const struct store_attended *answer)
{
    if (!answer->wrong.size)
        return;
    self->counters.wrong_keys++;
    log_event (LEVEL_ERROR, "redis.wrong_key",
               "key=%s reason=\"it had another type and was replaced\"", quoted (answer->wrong));
}

static void on_attended (void *owner, const struct store_attended *answer)
{
    struct station *self = owner;
    if (answer->result != STORE_DONE)
        return;
    tell_loss (self, answer);
    tell_wrong (self, answer);
    if (answer->attending != self->attending)
        log_event (LEVEL_INFO, "stations.attending", "count=%" PRId64, answer->attending);
    self->attending = answer->attending;
    // What waits for a target may have been claimed by a station that does not reach it.
    if (self->attending > 1)
        targets_wake (self);
    if (answer->stations != self->stations_revision)
        targets_load (self);
    self->stations_revision = answer->stations;
}

void attend_now (struct station *self)
{
    self->attend_us = clock_mono_us () + ATTEND_US;
    store_attend (self->store, on_attended, self);
}

void attend_tick (struct station *self)
{
    if (self->phase == PHASE_SERVING && station_store_up (self) &&
        clock_mono_us () >= self->attend_us)
        attend_now (self);
}
