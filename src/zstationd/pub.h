// A pub station: every request is published to whoever subscribes to its title.
#pragma once

#include "station.h"

extern const struct command_table pub_commands;
