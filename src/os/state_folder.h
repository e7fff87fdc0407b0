// A folder that outlives the station: its lock, and the token of its last takeover. Who holds the
// lock and finds that token in Redis was the owner, and takes over at once.
#pragma once

#include <stddef.h>

// Make it (mode 0700) if it is not there, and lock it. The lock, or -1: another station has it, or
// it cannot be written; then a restart waits for the lease, which is all that is lost.
int state_folder_open (const char *folder);

// The token that was kept, "" = none.
void state_folder_token (int lock, char *ret, size_t room);

// Keep this one: before it is taken.
void state_folder_keep (int lock, const char *token);

void state_folder_close (int *lock);
