// The operator's secrets and receivers, each in a folder of files. A file is read each time it is
// used, so changes take effect at once.
#pragma once

#include "secret.h"

typedef int folder_parse_fn (struct span text, void *ret, struct reason *reason);

// Read FOLDER/NAME by `parse`: secret_read or receiver_read; only this user may have access to the
// file. 0, or -1 with a reason for the log, which quotes nothing from the file.
int folder_read (const char *folder, const char *name, folder_parse_fn *parse, void *ret,
                 struct reason *reason);
