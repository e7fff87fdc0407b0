#include "nearest.h"

#include <stdbool.h>
#include <stdio.h>

struct nearest nearest_to (const char *word)
{
    return (struct nearest){.word = word};
}

static size_t smaller_of (size_t a, size_t b)
{
    return a < b ? a : b;
}

// The edit distance of two words, where a swap of neighbours counts as one edit. Both words are at
// most NEAREST_WORD_MAX long.
static size_t edit_distance (const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t rows[3][NEAREST_WORD_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_size; j++)
        last[j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t change = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smaller_of (change, smaller_of (last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller_of (row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[b_size];
}

void nearest_try (struct nearest *self, const char *known)
{
    enum { PREFIX_MIN = 3 };
    size_t size = strlen (self->word), known_size = strlen (known);
    size_t dashes = strspn (self->word, "-");
    if (size > NEAREST_WORD_MAX || known_size > NEAREST_WORD_MAX)
        return;
    size_t distance = edit_distance (self->word, size, known, known_size);
    bool is_prefix = size >= dashes + PREFIX_MIN && strncmp (self->word, known, size) == 0;
    size_t letters = known_size - smaller_of (dashes, known_size);
    bool near = is_prefix || (distance <= (letters + 2) / 3 && distance < letters);
    if (near && (!*self->best || distance < self->distance)) {
        memcpy (self->best, known, known_size + 1);
        self->distance = distance;
    }
}

void nearest_try_list (struct nearest *self, const char *words)
{
    while (*words) {
        char word[NEAREST_WORD_MAX + 1];
        size_t size = strcspn (words, " ");
        if (size <= NEAREST_WORD_MAX) {
            memcpy (word, words, size);
            word[size] = '\0';
            nearest_try (self, word);
        }
        words += size + strspn (words + size, " ");
    }
}

const char *nearest_hint (struct nearest *self)
{
    self->hint[0] = '\0';
    if (*self->best)
        snprintf (self->hint, sizeof self->hint, "; did you mean %s?", self->best);
    return self->hint;
}
