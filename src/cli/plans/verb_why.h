// Prints reasons why a plan does not run now, as the station's `why` returns them.
#pragma once

#include <jansson.h>

// Print each reason on an indented line.
void why_print (const json_t *reasons);
