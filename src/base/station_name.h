// The names of targets and workers, and lists of commands. Source: proto/redis.md 1.
#pragma once

#include "span.h"

enum { STATION_NAME_MAX = 64 };

// 1 to 64 of A-Z a-z 0-9 _ . -: it goes into keys, titles and logs.
bool station_name_valid (struct span name);

enum { COMMAND_NAMES_MAX = 4096 };

// Names of commands with commas between: 1 to 256 bytes each without a NUL, COMMAND_NAMES_MAX in
// all.
bool command_names_valid (struct span names);
