// Checks of a sound definition here: targets that do not exist, or that a key may not touch.
#pragma once

#include "flow_book.h"

// Add to the list of errors, {"path", "reason"}, unless it is full.
void flow_judge_add (json_t *errors, const char *path, const char *reason);

// The first of them, and how many more there are.
void flow_judge_sum_up (const json_t *errors, struct reason *ret);

// Add what is wrong with the targets of its calls. Returns whether the key may touch all of them.
bool flow_judge_targets (struct station *station, const char *user, const struct flow *flow,
                         json_t *errors);
