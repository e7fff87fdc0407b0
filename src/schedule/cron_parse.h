// The text of a cron expression; cron.h has the grammar.
#pragma once

#include "cron_rule.h"
#include "reason.h"
#include "span.h"

// Parse an expression. 0, or -1 with a reason that begins with `name` and the column, in bytes from
// 1. The text may be hostile.
int cron_parse (struct span text, const char *name, struct cron_rule *ret, struct reason *reason);
