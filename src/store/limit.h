// A limit of runs, and its text in Redis (plan:limits).
#pragma once

#include <stdint.h>

#include "span.h"

// How many runs a target or a group may have at a time, and how often one may begin.
struct limit {
    int64_t concurrency; // 0 = no bound
    double rate;         // a second; 0 = no bound
    int64_t burst;       // that may begin at once after a pause; 0 = 1
};

enum { LIMIT_TEXT_MAX = 80 };

// As it stands in Redis, and read from there: what is none of ours is no limit.
void limit_write (const struct limit *limit, char out[LIMIT_TEXT_MAX]);
struct limit limit_read (struct span text);
