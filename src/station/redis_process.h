// The embedded Redis as a process: restarted when it has ended, with its data repaired.
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
