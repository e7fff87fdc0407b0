// The second word of a verb that has several, as `zplan limit set`.
#pragma once

#include "options.h"

struct subword {
    const char *name;
    int min, max;     // arguments behind it
    const char *rule; // the error when their number is another one
};

// Which of them the first argument of the verb is, and whether those behind it may be; without any
// argument the first. -1: it is none, with the reason.
int subword_read (const struct subword *words, size_t count, const struct cli *cli, int arguments,
                  struct reason *reason);
