// The names of targets, and of workers. Source: contract 6.1.
#pragma once

#include "span.h"

enum { STATION_NAME_MAX = 64 };

// 1 to 64 of A-Z a-z 0-9 _ . -: it goes into keys, titles and logs.
bool station_name_valid (struct span name);
