// "Did you mean": finds the known word nearest to an unknown one. Pure.
#pragma once

#include <stddef.h>

enum { NEAREST_WORD_MAX = 32 };

struct nearest {
    const char *word;                // the unknown word
    char best[NEAREST_WORD_MAX + 1]; // so far; "" = none is near enough
    size_t distance;                 // of `best`
    char hint[NEAREST_WORD_MAX + 32];
};

// `word` is borrowed.
struct nearest nearest_to (const char *word);

// Compare with one known word. It is near if it differs by at most one letter in three (changed,
// missing, extra or swapped with its neighbour), or if the unknown word is its beginning of three
// letters or more. The first of equally near words wins.
void nearest_try (struct nearest *self, const char *known);

// The same for each word of a list separated by spaces.
void nearest_try_list (struct nearest *self, const char *words);

// "; did you mean WORD?", or "". Lives in `self`.
const char *nearest_hint (struct nearest *self);
