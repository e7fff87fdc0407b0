// zplan watch --events: prints events of plans and flow runs, until a signal or a number of them.
#pragma once

#include "verbs.h"

// `title`: only names that begin so, of a plan's target or of a flow. Returns how the verb ends.
int watch_events (const struct cli *cli, const char *endpoint, const char *title, int64_t count);
