// What a simulation of a flow reports, for people.
#pragma once

#include <jansson.h>

#include "zone.h"

enum rehearsal_form { REHEARSAL_WHOLE, REHEARSAL_END };

// Print a row of flow_simulate: its events and its end, or the end alone. Times are of this zone.
void rehearsal_print (const struct zone *zone, const json_t *row, enum rehearsal_form form);
