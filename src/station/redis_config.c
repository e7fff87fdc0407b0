#include "redis_config.h"

#include <stdlib.h>

#include "log.h"
#include "secrets.h"

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
