// The embedded Redis as a process: started again when it has ended, with its data repaired.
#pragma once

#include "station_state.h"

enum {
    REDIS_RESPAWN_FIRST_US = 50000, // before it is started again; doubling
    REDIS_RESPAWN_LAST_US = 5000000
};

// Start it again now.
void redis_process_respawn (struct station *self);

// SIGCHLD: it may have ended.
void redis_process_ended (struct station *self);

// On a full disk Redis starts, and ends at its next write.
void redis_process_watch_disk (struct station *self);
