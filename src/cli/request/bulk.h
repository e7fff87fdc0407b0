// Applies a verb to plans that are given by id or selected by a filter, or only lists them
// (--dry-run).
#pragma once

#include "plan_command.h"
#include "select.h"

struct bulk {
    struct selection selection;
    bool all, dry_run;
};

// The options --all and --dry-run.
struct option_group bulk_options (struct bulk *self);

// Check that plans are given in exactly one way: by ids, by a filter, or by --all. `which` are the
// verb's options of the selection. 0, or -1 with a reason.
int bulk_check (const struct bulk *self, const struct option_group *which, int ids,
                struct reason *reason);

// Apply the verb to the plans with these ids, or, if there are none, to the selected ones; with
// --dry-run only list them. Selected plans that are in no need of a change are skipped, and counted
// in the summary, which is printed last. Returns an exit code.
int bulk_apply (struct plan_command *command, const struct bulk *self, struct plan_ids *ids);
