// Reads replies page by page: the plans of `list`, the runs of `history`. A page without `next` is
// the last one; an empty page may have `next`.
#pragma once

#include <jansson.h>

#include "call.h"

enum { PAGE_SIZE = 100, PAGE_LARGE = 1000 }; // items per request: the default, and the maximum

struct pages {
    const char *word; // the command: list or history
    json_t *filter;   // pages_read takes ownership, and sets `after` and `limit` in it
    int64_t room;     // items still wanted; `take` and `take_item` decrement it
    int64_t size;     // items per request; 0 = PAGE_SIZE
    // `take` is called with each page, an object, `take_item` with each plan or run on it. One of
    // them may be NULL. They return false to stop.
    bool (*take) (struct pages *self, const json_t *page);
    bool (*take_item) (struct pages *self, json_t *item);
    void *owner; // for these
};

// Read pages up to the last one, until `room` is 0, or until a callback returns false.
struct verdict pages_read (const struct cli *cli, struct zplan_client *client, struct pages *self);

// At most `count` of the last runs of a plan, also of one that has ended: the oldest first, as
// `history` returns them with `output`, without skipped occurrences. `plan` has PLAN_REF_SIZE
// bytes: an id without runs that may also be a name is replaced by that name. NULL: reported on
// stderr, and `ret_code` is the exit code.
json_t *output_runs (const struct cli *cli, struct zplan_client *client, int64_t count, char *plan,
                     int *ret_code);
