// Lists the workers of a target station, for `zplan workers` and the completion.
#pragma once

#include "call.h"

// Request the workers from the target station: an array of objects, owned by the caller. NULL:
// reported on stderr, and the verb ends with `ret_code`.
json_t *workers_request (const struct cli *cli, struct zplan_client *client, int *ret_code);
