// The workers that a target station has: what `zplan workers` lists, and the completion offers.
#pragma once

#include "call.h"

// Request them from the target station: an array of objects, owned by the caller. NULL: reported on
// stderr, and the verb ends with `ret_code`.
json_t *workers_ask (const struct cli *cli, struct zplan_client *client, int *ret_code);

// Whether this one gets no more jobs.
bool worker_is_draining (const json_t *worker);
