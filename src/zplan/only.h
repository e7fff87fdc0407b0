// The target that is meant when none is named: the only one that the station knows.
#pragma once

#include <jansson.h>

#include "reason.h"
#include "verbs.h"
#include "zplan.h"

enum { TARGET_NAME_SIZE = 65 };

// Ask the station for its only target of this type, NULL = of any. `option` is what would name one.
// EXIT_DONE; else told on stderr: the known targets where there are several.
int only_target (const struct cli *cli, struct zplan_client *client, const char *type,
                 const char *option, char out[TARGET_NAME_SIZE]);

// The same from `station list` as it was answered. 0, or -1 with a reason.
int only_of (const json_t *stations, const char *type, char out[TARGET_NAME_SIZE],
             struct reason *reason);
