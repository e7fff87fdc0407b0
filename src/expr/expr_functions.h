// The tables of methods, statics and adjusters: expressions have no others.
#pragma once

#include "expr_run.h"

#define EXPR_MASK(type) (1U << (type))

enum {
    ON_INTEGER = EXPR_MASK (EXPR_INTEGER),
    ON_NUMBER = EXPR_MASK (EXPR_INTEGER) | EXPR_MASK (EXPR_DECIMAL),
    ON_STRING = EXPR_MASK (EXPR_STRING),
    ON_LIST = EXPR_MASK (EXPR_LIST),
    ON_OBJECT = EXPR_MASK (EXPR_OBJECT),
    ON_TIME = EXPR_MASK (EXPR_TIME)
};

// Compute a method or static. The first argument of a method is the value itself; `run->op->count`
// counts the others. The caller has checked the types. False: failed, and the error is set.
typedef bool expr_function (struct expr_run *run, const struct expr_value *arguments,
                            struct expr_value *ret);

struct expr_method {
    const char *name;
    unsigned on;      // EXPR_MASK of the types that have this method
    unsigned takes;   // EXPR_MASK of the types allowed for each argument
    uint8_t min, max; // number of arguments
    uint8_t kind;     // distinguishes rows with the same function: expr_method_kind
    expr_function *function;
};

struct expr_static {
    const char *class_name; // the prefix java.lang. is accepted, too
    const char *name;
    uint8_t count;           // number of arguments
    expr_function *function; // takes numbers; NULL: the static is a constant
    int64_t number;          // the constant, or what distinguishes rows with the same function
};

extern const struct expr_method expr_methods[];
extern const size_t expr_method_count;
extern const struct expr_static expr_statics[];
extern const size_t expr_static_count;

// The `kind` of the method that is called now.
unsigned expr_method_kind (const struct expr_run *run);

// Find the index of the adjuster with this name; -1: there is none.
int expr_find_adjuster (struct span name);

// Apply an adjuster to a time; the time of day does not change.
bool expr_apply_adjuster (struct expr_run *run, int adjuster, const struct expr_value *time,
                          struct expr_value *ret);

// -- methods of times: expr_time.c, expr_format.c

enum { TIME_YEARS, TIME_MONTHS, TIME_WEEKS, TIME_DAYS, TIME_HOURS, TIME_MINUTES, TIME_SECONDS };
enum { TIME_PREVIOUS, TIME_PRESENT, TIME_FOLLOWING };
expr_function expr_time_plus, expr_time_with, expr_time_month_end, expr_time_part, expr_time_format;

// -- methods of strings: expr_text.c

enum { TEXT_UPPER, TEXT_LOWER };
enum { TEXT_ANYWHERE, TEXT_START, TEXT_END };
expr_function expr_substring, expr_length, expr_change_case, expr_trim, expr_contains_text,
    expr_index_of, expr_replace, expr_split, expr_to_integer, expr_to_decimal;

// -- methods of lists and objects: expr_list.c

enum { LIST_MIN, LIST_MAX };
enum { LIST_FIRST, LIST_LAST };
expr_function expr_size, expr_join, expr_sum, expr_min_or_max, expr_first_or_last, expr_keys;
