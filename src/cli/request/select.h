// The filter of plans that `list` and the verbs for many plans share.
#pragma once

#include "options.h"
#include "pages.h"

struct selection {
    const char *station, *state, *type, *title;
    const char *kind, *key, *group, *category, *tenant, *creator;
    const char *verdict; // filtered on the client, the station cannot
    bool dead;           // only plans with verdict `failure` or `pending`
    bool held;           // only plans that were submitted as paused
    const char *flow_run;
    const char *order; // sort order; NULL = by id
};

// The options that fill the selection.
struct option_group select_options (struct selection *selection);

// Check the selection. `which` are the verb's options of it. 0, or -1 with a reason that names the
// option.
int select_check (const struct selection *selection, const struct option_group *which,
                  struct reason *reason);

// Call `take` for each plan that matches, page by page, at most `room` of them; `take` returns
// false to stop.
struct plan_visitor {
    bool (*take) (void *owner, const json_t *plan);
    void *owner;
    int64_t room;
};
struct verdict select_walk (const struct cli *cli, struct zplan_client *client,
                            const struct selection *selection, const struct plan_visitor *visitor);
