#include "seen_outcomes.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

// Compute two sums of the outcome's text: FNV-1a, and a polynomial over another prime.
static struct seen_outcome sums_of (const json_t *run)
{
    json_t *bare = json_copy ((json_t *)(uintptr_t)run);
    json_object_del (bare, "entry");
    json_object_del (bare, "seq");
    json_object_del (bare, "output");   // may have been dropped, or not requested
    json_object_del (bare, "callback"); // still changes, and is not restored
    char *text = json_dumps (bare, JSON_COMPACT | JSON_SORT_KEYS);
    struct seen_outcome sums = {.sums = {UINT64_C (0xcbf29ce484222325), 0}};
    for (const char *at = text; at && *at; at++) {
        sums.sums[0] = (sums.sums[0] ^ (uint8_t)*at) * UINT64_C (0x100000001b3);
        sums.sums[1] = sums.sums[1] * UINT64_C (0x9e3779b97f4a7c15) + (uint8_t)*at + 1;
    }
    free (text);
    json_decref (bare);
    return sums;
}

static int compare_sums (const void *a, const void *b)
{
    const struct seen_outcome *x = a, *y = b;
    size_t i = x->sums[0] == y->sums[0];
    return (x->sums[i] > y->sums[i]) - (x->sums[i] < y->sums[i]);
}

void seen_outcomes_add (struct seen_outcomes *self, const json_t *run)
{
    self->at = memory_grow (self->at, self->count, &self->room, sizeof *self->at);
    self->at[self->count++] = sums_of (run);
    self->sorted = false;
}

bool seen_outcomes_find (struct seen_outcomes *self, const json_t *run)
{
    const struct seen_outcome wanted = sums_of (run);
    if (self->count == 0)
        return false;
    if (!self->sorted)
        qsort (self->at, self->count, sizeof *self->at, compare_sums);
    self->sorted = true;
    size_t low = 0, high = self->count;
    while (low < high) { // find the first that is not below `wanted`
        size_t middle = low + (high - low) / 2;
        if (compare_sums (&self->at[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < self->count && compare_sums (&self->at[low], &wanted) == 0 && self->at[low].found)
        low++;
    if (low == self->count || compare_sums (&self->at[low], &wanted) != 0)
        return false;
    self->at[low].found = true;
    return true;
}
