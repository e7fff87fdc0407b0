// Which Redis the settings name: a given one, or one of the station's own.
#pragma once

#include "station_state.h"

enum { DATA_FOLDER_MAX = 4096 };

// The folder of the station's state, and of the embedded Redis; `out` is room for it.
const char *redis_data_folder (const struct station_settings *settings, char out[DATA_FOLDER_MAX]);

// How to connect. 0, or -1 with a reason.
int redis_config_read (const struct station_settings *settings, struct link_config *config,
                       struct reason *reason);

// Make the embedded Redis ready to be started, if the settings name that; `config` is then of its
// socket. 0, or -1 with a reason.
int redis_config_embed (struct station *self, struct link_config *config, struct reason *reason);
