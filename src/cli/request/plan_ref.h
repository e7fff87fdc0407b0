// A plan as the user names it: by its id, or by the name that it was added with.
//
// A text that is an id in hex is one first; if there is no such plan it is tried as a name. Any
// other text is a name, and key:NAME always is. What the station gets, and the verbs hand on, is
// the id in its canonical form, or key:NAME.
#pragma once

#include <stdbool.h>

#include "reason.h"
#include "verbs.h"

enum { PLAN_NAME_MAX = 64 + 1 + 256, PLAN_REF_SIZE = 4 + PLAN_NAME_MAX + 1 };

// Read one. 0, or -1 with a reason: it is empty, too long, or not UTF-8.
int plan_ref_read (const char *text, char out[PLAN_REF_SIZE], struct reason *reason);

// Whether it is a name; else it is an id.
bool plan_ref_is_name (const char *ref);

// For people, and in what a refusal is of: the id, or the name alone.
const char *plan_ref_shown (const char *ref);

// The name that an id of the command line may be as well, as it was typed there: key:TEXT. False:
// `ref` is no id, or none of the verb's words.
bool plan_ref_as_name (const struct cli *cli, const char *ref, char out[PLAN_REF_SIZE]);
