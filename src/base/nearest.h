// "Did you mean": which of the known words is nearest to one that is not known. Pure.
#pragma once

#include <stddef.h>

enum { NEAREST_WORD_MAX = 32 };

struct nearest {
    const char *word;                // what was given
    char best[NEAREST_WORD_MAX + 1]; // so far; "" = none is near enough
    size_t distance;                 // of `best`
    char hint[NEAREST_WORD_MAX + 32];
};

// `word` is borrowed.
struct nearest nearest_to (const char *word);

// Look at one known word. Near is one in which a letter of three is changed, left out, put in or
// swapped with its neighbour, or of which the first three letters or more were given. Of two that
// are as near the first counts.
void nearest_try (struct nearest *self, const char *known);

// The same with each of the words, which are separated by spaces.
void nearest_try_list (struct nearest *self, const char *words);

// "; did you mean WORD?", or "". Lives in `self`.
const char *nearest_hint (struct nearest *self);
