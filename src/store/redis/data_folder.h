// The data folder of the embedded Redis: checks that its append-only files are all there, and
// repairs the end of the last one, which a power loss may leave incomplete.
#pragma once

#include "reason.h"

enum data_state {
    DATA_WHOLE,
    DATA_CUT,     // its last file was truncated: Redis can be started again
    DATA_DAMAGED, // an operator must restore or repair it
    DATA_FAILED   // the repair could not be written
};

// Check that no append-only file is missing. Call before Redis starts, as Redis would begin an
// empty database in a folder without them. DATA_WHOLE, or DATA_DAMAGED with a reason: the folder
// had such files, and needed ones are missing.
enum data_state data_folder_check (const char *folder, struct reason *reason);

// Mark the folder as one that has append-only files. Call when Redis is up.
void data_folder_mark (const char *folder);

// Call when Redis failed to read the folder. Cuts off the end of the last file if it cannot have
// been acknowledged; with `repair`, also everything after damage. The cut part is saved to another
// file, and logged. DATA_WHOLE: no damage was found in that file.
enum data_state data_folder_repair (const char *folder, bool repair, struct reason *reason);

// Read the last `size` - 1 bytes of the log of Redis, or all if it is shorter, and append a NUL.
void data_folder_log_tail (const char *folder, char *ret, size_t size);

// The last message in the log of Redis. True when it says that Redis could not read its files.
bool data_folder_last_message (const char *folder, struct reason *ret);
