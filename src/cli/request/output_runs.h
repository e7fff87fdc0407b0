// The last runs of a plan with what they wrote, also of a plan that has ended.
#pragma once

#include <jansson.h>

#include "call.h"

// At most `count` of its runs, the oldest first, as `history` gives them with `output`; skipped
// occurrences are no runs. `plan` has room for PLAN_REF_SIZE: of an id that no run is of, and that
// is a name, it becomes the name. NULL: reported on stderr, and `ret_code` is the exit code.
json_t *output_runs (const struct cli *cli, struct zplan_client *client, int64_t count, char *plan,
                     int *ret_code);
