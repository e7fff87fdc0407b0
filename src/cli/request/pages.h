// Reads replies page by page: the plans of `list`, the runs of `history`. A page without `next` is
// the last one; an empty page may have `next`.
#pragma once

#include <jansson.h>

#include "call.h"

enum { PAGE_SIZE = 100, PAGE_LARGE = 1000 }; // items per request: the default, and the maximum

struct pages {
    const char *word; // the command: list or history
    json_t *filter;   // pages_read takes ownership, and sets `after` and `limit` in it
    int64_t room;     // items still wanted: `take` decrements it
    int64_t size;     // items per request; 0 = PAGE_SIZE
    // Called with each page, an object, and with each of its plans or runs; one of them may be
    // NULL. They return false to stop.
    bool (*take) (struct pages *self, const json_t *page);
    bool (*take_item) (struct pages *self, json_t *item);
    void *owner; // for these
};

// Read pages up to the last one, until `room` is 0, or until `take` returns false.
struct verdict pages_read (const struct cli *cli, struct zplan_client *client, struct pages *self);
