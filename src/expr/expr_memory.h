// Memory of evaluations: blocks that are forgotten together.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "expr.h"

// Take `size` bytes, aligned for any value; NULL: it would be more than EXPR_MEMORY_MAX in all.
void *expr_memory_take (struct expr_memory *self, size_t size);
