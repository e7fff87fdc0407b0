// The set of outcomes that a station already has. Outcomes are compared by a hash of their content
// without the number, which each station assigns itself. Memory: 24 bytes for each.
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
    struct seen_outcome *at; // owned; the user frees it
    size_t count, room;
    bool sorted;
};

void seen_outcomes_add (struct seen_outcomes *self, const json_t *run);

// Whether the set has this outcome. Each added outcome is found only once.
bool seen_outcomes_find (struct seen_outcomes *self, const json_t *run);
