// Reasons why a plan does not run now, as `why` of the station gives them.
#pragma once

#include <jansson.h>

// A line for each of them, indented.
void why_print (const json_t *reasons);
