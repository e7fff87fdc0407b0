// The options of zplan flow.
#pragma once

#include "flow_command.h"

// Which options a subcommand has: a bit set.
enum flow_option_marks {
    GRAPH = 1,
    SIMULATE = 2,
    START = 4,
    LISTED = 8,
    LAST = 16,
    SHOW = 32,
    LOG = 64,
    SKIP = 128,
    RETRY = 256,
    CANCEL = 512,
    BACKFILL = 1024,
    ALL = 2047
};

enum { FLOW_TERMS_MAX = 5 };

// The groups with one of the marks `wanted`, at most USAGE_GROUPS_MAX, which fill `wish`. `terms`
// is a buffer for options of `zplan add`; the result borrows it.
void flow_options (unsigned wanted, struct flow_wish *wish, struct option terms[FLOW_TERMS_MAX],
                   struct option_group *ret);
