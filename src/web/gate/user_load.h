// Load the file of a user from the folder of users.
#pragma once

#include "user_file.h"

// Read a user's file, which must belong to this system user and be accessible to no other. 0, or -1
// with a reason.
int user_load (const char *path, struct user_file *ret, struct reason *reason);
