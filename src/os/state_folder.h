// A folder that outlives the station, with a lock and the token of its last takeover. A station
// that holds the lock and finds that token in Redis was the owner, and takes over at once.
#pragma once

#include <stddef.h>

// Create the folder (mode 0700) if missing, and lock it. Returns the lock, a descriptor, or -1 if
// another station holds it or the folder is not writable. A station can go on without the folder:
// it only has to wait for the lease after a restart.
int state_folder_open (const char *folder);

// Read the stored token, "" = none, into a buffer of `room` bytes. `lock` may be -1.
void state_folder_read_token (int lock, char *ret, size_t room);

// Store a token; call before taking over with it. Does nothing if `lock` is -1.
void state_folder_store_token (int lock, const char *token);

// Unlock the folder, and set `lock` to -1.
void state_folder_close (int *lock);
