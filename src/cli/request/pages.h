// What the station gives page by page: the plans of `list`, the runs of `history`. The end is a
// page without `next`; a page may hold nothing and still not be the last one.
#pragma once

#include <jansson.h>

#include "call.h"

enum { PAGE_SIZE = 100, PAGE_LARGE = 1000 }; // items asked for at once; as many as may be

struct pages {
    const char *word; // list or history
    json_t *filter;   // taken by pages_turn; after and limit are set in it
    int64_t room;     // items still wanted: `take` counts them off
    int64_t size;     // items asked for at once; 0 = PAGE_SIZE
    // A page, an object. False: nothing more is wanted.
    bool (*take) (struct pages *self, const json_t *page);
    void *owner; // of `take`
};

// Turn the pages until the last one, until there is no room, or until `take` wants no more.
struct verdict pages_turn (const struct cli *cli, struct zplan_client *client, struct pages *self);
