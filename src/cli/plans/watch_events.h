// zplan watch --events: prints events of plans and flow runs, until a signal or `count` of them.
#pragma once

#include "verbs.h"

// `title`: only events whose target or flow has a name that begins so. Returns an exit code.
int watch_events (const struct cli *cli, const char *endpoint, const char *title, int64_t count);
