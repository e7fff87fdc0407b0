// A verb for plans that are named by their ids, or selected by a filter: which ones, a look at them
// beforehand (--dry-run), and the doing.
#pragma once

#include "act.h"
#include "select.h"

struct bulk {
    struct selection selection;
    bool all, dry_run;
};

// The options --all and --dry-run.
struct option_group bulk_options (struct bulk *self);

// Plans must be named in exactly one way: by ids, by a filter, or by --all. `which` are the verb's
// options of the selection. 0, or -1 with a reason.
int bulk_check (const struct bulk *self, const struct option_group *which, int ids,
                struct reason *reason);

// Do it to the plans with these ids, or, when there are none, to those selected; with --dry-run
// only list them. Selected plans that are already as wanted are skipped, and counted in the
// summary, which is printed last. Returns an exit code.
int bulk_do (struct acting *acting, const struct bulk *self, struct plan_ids *ids);
