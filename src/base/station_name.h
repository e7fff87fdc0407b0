// The names of targets and workers, and lists of commands. Source: proto/redis.md 1.
#pragma once

#include "span.h"

enum { STATION_NAME_MAX = 64 };

// 1 to 64 of A-Z a-z 0-9 _ . -, as the name becomes part of keys, titles and logs.
bool station_name_valid (struct span name);

enum { COMMAND_NAMES_MAX = 4096 };

// Comma-separated command names: 1 to 256 bytes each without a NUL, COMMAND_NAMES_MAX in total.
bool command_names_valid (struct span names);
