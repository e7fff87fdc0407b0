// The password and the user of Redis: from a file that nobody else can read, or from the
// environment; never from the command line, where everybody on the machine could see them.
#pragma once

#include "link.h"
#include "settings_table.h"

// Fill in user and password: of redis_addr, else of redis_password_file, else of the environment
// (ZPLAN_REDIS_USER, ZPLAN_REDIS_PASSWORD), which are removed and overwritten there. 0, or -1 with
// a reason that holds no secret.
int secrets_read (const struct station_settings *settings, struct link_config *ret,
                  struct reason *reason);
