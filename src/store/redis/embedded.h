// The embedded Redis: a private redis-server, a child process of the station, on a Unix socket in
// the data folder. It keeps an append-only file that is synced before each answer, and evicts
// nothing. The station restarts it after a crash, and stops it when the station ends.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "data_folder.h"

struct embedded;

// Lock the data folder (created with mode 0700) for this process, and wait until the Redis of a
// killed station has ended. Blocks for at most 16 s, so call it before the reactor runs. NULL with
// a reason; `ret_damaged` is set to whether the reason is that files with plans are missing.
struct embedded *embedded_new (const char *data, int64_t databases, bool *ret_damaged,
                               struct reason *reason);

// Start the redis-server. 0, or -1 with a reason.
int embedded_start (struct embedded *self, struct reason *reason);

// Call after SIGCHLD. True: the redis-server has ended, and `reason` says how.
bool embedded_ended (struct embedded *self, struct reason *reason);

// Whether the disk is full, or was when the redis-server ended; then `reason` says so.
bool embedded_disk_full (const struct embedded *self, struct reason *reason);

// Call after the redis-server has ended: repairs its files if they are the cause
// (data_folder_repair). DATA_CUT: start it again. DATA_WHOLE: the files are not the cause, as far
// as is known; `reason` is unchanged.
enum data_state embedded_repair (struct embedded *self, bool repair, struct reason *reason);

// Call when the redis-server answers: see data_folder_mark.
void embedded_up (const struct embedded *self);

// Ask the redis-server to end, kill it after 20 s, and unlock the folder. Accepts NULL and a partly
// constructed object.
void embedded_destroy (struct embedded **self);

// The path of its socket.
const char *embedded_socket (const struct embedded *self);
