// Which Redis the settings name: an external one, or the station's embedded one.
#pragma once

#include "station_state.h"

enum { DATA_FOLDER_MAX = 4096 };

// The folder of the station's state and of the embedded Redis; `out` is a buffer for the path.
const char *redis_data_folder (const struct station_settings *settings, char out[DATA_FOLDER_MAX]);

// Fill in `config`: how to connect to Redis. 0, or -1 with a reason.
int redis_config_read (const struct station_settings *settings, struct link_config *config,
                       struct reason *reason);

// Prepare the embedded Redis for its start, if the settings ask for one; `config` then has the
// address of its socket. 0, or -1 with a reason.
int redis_config_embed (struct station *self, struct link_config *config, struct reason *reason);
