// Operators of expressions: arithmetic, concatenation, comparison and membership.
#include <math.h>

#include "expr_run.h"

static bool is_number (const struct expr_value *value)
{
    return value->type == EXPR_INTEGER || value->type == EXPR_DECIMAL;
}

static double decimal_of (const struct expr_value *number)
{
    return number->type == EXPR_INTEGER ? (double)number->integer : number->decimal;
}

static const char *type_of (const struct expr_value *value)
{
    return expr_type_name (value->type);
}

// -- arithmetic

// Calculate one of OP_ADD .. OP_REMAINDER.
static bool calculate_integers (struct expr_run *run, enum expr_op_code code, int64_t left,
                                int64_t right, int64_t *ret)
{
    bool overflow = false;
    if (code == OP_ADD)
        overflow = __builtin_add_overflow (left, right, ret);
    else if (code == OP_SUBTRACT)
        overflow = __builtin_sub_overflow (left, right, ret);
    else if (code == OP_MULTIPLY)
        overflow = __builtin_mul_overflow (left, right, ret);
    else if (right == 0)
        return expr_fail (run, EXPR_RANGE, "division by zero");
    else if (right == -1 && code == OP_DIVIDE) // INT64_MIN cannot be negated
        overflow = __builtin_sub_overflow (0, left, ret);
    else if (right == -1)
        *ret = 0;
    else
        *ret = code == OP_DIVIDE ? left / right : left % right;
    return !overflow || expr_fail (run, EXPR_RANGE, "overflow: an integer has 64 bits");
}

static bool calculate_decimals (struct expr_run *run, enum expr_op_code code, double left,
                                double right, double *ret)
{
    if ((code == OP_DIVIDE || code == OP_REMAINDER) && right == 0)
        return expr_fail (run, EXPR_RANGE, "division by zero");
    double result = code == OP_ADD        ? left + right
                    : code == OP_SUBTRACT ? left - right
                    : code == OP_MULTIPLY ? left * right
                    : code == OP_DIVIDE   ? left / right
                                          : fmod (left, right);
    if (!isfinite (result))
        return expr_fail (run, EXPR_RANGE, "overflow: too large for a decimal");
    *ret = result;
    return true;
}

static bool calculate_numbers (struct expr_run *run, enum expr_op_code code,
                               const struct expr_value *left, const struct expr_value *right,
                               struct expr_value *ret)
{
    static const char signs[] = {[OP_ADD] = '+',
                                 [OP_SUBTRACT] = '-',
                                 [OP_MULTIPLY] = '*',
                                 [OP_DIVIDE] = '/',
                                 [OP_REMAINDER] = '%'};
    if (!is_number (left) || !is_number (right))
        return expr_fail (run, EXPR_TYPE, "no %c of %s, %s", signs[code], type_of (left),
                          type_of (right));
    struct expr_value result = {.type = EXPR_INTEGER};
    bool ok;
    if (left->type == EXPR_INTEGER && right->type == EXPR_INTEGER) {
        ok = calculate_integers (run, code, left->integer, right->integer, &result.integer);
    } else {
        result.type = EXPR_DECIMAL;
        ok = calculate_decimals (run, code, decimal_of (left), decimal_of (right), &result.decimal);
    }
    if (ok)
        *ret = result;
    return ok;
}

bool expr_calculate (struct expr_run *run, const struct expr_value *left,
                     const struct expr_value *right, struct expr_value *ret)
{
    return calculate_numbers (run, (enum expr_op_code)run->op->code, left, right, ret);
}

bool expr_negate (struct expr_run *run, const struct expr_value *value, struct expr_value *ret)
{
    if (!is_number (value))
        return expr_fail (run, EXPR_TYPE, "no - of %s", type_of (value));
    if (value->type == EXPR_INTEGER) {
        struct expr_value zero = expr_of_integer (0);
        return calculate_numbers (run, OP_SUBTRACT, &zero, value, ret);
    }
    *ret = (struct expr_value){.type = EXPR_DECIMAL, .decimal = -value->decimal};
    return true;
}

// -- +, which makes text when one side is a string

static bool operand_text (struct expr_run *run, const struct expr_value *value,
                          char buffer[EXPR_SCALAR_SIZE], struct span *ret)
{
    return expr_text (value, buffer, ret) ||
           expr_fail (run, EXPR_TYPE, "no text of %s", type_of (value));
}

bool expr_add (struct expr_run *run, const struct expr_value *left, const struct expr_value *right,
               struct expr_value *ret)
{
    if (left->type != EXPR_STRING && right->type != EXPR_STRING)
        return calculate_numbers (run, OP_ADD, left, right, ret);
    char buffers[2][EXPR_SCALAR_SIZE];
    struct span a = {NULL, 0}, b = {NULL, 0};
    if (!operand_text (run, left, buffers[0], &a) || !operand_text (run, right, buffers[1], &b))
        return false;
    char *text = expr_allocate_string (run, a.size + b.size);
    if (!text)
        return false;
    *ret = expr_of_string (span_of (text, span_put (text, span_put (text, 0, a), b)));
    return true;
}

// -- comparison

// Compare an integer and a decimal exactly, even if no decimal equals the integer.
static int compare_integer_decimal (int64_t integer, double decimal)
{
    const double end = 9223372036854775808.0;
    if (decimal >= end || decimal < -end)
        return decimal < 0 ? 1 : -1;
    int64_t whole = (int64_t)decimal;
    double rest = decimal - (double)whole;
    return integer != whole ? (integer < whole ? -1 : 1) : (rest < 0) - (rest > 0);
}

// Both values must be numbers.
static int compare_numbers (const struct expr_value *left, const struct expr_value *right)
{
    if (left->type != right->type)
        return left->type == EXPR_INTEGER
                   ? compare_integer_decimal (left->integer, right->decimal)
                   : -compare_integer_decimal (right->integer, left->decimal);
    if (left->type == EXPR_INTEGER)
        return (left->integer > right->integer) - (left->integer < right->integer);
    return (left->decimal > right->decimal) - (left->decimal < right->decimal);
}

static bool values_equal (struct expr_run *run, const struct expr_value *left,
                          const struct expr_value *right, int depth, bool *ret);

static bool lists_equal (struct expr_run *run, const struct expr_value *left,
                         const struct expr_value *right, int depth, bool *ret)
{
    bool same = left->size == right->size;
    for (uint32_t i = 0; same && i < left->size; i++) {
        struct expr_value a = expr_item (left, i), b = expr_item (right, i);
        if (!values_equal (run, &a, &b, depth, &same))
            return false;
    }
    *ret = same;
    return true;
}

static bool objects_equal (struct expr_run *run, const struct expr_value *left,
                           const struct expr_value *right, int depth, bool *ret)
{
    bool same = left->size == right->size;
    for (void *at = json_object_iter ((json_t *)left->json); same && at;
         at = json_object_iter_next ((json_t *)left->json, at)) {
        struct expr_value a = expr_of_json (json_object_iter_value (at)), b;
        same = expr_member (right,
                            span_of (json_object_iter_key (at), json_object_iter_key_len (at)), &b);
        if (same && !values_equal (run, &a, &b, depth, &same))
            return false;
    }
    *ret = same;
    return true;
}

// Each comparison charges a step: this bounds the cost of lists that are shared.
static bool values_equal (struct expr_run *run, const struct expr_value *left,
                          const struct expr_value *right, int depth, bool *ret)
{
    if (depth > EXPR_DEPTH_MAX)
        return expr_fail (run, EXPR_LIMIT, "nested deeper than %d", EXPR_DEPTH_MAX);
    if (!expr_charge_steps (run, 1))
        return false;
    bool ok = true, same = left->type == right->type;
    if (is_number (left) && is_number (right)) {
        same = compare_numbers (left, right) == 0;
    } else if (!same) {
        ;
    } else if (left->type == EXPR_BOOLEAN) {
        same = left->boolean == right->boolean;
    } else if (left->type == EXPR_TIME) {
        same = left->time == right->time;
    } else if (left->type == EXPR_STRING) {
        ok = expr_charge_bytes (run, left->size < right->size ? left->size : right->size);
        same =
            span_equal (span_of (left->string, left->size), span_of (right->string, right->size));
    } else if (left->type == EXPR_LIST) {
        ok = lists_equal (run, left, right, depth + 1, &same);
    } else if (left->type == EXPR_OBJECT) {
        ok = objects_equal (run, left, right, depth + 1, &same);
    }
    *ret = same;
    return ok;
}

bool expr_equal (struct expr_run *run, const struct expr_value *left,
                 const struct expr_value *right, bool *ret)
{
    return values_equal (run, left, right, 0, ret);
}

static bool compare_strings (struct expr_run *run, const struct expr_value *left,
                             const struct expr_value *right, int *ret)
{
    size_t common = left->size < right->size ? left->size : right->size;
    if (!expr_charge_bytes (run, common))
        return false;
    // The byte order of UTF-8 is the order of code points.
    int order = common ? memcmp (left->string, right->string, common) : 0;
    *ret = order ? order : (left->size > right->size) - (left->size < right->size);
    return true;
}

bool expr_compare (struct expr_run *run, const struct expr_value *left,
                   const struct expr_value *right, int *ret)
{
    if (left->type == EXPR_STRING && right->type == EXPR_STRING)
        return compare_strings (run, left, right, ret);
    if (left->type == EXPR_TIME && right->type == EXPR_TIME) {
        *ret = (left->time > right->time) - (left->time < right->time);
    } else if (is_number (left) && is_number (right)) {
        *ret = compare_numbers (left, right);
    } else {
        return expr_fail (run, EXPR_TYPE, "no order of %s, %s", type_of (left), type_of (right));
    }
    return true;
}

bool expr_in (struct expr_run *run, const struct expr_value *left, const struct expr_value *right,
              struct expr_value *ret)
{
    bool found = false;
    struct expr_value item;
    if (right->type == EXPR_OBJECT && left->type == EXPR_STRING) {
        found = expr_member (right, span_of (left->string, left->size), &item);
    } else if (right->type == EXPR_LIST) {
        for (uint32_t i = 0; !found && i < right->size; i++) {
            item = expr_item (right, i);
            if (!expr_equal (run, left, &item, &found))
                return false;
        }
    } else {
        return expr_fail (run, EXPR_TYPE, "no in of %s, %s", type_of (left), type_of (right));
    }
    *ret = expr_of_boolean (found);
    return true;
}
