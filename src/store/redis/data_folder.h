// The data folder of the embedded Redis: whether its append-only files are all there, and the end
// of the last one, which a power loss may leave torn.
#pragma once

#include "reason.h"

enum data_state {
    DATA_WHOLE,
    DATA_CUT,     // it was repaired: Redis can be started again
    DATA_DAMAGED, // an operator must restore or repair it
    DATA_FAILED   // what was to be repaired could not be written
};

// Before Redis starts: it takes a folder without append-only files for a new one. DATA_WHOLE, or
// DATA_DAMAGED with a reason: there were some, and what is needed of them is missing.
enum data_state data_folder_check (const char *folder, struct reason *reason);

// Redis serves: from now on the folder is known to have had append-only files.
void data_folder_mark (const char *folder);

// Redis failed to read the folder. What cannot have been acknowledged is cut off the last
// file; with `repair` also what follows damage. What is cut is kept in a file beside, and logged.
// DATA_WHOLE: it is not the end of that file.
enum data_state data_folder_repair (const char *folder, bool repair, struct reason *reason);

// The last `size` - 1 bytes of the log of Redis, or fewer, with a terminating zero.
void data_folder_log_tail (const char *folder, char *ret, size_t size);

// The last message in the log of Redis. True when it says that Redis could not read its files.
bool data_folder_log_end (const char *folder, struct reason *ret);
