// The embedded Redis: a private redis-server, child of the station, on a Unix socket in the data
// folder. It keeps an append-only file that is synced before each answer, evicts nothing, is
// restarted when it dies and stopped with the station.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "data_folder.h"

struct embedded;

// Take the data folder (made with mode 0700) for this process and wait for the Redis of a station
// that was killed to end. Blocks for at most 15 s, before the reactor runs. NULL with a reason;
// `ret_damaged`: whether the reason is that plans are missing in the folder.
struct embedded *embedded_new (const char *data, int64_t databases, bool *ret_damaged,
                               struct reason *reason);

// Start the redis-server. 0, or -1 with a reason.
int embedded_start (struct embedded *self, struct reason *reason);

// After SIGCHLD: true when the redis-server has ended, with how it did in `reason`.
bool embedded_ended (struct embedded *self, struct reason *reason);

// Whether it has ended, or would, because the disk is full.
bool embedded_disk_full (const struct embedded *self, struct reason *reason);

// After it has ended: repair its files when they are why (data_folder_repair). DATA_CUT: start it
// again. DATA_WHOLE: they are not, or it is unknown; `reason` is unchanged.
enum data_state embedded_repair (struct embedded *self, bool repair, struct reason *reason);

// It serves.
void embedded_up (const struct embedded *self);

// Ask it to end, wait at most 20 s, give the folder back. Accepts NULL and a partly constructed
// one.
void embedded_destroy (struct embedded **self);

// The path of its socket.
const char *embedded_socket (const struct embedded *self);
