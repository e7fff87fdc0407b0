// The allow-list of a station: a folder with a public certificate for each key that may connect.
//
// Files whose name begins with '.' or ends with "_secret", and what is no regular file, are left
// alone. Each file is judged on its own: one that is wrong does not let its key in, and does not
// affect the others.
#pragma once

#include "curve.h"

// Files whose keys may not connect.
struct key_folder_wrong {
    size_t count;
    struct reason first; // of the first by name; begins with its path
};

// Take a certificate. 0, or -1 with a reason: it is wrong.
typedef int key_folder_fn (void *owner, const struct curve_cert *cert, struct reason *reason);

// Read the folder, in the order of the bytes of the file names. Of two files with one name of a key
// in them the second is wrong: names are written to the log and the history, and must be one key's.
// 0, or -1 with a reason: the folder cannot be read.
int key_folder_read (const char *folder, key_folder_fn *take, void *owner,
                     struct key_folder_wrong *ret_wrong, struct reason *reason);

// What the folder and its files look like. A file may be written in place, which its folder does
// not show, so each is checked. 0: it is not known, or what changed just now may change again
// within the same tick of the clock: to be read once more later.
uint64_t key_folder_mark (const char *folder);

// The same of one file: another one after each change of it.
uint64_t key_file_mark (const char *path);

// How long to pause after a check, or a check and a read, that took `us`: a bounded share of the
// time goes to it, and no change is overlooked for longer than 4 s.
int64_t key_folder_pause_us (int64_t us);
