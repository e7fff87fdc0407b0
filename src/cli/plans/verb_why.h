// Reasons why a plan does not run now, as `why` of the station gives them.
#pragma once

#include <jansson.h>

// Print each reason on an indented line.
void why_print (const json_t *reasons);
