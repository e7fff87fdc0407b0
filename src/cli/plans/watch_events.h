// zplan watch --events: what happens to plans and to runs of flows, until a signal, or so many.
#pragma once

#include "verbs.h"

// `title`: only names that begin so, of a plan's target or of a flow. Returns how the verb ends.
int watch_events (const struct cli *cli, const char *endpoint, const char *title, int64_t count);
