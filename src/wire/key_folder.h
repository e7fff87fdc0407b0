// The allow-list of a station: a folder with a public certificate for each key that may connect.
//
// Files whose name begins with '.' or ends with "_secret", and entries that are not regular files,
// are ignored. Each file is checked on its own: the key of a wrong one may not connect, and the
// others are not affected.
#pragma once

#include "curve.h"

// Files whose keys may not connect.
struct key_folder_wrong {
    size_t count;
    struct reason first; // why the first file, by name, is wrong; begins with its path
};

// Called with each certificate, which is valid during the call. 0, or -1 with a reason to reject
// it.
typedef int key_folder_fn (void *owner, const struct curve_cert *cert, struct reason *reason);

// Read the folder, sorted by the bytes of the file names. If two files give the same name to their
// keys, the second is wrong: names appear in the log and the history, and must identify one key. 0,
// or -1 with a reason: the folder cannot be read.
int key_folder_read (const char *folder, key_folder_fn *take, void *owner,
                     struct key_folder_wrong *ret_wrong, struct reason *reason);

// A hash of the state of the folder and its files. Each file is checked, since a write in place
// does not change the folder. 0: unknown, or a file changed just now and might change again within
// the same clock tick: read the folder once more later.
uint64_t key_folder_mark (const char *folder);

// A hash of the state of one file: it differs after each change of the file.
uint64_t key_file_mark (const char *path);

// How long to pause after a check, with or without a read, that took `us`: checks use a bounded
// share of the time, and no change goes unnoticed for longer than 4 s.
int64_t key_folder_pause_us (int64_t us);
