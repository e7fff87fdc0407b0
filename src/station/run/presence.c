#include "presence.h"

#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "memory.h"
#include "targets.h"

enum { HEARTBEAT_US = 4000000 }; // between two heartbeats

static void log_lost_data (struct station *self, const struct store_presence *answer)
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

// Log that a key of the station could not be written to, usually after an edit by hand, and was
// replaced. Its value is lost: plans missing in the queue do not run, or the history starts empty.
static void log_replaced_key (struct station *self, const struct store_presence *answer)
{
    if (!answer->wrong.size)
        return;
    self->counters.wrong_keys++;
    log_event (LEVEL_ERROR, "redis.wrong_key",
               "key=%s reason=\"it could not be written to, mostly as it had another type, and was "
               "replaced\"",
               quoted (answer->wrong));
}

struct presence_call {
    struct station *station;
    void (*done) (void *owner, bool known); // NULL = not called
    void *owner;
};

static void note_presence (struct station *self, const struct store_presence *answer)
{
    log_lost_data (self, answer);
    log_replaced_key (self, answer);
    if (answer->attending != self->station_count)
        log_event (LEVEL_INFO, "stations.attending", "count=%" PRId64, answer->attending);
    self->station_count = answer->attending;
    // The first load of the targets follows that of the flows, and sets `targets_read`.
    if (station_store_up (self) && answer->stations != self->stations_revision &&
        self->targets_read)
        targets_load (self);
    if (station_store_up (self))
        self->stations_revision = answer->stations;
}

static void on_presence (void *owner, const struct store_presence *answer)
{
    struct presence_call *call = owner;
    if (answer->result == STORE_DONE)
        note_presence (call->station, answer);
    if (call->done)
        call->done (call->owner, answer->result == STORE_DONE);
    free (call);
}

void presence_send_then (struct station *self, void (*done) (void *owner, bool known), void *owner)
{
    struct presence_call *call = memory_new (sizeof *call);
    *call = (struct presence_call){self, done, owner};
    self->presence_us = clock_mono_us () + HEARTBEAT_US;
    store_enter_presence (self->store, on_presence, call);
}

void presence_tick (struct station *self)
{
    bool is_present =
        self->phase == PHASE_STANDBY || (self->phase == PHASE_SERVING && station_store_up (self));
    if (is_present && clock_mono_us () >= self->presence_us)
        presence_send_then (self, NULL, NULL);
}
