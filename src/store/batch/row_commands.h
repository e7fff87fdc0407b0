// The rows of a batch as commands for Redis: many rows are one command.
#pragma once

#include "commands.h"
#include "rows.h"

// Append the commands for these rows, whose bytes they borrow. `outcomes` is how many outcomes the
// history keeps.
void commands_of_rows (struct commands *self, const struct rows *rows, int64_t outcomes);
