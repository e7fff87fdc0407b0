// Prints reasons why a plan does not run now, as the station's `why` returns them.
#pragma once

#include <jansson.h>

#include "span.h"

// Print each reason on an indented line.
void why_print (const json_t *reasons);

// Print an RFC 3339 time in the style of --times: ", in 3 min"; nothing if it is invalid.
void why_print_time (struct span at);
