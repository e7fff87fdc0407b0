// The append-only file of Redis 7, as bytes: how far it is whole. Pure.
//
// It is a series of commands, each an array of bulk strings; those between MULTI and EXEC count
// together or not at all. Lines that begin with '#' are annotations.
#pragma once

#include "span.h"

enum aof_state {
    AOF_WHOLE,
    AOF_TORN,   // what follows the last whole command can only be one that was being written
    AOF_DAMAGED // the rest is something else, and may contain acknowledged commands
};

// How far the file is whole: `ret_good` bytes of commands and transactions.
//
// A command is acknowledged once it was synced whole. So what a power loss leaves of the last one,
// its beginning, zeros that the file system had made room with, or both, was not acknowledged:
// AOF_TORN. Redis itself fails on zeros, and where it cuts off an unfinished transaction itself
// (aof-load-truncated) it leaves its MULTI: all later writes are lost at the next start.
enum aof_state aof_scan (struct span file, size_t *ret_good);
