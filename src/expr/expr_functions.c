#include "expr_functions.h"

// -- methods

const struct expr_method expr_methods[] = {
    {"plusYears", ON_TIME, ON_INTEGER, 1, 1, TIME_YEARS, expr_time_plus},
    {"plusMonths", ON_TIME, ON_INTEGER, 1, 1, TIME_MONTHS, expr_time_plus},
    {"plusWeeks", ON_TIME, ON_INTEGER, 1, 1, TIME_WEEKS, expr_time_plus},
    {"plusDays", ON_TIME, ON_INTEGER, 1, 1, TIME_DAYS, expr_time_plus},
    {"plusHours", ON_TIME, ON_INTEGER, 1, 1, TIME_HOURS, expr_time_plus},
    {"plusMinutes", ON_TIME, ON_INTEGER, 1, 1, TIME_MINUTES, expr_time_plus},
    {"plusSeconds", ON_TIME, ON_INTEGER, 1, 1, TIME_SECONDS, expr_time_plus},
    {"withDayOfMonth", ON_TIME, ON_INTEGER, 1, 1, TIME_DAYS, expr_time_with},
    {"withMonth", ON_TIME, ON_INTEGER, 1, 1, TIME_MONTHS, expr_time_with},
    {"withYear", ON_TIME, ON_INTEGER, 1, 1, TIME_YEARS, expr_time_with},
    {"prevMonthEnd", ON_TIME, 0, 0, 0, TIME_PREVIOUS, expr_time_month_end},
    {"monthEnd", ON_TIME, 0, 0, 0, TIME_PRESENT, expr_time_month_end},
    {"nextMonthEnd", ON_TIME, 0, 0, 0, TIME_FOLLOWING, expr_time_month_end},
    {"format", ON_TIME, ON_STRING, 1, 1, 0, expr_time_format},
    {"year", ON_TIME, 0, 0, 0, TIME_YEARS, expr_time_part},
    {"month", ON_TIME, 0, 0, 0, TIME_MONTHS, expr_time_part},
    {"day", ON_TIME, 0, 0, 0, TIME_DAYS, expr_time_part},
    {"hour", ON_TIME, 0, 0, 0, TIME_HOURS, expr_time_part},
    {"dayOfWeek", ON_TIME, 0, 0, 0, TIME_WEEKS, expr_time_part},
    {"epoch", ON_TIME, 0, 0, 0, TIME_SECONDS, expr_time_part},
    {"subString", ON_STRING, ON_INTEGER, 1, 2, 0, expr_substring},
    {"substring", ON_STRING, ON_INTEGER, 1, 2, 0, expr_substring},
    {"length", ON_STRING, 0, 0, 0, 0, expr_length},
    {"upper", ON_STRING, 0, 0, 0, TEXT_UPPER, expr_change_case},
    {"lower", ON_STRING, 0, 0, 0, TEXT_LOWER, expr_change_case},
    {"trim", ON_STRING, 0, 0, 0, 0, expr_trim},
    {"contains", ON_STRING, ON_STRING, 1, 1, TEXT_ANYWHERE, expr_contains_text},
    {"startsWith", ON_STRING, ON_STRING, 1, 1, TEXT_START, expr_contains_text},
    {"endsWith", ON_STRING, ON_STRING, 1, 1, TEXT_END, expr_contains_text},
    {"indexOf", ON_STRING, ON_STRING, 1, 1, 0, expr_index_of},
    {"replace", ON_STRING, ON_STRING, 2, 2, 0, expr_replace},
    {"split", ON_STRING, ON_STRING, 1, 1, 0, expr_split},
    {"toInt", ON_STRING, 0, 0, 0, 0, expr_to_integer},
    {"toDecimal", ON_STRING, 0, 0, 0, 0, expr_to_decimal},
    {"size", ON_LIST | ON_OBJECT, 0, 0, 0, 0, expr_size},
    {"join", ON_LIST, ON_STRING, 1, 1, 0, expr_join},
    {"sum", ON_LIST, 0, 0, 0, 0, expr_sum},
    {"min", ON_LIST, 0, 0, 0, LIST_MIN, expr_min_or_max},
    {"max", ON_LIST, 0, 0, 0, LIST_MAX, expr_min_or_max},
    {"first", ON_LIST, 0, 0, 0, LIST_FIRST, expr_first_or_last},
    {"last", ON_LIST, 0, 0, 0, LIST_LAST, expr_first_or_last},
    {"keys", ON_OBJECT, 0, 0, 0, 0, expr_keys},
};

const size_t expr_method_count = sizeof expr_methods / sizeof *expr_methods;

unsigned expr_method_kind (const struct expr_run *run)
{
    return expr_methods[run->op->argument].kind;
}

// -- statics

enum { MATH_MIN, MATH_MAX };

// Return the greater or, for min, the smaller of two numbers; if only one is a decimal, the other
// is converted.
static bool math_max_or_min (struct expr_run *run, const struct expr_value *arguments,
                             struct expr_value *ret)
{
    struct expr_value left = arguments[0], right = arguments[1];
    if (left.type != right.type) {
        struct expr_value *integer = left.type == EXPR_INTEGER ? &left : &right;
        *integer = (struct expr_value){.type = EXPR_DECIMAL, .decimal = (double)integer->integer};
    }
    bool less =
        left.type == EXPR_INTEGER ? left.integer < right.integer : left.decimal < right.decimal;
    *ret = less == (expr_statics[run->op->argument].number == MATH_MAX) ? right : left;
    return true;
}

static bool math_abs (struct expr_run *run, const struct expr_value *arguments,
                      struct expr_value *ret)
{
    const struct expr_value *number = &arguments[0];
    bool negative = number->type == EXPR_INTEGER ? number->integer < 0 : number->decimal < 0;
    *ret = *number;
    return !negative || expr_negate (run, number, ret);
}

const struct expr_static expr_statics[] = {
    {"Math", "max", 2, math_max_or_min, MATH_MAX},
    {"Math", "min", 2, math_max_or_min, MATH_MIN},
    {"Math", "abs", 1, math_abs, 0},
    {"Integer", "MAX_VALUE", 0, NULL, INT32_MAX},
    {"Integer", "MIN_VALUE", 0, NULL, INT32_MIN},
    {"Long", "MAX_VALUE", 0, NULL, INT64_MAX},
    {"Long", "MIN_VALUE", 0, NULL, INT64_MIN},
};

const size_t expr_static_count = sizeof expr_statics / sizeof *expr_statics;
