// The file of a user as it stands in the folder of users.
#pragma once

#include "user_file.h"

// Read one that nobody else can read or has written. 0, or -1 with a reason.
int user_load (const char *path, struct user_file *ret, struct reason *reason);
