// Names that become part of keys, titles and logs, and lists of commands. Source: proto/redis.md 1.
#pragma once

#include "span.h"

enum { STATION_NAME_MAX = 64 };

// Whether this can be the name of a target: 1 to 64 of the characters A-Z a-z 0-9 _ . -
bool station_name_valid (struct span name);

// As station_name_valid, but the characters of `more` are allowed as well.
bool name_valid_with (struct span name, const char *more);

enum { COMMAND_NAMES_MAX = 4096 };

// Whether this is a comma-separated list of command names of 1 to 256 bytes each without a NUL, and
// at most COMMAND_NAMES_MAX bytes long.
bool command_names_valid (struct span names);
