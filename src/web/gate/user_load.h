// Load the file of a user from the folder of users.
#pragma once

#include "user_file.h"

// Read a file that no other user of the system can read or has written. 0, or -1 with a reason.
int user_load (const char *path, struct user_file *ret, struct reason *reason);
