// What zplan doctor finds, and the part of it that is about targets and their runs.
#pragma once

#include <jansson.h>

#include "call.h"

enum severity { FOUND_PROBLEM, FOUND_WARNING };

// Add what was found here to what the station found (`health`), and what to do about it.
void doctor_find (json_t *health, enum severity level, const char *advice, const char *text);

// The targets that do not work while plans wait for them, those whose last runs all failed, and
// undos of flows that have failed. True: none was found, and each target is connected.
bool doctor_find_work (const struct cli *cli, struct zplan_client *client, json_t *health,
                       const json_t *stats);
