// The windows and policies of a plan, for people.
#pragma once

#include <jansson.h>

// Print the plan's current iteration, its retries as text, and its settings apart from the
// schedule, each as the option of `zplan add`.
void terms_show (const json_t *plan);

// Print the label of a line, padded with blanks.
void terms_label (const char *label);
