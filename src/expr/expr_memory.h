// Memory of evaluations: blocks that are freed together.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "expr.h"

// Allocate `size` bytes, aligned for any value. NULL: the total would exceed EXPR_MEMORY_MAX.
void *expr_memory_allocate (struct expr_memory *self, size_t size);
