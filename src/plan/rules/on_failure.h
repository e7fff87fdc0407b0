// The `on_failure` of a plan: the command that is called when one of its occurrences has failed and
// is not tried again. Pure. Source: protocol, plans.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "reason.h"

enum { ON_FAILURE_TEXT_MAX = 256 }; // bytes of command and title

// Borrowed from the object that was read.
struct on_failure {
    const char *command; // NULL = nothing is called
    const char *station; // NULL = the plan's own target
    const char *title;   // NULL = made of the plan's
};

// Read and check the object. False: the reason names the field and the rule.
bool on_failure_judge (void *rule, const json_t *object, struct reason *reason);
