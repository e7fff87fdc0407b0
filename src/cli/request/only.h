// Finds the default target: the only one that the station knows.
#pragma once

#include "reason.h"
#include "verbs.h"
#include "zplan.h"

enum { TARGET_NAME_SIZE = 65 };

// Ask the station for its only target of this type, NULL = of any. EXIT_DONE, or another exit code
// with a reason, which lists the known targets if there are several.
int only_target_request (const struct cli *cli, struct zplan_client *client, const char *type,
                         char out[TARGET_NAME_SIZE], struct reason *reason);

// Print a note on stderr if the station has no such target: for a verb whose result was empty.
void only_target_warn (const struct cli *cli, struct zplan_client *client, const char *name);

// As only_target_request, but errors are reported on stderr, after `option`, the one that names a
// target.
int only_target_find (const struct cli *cli, struct zplan_client *client, const char *type,
                      const char *option, char out[TARGET_NAME_SIZE]);
