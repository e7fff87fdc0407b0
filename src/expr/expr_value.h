// Declarations of values that only the files of src/expr need, in addition to expr.h.
#pragma once

#include "expr.h"

// 0001-01-01T00:00:00 and 9999-12-31T23:59:59, as seconds since 1970.
#define EXPR_TIME_MIN INT64_C (-62135596800)
#define EXPR_TIME_MAX INT64_C (253402300799)

struct expr_value expr_of_boolean (bool boolean);

// Whether `object`, which must be an object, has the member; `ret`: its value.
bool expr_member (const struct expr_value *object, struct span name, struct expr_value *ret);

// Write the text of an integer, decimal, boolean or time. Returns its length.
size_t expr_scalar_text (const struct expr_value *value, char out[EXPR_SCALAR_SIZE]);

// Set code and reason of an error without a place. Returns the code.
int expr_error_set (struct expr_error *error, enum expr_code code, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

// Allocate `size` bytes, aligned for any value. NULL: the total would exceed EXPR_MEMORY_MAX.
void *expr_memory_allocate (struct expr_memory *self, size_t size);
