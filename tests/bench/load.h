// The commands of the load generator. Each runs one scenario and prints its line of results;
// returns the exit status: 0 when all that was wanted has happened.
#pragma once

#include "options.h"

int load_intake (const struct options *options);
int load_drain (const struct options *options);
int load_late (const struct options *options);
int load_target (const struct options *options);
