// The Redis of the station: an external one, or the embedded one, a process that is restarted when
// it has ended, with its data repaired.
#pragma once

#include "station_state.h"

enum {
    REDIS_RESPAWN_FIRST_US = 50000, // delay before a restart; doubles each time
    REDIS_RESPAWN_LAST_US = 5000000
};

// Restart the embedded Redis now.
void redis_process_respawn (struct station *self);

// Called on SIGCHLD: the embedded Redis may have ended.
void redis_process_ended (struct station *self);

// Clear the trouble "disk full" when the disk has space again: Redis may be up on a full disk, and
// exits only at its next write.
void redis_process_watch_disk (struct station *self);

enum { DATA_FOLDER_MAX = 4096 };

// The folder of the station's state and of the embedded Redis; `out` is a buffer for the path.
const char *redis_data_folder (const struct station_settings *settings, char out[DATA_FOLDER_MAX]);

// Fill in `config`: how to connect to Redis. 0, or -1 with a reason.
int redis_config_read (const struct station_settings *settings, struct link_config *config,
                       struct reason *reason);

// Prepare the embedded Redis for its start, if the settings ask for one; `config` then has the
// address of its socket. 0, or -1 with a reason.
int redis_config_embed (struct station *self, struct link_config *config, struct reason *reason);
