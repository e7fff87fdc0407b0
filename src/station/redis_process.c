#include "redis_process.h"

#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "secrets.h"

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

// -- which Redis, for the start

const char *redis_data_folder (const struct station_settings *settings, char out[DATA_FOLDER_MAX])
{
    const char *state = getenv ("XDG_STATE_HOME");
    const char *home = getenv ("HOME");
    if (settings->data[0])
        return settings->data;
    if (state && state[0] == '/')
        snprintf (out, DATA_FOLDER_MAX, "%s/zplan", state);
    else
        snprintf (out, DATA_FOLDER_MAX, "%s/.local/state/zplan", home && *home ? home : "");
    return out;
}

int redis_config_read (const struct station_settings *settings, struct link_config *config,
                       struct reason *reason)
{
    char shown[300];
    *config = (struct link_config){.db = settings->redis_defdb,
                                   .accept_loss = settings->accept_loss,
                                   .durable = settings->durable,
                                   .replicas = settings->replicas,
                                   .replica_timeout_ms = settings->replica_timeout_ms,
                                   .window = settings->limits.requests};
    if (address_parse (settings->redis_addr, &config->address, reason) ||
        secrets_read (settings, config, reason))
        return -1;
    if (config->address.kind != ADDRESS_EMBEDDED)
        log_event (LEVEL_INFO, "redis.given", "address=%s", address_text (&config->address, shown));
    return 0;
}

int redis_config_embed (struct station *self, struct link_config *config, struct reason *reason)
{
    char folder[DATA_FOLDER_MAX];
    bool damaged;
    if (config->address.kind != ADDRESS_EMBEDDED)
        return 0;
    self->embedded =
        embedded_new (redis_data_folder (self->settings, folder), config->db + 1, &damaged, reason);
    if (!self->embedded) {
        self->fault = damaged ? STATION_FAULT_DATA : STATION_FAULT_NOW;
        return -1;
    }
    config->address.kind = ADDRESS_UNIX;
    snprintf (config->address.host, sizeof config->address.host, "%s",
              embedded_socket (self->embedded));
    return 0;
}
