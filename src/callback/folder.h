// The operator's secrets and receivers, each in a folder of files. A file is read each time it is
// used, so changes take effect at once.
#pragma once

#include "secret.h"

// Read the secret or receiver in FOLDER/NAME; only this user may have access to the file. 0, or -1
// with a reason for the log, which quotes nothing from the file.
int folder_read_secret (const char *folder, const char *name, struct secret *ret,
                        struct reason *reason);
int folder_read_receiver (const char *folder, const char *name, struct receiver *ret,
                          struct reason *reason);
