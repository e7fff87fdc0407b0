// Lists of known words: the index of a word, and the word nearest to an unknown one ("did you
// mean"). Pure.
#pragma once

#include <stddef.h>
#include <string.h>

// The index of a word in a list of `count` words, such as the names of an enum; -1: not found.
static inline int word_index (const char *const *words, int count, const char *word)
{
    for (int i = 0; i < count; i++)
        if (strcmp (words[i], word) == 0)
            return i;
    return -1;
}

enum { NEAREST_WORD_MAX = 32 };

struct nearest {
    const char *word;                // the unknown word
    char best[NEAREST_WORD_MAX + 1]; // the nearest known word so far; "" = none is near enough
    size_t distance;                 // edit distance between `word` and `best`
    char hint[NEAREST_WORD_MAX + 32];
};

// Begin a search for the word, which is borrowed.
struct nearest nearest_to (const char *word);

// Compare with one known word, and keep it if it is the nearest so far; the first of equally near
// words wins. A word is near if at most a third of its letters, rounded up, differ (are changed,
// missing, extra or swapped with their neighbours), or if it begins with the unknown word and that
// has at least three letters.
void nearest_try (struct nearest *self, const char *known);

// Call nearest_try with each word of a list separated by spaces.
void nearest_try_list (struct nearest *self, const char *words);

// The hint "; did you mean WORD?", or "" if no word is near. The text is stored in `self`.
const char *nearest_hint (struct nearest *self);
