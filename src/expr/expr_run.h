// An evaluation in progress, as methods and operators see it.
#pragma once

#include "expr_code.h"

struct expr_run {
    const struct expr *expr;
    const struct expr_env *env;
    struct expr_memory *memory;
    struct expr_error *error;
    const struct expr_op *op; // the present one: errors name its place
    uint32_t steps, allowed;  // steps left now, and at the start
};

// Set an error at the present operation. Returns the code.
int expr_fail (struct expr_run *run, enum expr_code code, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

// Count steps. 0 or EXPR_LIMIT.
int expr_charge_steps (struct expr_run *run, size_t steps);

// Charge steps for `bytes` bytes that are created, compared or searched.
int expr_charge_bytes (struct expr_run *run, size_t bytes);

// Check the size limit, charge steps, and allocate memory for a string or list. NULL: the error is
// set, and the caller returns EXPR_LIMIT.
char *expr_allocate_string (struct expr_run *run, size_t size);
struct expr_value *expr_allocate_list (struct expr_run *run, size_t count);

struct expr_value expr_of_list (const struct expr_value *items, size_t count);

// The operators. + joins texts when one side is a string; the present operation distinguishes - * /
// % and + of numbers; `ret` of expr_compare is below, at or above 0, as of memcmp.
int expr_add (struct expr_run *run, const struct expr_value *left, const struct expr_value *right,
              struct expr_value *ret);
int expr_calculate (struct expr_run *run, const struct expr_value *left,
                    const struct expr_value *right, struct expr_value *ret);
int expr_equal (struct expr_run *run, const struct expr_value *left, const struct expr_value *right,
                bool *ret);
int expr_compare (struct expr_run *run, const struct expr_value *left,
                  const struct expr_value *right, int *ret);
int expr_in (struct expr_run *run, const struct expr_value *left, const struct expr_value *right,
             struct expr_value *ret);
int expr_negate (struct expr_run *run, const struct expr_value *value, struct expr_value *ret);
