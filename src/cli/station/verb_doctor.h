// The findings of zplan doctor, and its checks of targets and their runs.
#pragma once

#include <jansson.h>

#include "call.h"

enum severity { FOUND_PROBLEM, FOUND_WARNING };

// Add a finding of the client, with advice, to the station's own (`health`).
void doctor_add_finding (json_t *health, enum severity level, const char *advice, const char *text);

// Find targets that do not work while plans wait for them, targets whose last runs all failed, and
// failed undos of flows. True: none was found, and each target is connected.
bool doctor_check_work (const struct cli *cli, struct zplan_client *client, json_t *health,
                        const json_t *stats);
