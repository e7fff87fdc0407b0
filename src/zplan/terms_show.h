// The windows and policies of a plan in words, for people.
#pragma once

#include <jansson.h>

// A line for each that the plan says, and where it is among its iterations.
void terms_show (const json_t *plan);

// The label of a line, and blanks behind it.
void terms_label (const char *label);
