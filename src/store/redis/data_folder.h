// The data folder of the embedded Redis: checks that its append-only files are all there, and
// repairs the end of the last one, which a power loss may leave incomplete.
#pragma once

#include "reason.h"

enum data_state {
    DATA_WHOLE,
    DATA_CUT,     // it was repaired: Redis can be started again
    DATA_DAMAGED, // an operator must restore or repair it
    DATA_FAILED   // the repair could not be written
};

// Call before Redis starts, as Redis takes a folder without append-only files for a new one.
// DATA_WHOLE, or DATA_DAMAGED with a reason: the folder had such files, and needed ones are
// missing.
enum data_state data_folder_check (const char *folder, struct reason *reason);

// Redis is up: mark the folder as one that has append-only files.
void data_folder_mark (const char *folder);

// Call when Redis failed to read the folder. Cuts off the end of the last file if it cannot have
// been acknowledged; with `repair`, also everything after damage. The cut part is saved to another
// file, and logged. DATA_WHOLE: the end of that file is not the cause.
enum data_state data_folder_repair (const char *folder, bool repair, struct reason *reason);

// The last `size` - 1 bytes of the log of Redis, or fewer, with a terminating zero.
void data_folder_log_tail (const char *folder, char *ret, size_t size);

// The last message in the log of Redis. True when it says that Redis could not read its files.
bool data_folder_log_end (const char *folder, struct reason *ret);
