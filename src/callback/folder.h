// Files of the operator: secrets and receivers, a folder of each. A file is read each time it is
// used, so that a new one counts at once.
#pragma once

#include "secret.h"

// FOLDER/NAME, which nobody but this user may read or write. 0, or -1 with a reason for the log; it
// holds nothing of the file.
int folder_read_secret (const char *folder, const char *name, struct secret *ret,
                        struct reason *reason);
int folder_read_receiver (const char *folder, const char *name, struct receiver *ret,
                          struct reason *reason);
