// The filter of plans that `list` and the verbs for many plans share.
#pragma once

#include "options.h"
#include "pages.h"

struct selection {
    const char *station, *state, *type, *title;
    const char *kind, *key, *group, *category, *tenant, *creator;
    const char *verdict; // filtered on the client, the station cannot
    bool dead;           // those with verdict `failure` or `pending`
    bool held;           // those submitted as paused
    const char *flow_run;
    const char *order; // NULL = that of ids
};

// The options that fill it.
struct option_group select_options (struct selection *selection);

// `which` are the verb's options of the selection. 0, or -1 with a reason that names the option.
int select_check (const struct selection *selection, const struct option_group *which,
                  struct reason *reason);

// Call `take` for each plan that matches, page by page, at most `room` of them; `take` returns
// false to stop.
struct selected {
    bool (*take) (void *owner, const json_t *plan);
    void *owner;
    int64_t room;
};
struct verdict select_walk (const struct cli *cli, struct zplan_client *client,
                            const struct selection *selection, const struct selected *selected);
