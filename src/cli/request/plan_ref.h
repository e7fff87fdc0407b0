// A plan as the user names it: by its id, or by the name that it was added with.
//
// A text in hex is tried as an id first, and as a name if there is no such plan. Any other text is
// a name, and key:NAME always is. The verbs pass on, and the station gets, the id in its canonical
// form, or key:NAME.
#pragma once

#include <stdbool.h>

#include "reason.h"
#include "verbs.h"

enum { PLAN_NAME_MAX = 64 + 1 + 256, PLAN_REF_SIZE = 4 + PLAN_NAME_MAX + 1 };

// Parse a reference. 0, or -1 with a reason: it is empty, too long, or not UTF-8.
int plan_ref_read (const char *text, char out[PLAN_REF_SIZE], struct reason *reason);

// Whether the reference is a name; otherwise it is an id.
bool plan_ref_is_name (const char *ref);

// The form of a reference for people and for the subject of errors: the id, or the name without
// "key:".
const char *plan_ref_shown (const char *ref);

// Convert an id to the reference by name, key:TEXT, where TEXT is the verb's argument as it was
// typed. False: `ref` is not an id, or not one of the verb's arguments.
bool plan_ref_as_name (const struct cli *cli, const char *ref, char out[PLAN_REF_SIZE]);
