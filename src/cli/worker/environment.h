// The environment of a command: variables of our own, and the rest as this program got it.
#pragma once

#include "reason.h"
#include "zplan.h"

struct environment_variable {
    const char *name;
    const struct zplan_frame *value; // NULL = there is none, and none is inherited
};

// The variables first, `ret_own` of them, to be given back by environment_free. NULL with a reason.
char **environment_new (const struct environment_variable *variables, size_t count, size_t *ret_own,
                        struct reason *reason);
void environment_free (char **environment, size_t own);

struct zplan_frame frame_of_text (const char *text);
