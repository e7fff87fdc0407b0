// An evaluation in progress, for methods and operators. A function that fails returns false, and
// has set the error.
#pragma once

#include "expr_code.h"

struct expr_run {
    const struct expr *expr;
    const struct expr_env *env;
    struct expr_memory *memory;
    struct expr_error *error;
    const struct expr_op *op; // the operation that runs: errors name its place
    uint32_t steps;           // steps left
    uint32_t allowed;         // steps left at the start
};

// Set an error at the place of the running operation. Returns false.
bool expr_fail (struct expr_run *run, enum expr_code code, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

// Take `steps` from the budget. False: EXPR_LIMIT.
bool expr_charge_steps (struct expr_run *run, size_t steps);

// Charge steps for `bytes` bytes that are created, compared or searched.
bool expr_charge_bytes (struct expr_run *run, size_t bytes);

// Check the size limit, charge steps, and allocate memory for a string or list; it is freed with
// the memory of the run. NULL: the error is set.
char *expr_allocate_string (struct expr_run *run, size_t size);
struct expr_value *expr_allocate_list (struct expr_run *run, size_t count);

// A list of `count` borrowed items.
struct expr_value expr_of_list (const struct expr_value *items, size_t count);

// Add two numbers, or concatenate texts when one side is a string.
bool expr_add (struct expr_run *run, const struct expr_value *left, const struct expr_value *right,
               struct expr_value *ret);
// Apply the operator of `run->op`, which is - * / or %, to two numbers.
bool expr_calculate (struct expr_run *run, const struct expr_value *left,
                     const struct expr_value *right, struct expr_value *ret);
// Whether two values of any types are equal.
bool expr_equal (struct expr_run *run, const struct expr_value *left,
                 const struct expr_value *right, bool *ret);
// Compare two numbers, strings or times: `ret` is negative, 0 or positive, as from memcmp.
bool expr_compare (struct expr_run *run, const struct expr_value *left,
                   const struct expr_value *right, int *ret);
// Whether `right`, a list or object, has the item or member `left`.
bool expr_in (struct expr_run *run, const struct expr_value *left, const struct expr_value *right,
              struct expr_value *ret);
// Negate a number.
bool expr_negate (struct expr_run *run, const struct expr_value *value, struct expr_value *ret);
