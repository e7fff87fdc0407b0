// The last runs of a plan with their output, also of a plan that has ended.
#pragma once

#include <jansson.h>

#include "call.h"

// At most `count` of its runs, the oldest first, as `history` returns them with `output`, without
// skipped occurrences. `plan` has PLAN_REF_SIZE bytes: an id without runs that may also be a name
// is replaced by that name. NULL: reported on stderr, and `ret_code` is the exit code.
json_t *output_runs (const struct cli *cli, struct zplan_client *client, int64_t count, char *plan,
                     int *ret_code);
