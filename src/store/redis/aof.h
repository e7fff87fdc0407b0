// Checks how much of an append-only file of Redis 7 is complete. Pure.
//
// The file is a series of commands, each an array of bulk strings. Commands between MULTI and EXEC
// count together or not at all. Lines that begin with '#' are annotations.
#pragma once

#include "span.h"

enum aof_state {
    AOF_WHOLE,
    AOF_TORN,   // after the last complete command there is only an unfinished one
    AOF_DAMAGED // the rest is invalid, and may contain acknowledged commands
};

// `ret_good` is set to the size of the complete commands and transactions at the start of the file.
//
// A command is acknowledged only after all of it was synced. So a last command that a power loss
// left incomplete was not acknowledged (AOF_TORN): its beginning is there, zeros that the file
// system allocated, or both. Redis itself fails on zeros, and when it cuts off an unfinished
// transaction (aof-load-truncated) it leaves the MULTI: all later writes are lost at the next
// start.
enum aof_state aof_scan (struct span file, size_t *ret_good);
