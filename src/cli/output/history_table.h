// The table of `zplan history`.
#pragma once

#include "text_table.h"

// For runs of the history. `plans`: whose they are. It is ended as any table.
enum history_plans { HISTORY_ONE_PLAN, HISTORY_SEVERAL_PLANS };
struct table *history_table (enum history_plans plans);
