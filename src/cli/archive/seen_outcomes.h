// Which outcomes a station has already: an outcome is known by all that it says, but for its
// number, which each station gives itself. 24 bytes are kept of each.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seen_outcome {
    uint64_t sums[2];
    bool found;
};

struct seen_outcomes {
    struct seen_outcome *at; // free ()
    size_t count, room;
    bool sorted;
};

void seen_outcomes_add (struct seen_outcomes *self, const json_t *run);

// Whether it is there; each that was added is found once.
bool seen_outcomes_find (struct seen_outcomes *self, const json_t *run);
