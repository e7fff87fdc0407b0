// Writes the definitions of flows, for `zplan export --everything`.
#pragma once

#include "call.h"

// Write a record for each version of each flow, called flows before their callers, and report how
// many runs are in progress: runs are not exported. `ret_count` gets the number of records,
// `ret_unreadable` the number of versions and flows that the station could not read, which are
// reported and omitted. Returns an exit code.
int everything_flows (const struct cli *cli, struct zplan_client *client, int64_t *ret_count,
                      int64_t *ret_unreadable);
