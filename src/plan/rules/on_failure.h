// The `on_failure` of a plan: the command that is called when an occurrence has failed and its
// retries are exhausted. Pure. Source: proto/plans.md.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "reason.h"

enum { ON_FAILURE_TEXT_MAX = 256 }; // bytes of each text

// The texts are borrowed from the object that was read.
struct on_failure {
    const char *command; // NULL = the plan has no on_failure
    const char *station; // target of the command; NULL = the plan's own
    const char *title;   // title of the call; NULL = derived from the plan's
};

// Read the object into `rule`, a struct on_failure, and check it. False: the reason names the field
// and the rule.
bool on_failure_read (void *rule, const json_t *object, struct reason *reason);
