// The embedded Redis: a private redis-server, child of the station, on a Unix socket in the data
// folder. It keeps an append-only file that is synced before each answer, evicts nothing, is
// restarted when it dies and stopped with the station.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "data_folder.h"

struct embedded;

// Lock the data folder (created with mode 0700) for this process, and wait until the Redis of a
// killed station has ended. Blocks for at most 15 s, before the reactor runs. NULL with a reason;
// `ret_damaged`: set if the reason is that plans are missing in the folder.
struct embedded *embedded_new (const char *data, int64_t databases, bool *ret_damaged,
                               struct reason *reason);

// Start the redis-server. 0, or -1 with a reason.
int embedded_start (struct embedded *self, struct reason *reason);

// Call after SIGCHLD. True: the redis-server has ended, and `reason` says how.
bool embedded_ended (struct embedded *self, struct reason *reason);

// Whether the disk is full, so that it ended for that reason, or would.
bool embedded_disk_full (const struct embedded *self, struct reason *reason);

// Call after it has ended: repair its files if they are the cause (data_folder_repair). DATA_CUT:
// start it again. DATA_WHOLE: they are not, or the cause is unknown; `reason` is unchanged.
enum data_state embedded_repair (struct embedded *self, bool repair, struct reason *reason);

// Call when the Redis is up: see data_folder_mark.
void embedded_up (const struct embedded *self);

// Ask it to end, wait at most 20 s, and unlock the folder. Accepts NULL and a partly constructed
// one.
void embedded_destroy (struct embedded **self);

// The path of its socket.
const char *embedded_socket (const struct embedded *self);
