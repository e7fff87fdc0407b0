// The environment of a command: our own variables, and those that this program inherited.
#pragma once

#include "reason.h"
#include "span.h"

struct environment_variable {
    const char *name;
    struct span value; // without data = unset, and not inherited either
};

// Make the environment; its first `ret_own` entries are our variables. Free it with
// environment_free. NULL with a reason.
char **environment_new (const struct environment_variable *variables, size_t count, size_t *ret_own,
                        struct reason *reason);
void environment_free (char **environment, size_t own);
