#include "redis_process.h"

#include "clock.h"
#include "log.h"

static void schedule_respawn (struct station *self)
{
    self->redis_ended = true;
    self->respawn_us = clock_mono_us () + self->respawn_delay_us;
    self->respawn_delay_us = self->respawn_delay_us * 2 < REDIS_RESPAWN_LAST_US
                                 ? self->respawn_delay_us * 2
                                 : REDIS_RESPAWN_LAST_US;
}

void redis_process_respawn (struct station *self)
{
    struct reason reason;
    self->redis_ended = false;
    if (embedded_start (self->embedded, &reason)) {
        log_event (LEVEL_ERROR, "redis.start_failed", "reason=\"%s\"", reason.text);
        schedule_respawn (self);
    }
}

void redis_process_ended (struct station *self)
{
    struct reason reason;
    if (!self->embedded || !embedded_ended (self->embedded, &reason))
        return;
    bool starting = self->phase == PHASE_STARTING;
    enum data_state data =
        embedded_repair (self->embedded, starting && self->settings->repair, &reason);
    if (data == DATA_CUT) {
        redis_process_respawn (self);
        return;
    }
    if (starting) {
        self->fault = data == DATA_DAMAGED ? STATION_FAULT_DATA : STATION_FAULT_NOW;
        station_fail (self, reason.text);
        return;
    }
    if (embedded_disk_full (self->embedded, &self->redis_trouble))
        reason = self->redis_trouble;
    log_event (LEVEL_ERROR, "redis.ended", "reason=\"%s\"", reason.text);
    schedule_respawn (self);
}

void redis_process_watch_disk (struct station *self)
{
    struct reason reason;
    if (self->redis_trouble.text[0] && station_store_up (self) &&
        !embedded_disk_full (self->embedded, &reason))
        self->redis_trouble.text[0] = '\0';
}
