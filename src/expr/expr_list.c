// Methods of lists and objects: size, join, sum, min and max, first and last, keys.
#include "expr_functions.h"

bool expr_size (struct expr_run *run, const struct expr_value *arguments, struct expr_value *ret)
{
    (void)run;
    *ret = expr_of_integer (arguments->size);
    return true;
}

// Charge one step for an item, and fail if it does not have the wanted type.
static bool check_item (struct expr_run *run, const char *method, uint32_t index, bool fits,
                        const struct expr_value *item, const char *wanted)
{
    return expr_charge_steps (run, 1) &&
           (fits || expr_fail (run, EXPR_TYPE, "%s: item %u: want %s, got %s", method, index,
                               wanted, expr_type_name (item->type)));
}

bool expr_join (struct expr_run *run, const struct expr_value *arguments, struct expr_value *ret)
{
    const struct expr_value *list = &arguments[0], *between = &arguments[1];
    size_t size = 0;
    for (uint32_t i = 0; i < list->size; i++) {
        struct expr_value item = expr_item (list, i);
        if (!check_item (run, "join", i, item.type == EXPR_STRING, &item, "string"))
            return false;
        size += item.size + (i ? between->size : 0);
    }
    char *text = expr_allocate_string (run, size), *out = text;
    if (!text)
        return false;
    for (uint32_t i = 0; i < list->size; i++) {
        struct expr_value item = expr_item (list, i);
        if (i && between->size)
            out = mempcpy (out, between->string, between->size);
        if (item.size)
            out = mempcpy (out, item.string, item.size);
    }
    *ret = expr_of_string (span_of (text, size));
    return true;
}

bool expr_sum (struct expr_run *run, const struct expr_value *arguments, struct expr_value *ret)
{
    struct expr_value sum = expr_of_integer (0);
    for (uint32_t i = 0; i < arguments->size; i++) {
        struct expr_value item = expr_item (arguments, i);
        bool number = item.type == EXPR_INTEGER || item.type == EXPR_DECIMAL;
        if (!check_item (run, "sum", i, number, &item, "a number") ||
            !expr_add (run, &sum, &item, &sum))
            return false;
    }
    *ret = sum;
    return true;
}

bool expr_min_or_max (struct expr_run *run, const struct expr_value *arguments,
                      struct expr_value *ret)
{
    if (!arguments->size)
        return expr_fail (run, EXPR_MISSING, "missing: the list is empty");
    bool max = expr_method_kind (run) == LIST_MAX;
    struct expr_value best = expr_item (arguments, 0);
    int order;
    // The first item is compared with itself, to check its type.
    for (uint32_t i = 0; i < arguments->size; i++) {
        struct expr_value item = expr_item (arguments, i);
        if (!expr_charge_steps (run, 1) || !expr_compare (run, &item, &best, &order))
            return false;
        if (max ? order > 0 : order < 0)
            best = item;
    }
    *ret = best;
    return true;
}

bool expr_first_or_last (struct expr_run *run, const struct expr_value *arguments,
                         struct expr_value *ret)
{
    if (!arguments->size)
        return expr_fail (run, EXPR_MISSING, "missing: the list is empty");
    *ret = expr_item (arguments, expr_method_kind (run) == LIST_FIRST ? 0 : arguments->size - 1);
    return true;
}

bool expr_keys (struct expr_run *run, const struct expr_value *arguments, struct expr_value *ret)
{
    size_t count = 0;
    if (!expr_charge_steps (run, arguments->size))
        return false;
    struct expr_value *items = expr_allocate_list (run, arguments->size);
    if (!items)
        return false;
    for (void *at = json_object_iter ((json_t *)arguments->json); at;
         at = json_object_iter_next ((json_t *)arguments->json, at))
        items[count++] =
            expr_of_string (span_of (json_object_iter_key (at), json_object_iter_key_len (at)));
    *ret = expr_of_list (items, count);
    return true;
}
