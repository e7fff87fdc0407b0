// The checks of zplan doctor of targets and their runs, for zplan status.
#pragma once

#include "call.h"

// Find targets that do not work while plans wait for them, targets whose last runs all failed, and
// failed undos of flows, and add them to the station's own findings (`health`). True: none was
// found, and each target is connected.
bool doctor_check_work (const struct cli *cli, struct zplan_client *client, json_t *health,
                        const json_t *stats);
