// The target that is meant when none is named: the only one that the station knows.
#pragma once

#include <jansson.h>

#include "reason.h"
#include "verbs.h"
#include "zplan.h"

enum { TARGET_NAME_SIZE = 65 };

// Ask the station for its only target of this type, NULL = of any. EXIT_DONE; else the reason: the
// known targets where there are several.
int only_ask (const struct cli *cli, struct zplan_client *client, const char *type,
              char out[TARGET_NAME_SIZE], struct reason *reason);

// Where nothing was found of this target: a note on stderr if the station knows none of this name.
void only_warn_unknown (const struct cli *cli, struct zplan_client *client, const char *name);

// As only_ask; errors are reported on stderr, after `option`, which would name one.
int only_target (const struct cli *cli, struct zplan_client *client, const char *type,
                 const char *option, char out[TARGET_NAME_SIZE]);
