// The windows and policies of a plan, for people.
#pragma once

#include <jansson.h>

// Where the plan is among its iterations, its retries as text, and its settings besides the
// schedule: each as the option that `zplan add` takes.
void terms_show (const json_t *plan);

// The label of a line, and blanks after it.
void terms_label (const char *label);
