// The rows of a batch as commands for Redis: many rows are one command.
#pragma once

#include "commands.h"
#include "rows.h"

// The commands of these rows. `outcomes`: how many the history keeps. The rows live as long.
void commands_of_rows (struct commands *self, const struct rows *rows, int64_t outcomes);
