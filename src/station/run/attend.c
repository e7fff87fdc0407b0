#include "attend.h"

#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "memory.h"
#include "targets.h"

enum { ATTEND_US = 4000000 }; // between two heartbeats

static void log_loss (struct station *self, const struct store_attended *answer)
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

// Log that a key of the station could not be written to, mostly after an edit by hand, and was
// replaced. Its value is lost: plans missing in the queue do not run, or the history starts empty.
static void log_wrong (struct station *self, const struct store_attended *answer)
{
    if (!answer->wrong.size)
        return;
    self->counters.wrong_keys++;
    log_event (LEVEL_ERROR, "redis.wrong_key",
               "key=%s reason=\"it could not be written to, mostly as it had another type, and was "
               "replaced\"",
               quoted (answer->wrong));
}

struct attending {
    struct station *station;
    void (*then) (void *owner, bool known); // NULL = not called
    void *owner;
};

static void take_attended (struct station *self, const struct store_attended *answer)
{
    if (answer->result != STORE_DONE)
        return;
    log_loss (self, answer);
    log_wrong (self, answer);
    if (answer->attending != self->attending)
        log_event (LEVEL_INFO, "stations.attending", "count=%" PRId64, answer->attending);
    self->attending = answer->attending;
    // The first load follows that of the flows; only after it `targets_read` is set.
    if (station_store_up (self) && answer->stations != self->stations_revision &&
        self->targets_read)
        targets_load (self);
    if (station_store_up (self))
        self->stations_revision = answer->stations;
}

static void on_attended (void *owner, const struct store_attended *answer)
{
    struct attending *attending = owner;
    take_attended (attending->station, answer);
    if (attending->then)
        attending->then (attending->owner, answer->result == STORE_DONE);
    free (attending);
}

void attend_ask (struct station *self, void (*then) (void *owner, bool known), void *owner)
{
    struct attending *attending = memory_new (sizeof *attending);
    *attending = (struct attending){self, then, owner};
    self->attend_us = clock_mono_us () + ATTEND_US;
    store_attend (self->store, on_attended, attending);
}

void attend_now (struct station *self)
{
    attend_ask (self, NULL, NULL);
}

void attend_tick (struct station *self)
{
    bool attends =
        self->phase == PHASE_STANDBY || (self->phase == PHASE_SERVING && station_store_up (self));
    if (attends && clock_mono_us () >= self->attend_us)
        attend_now (self);
}
