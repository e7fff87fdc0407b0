// Methods of lists and objects: size, join, sum, min and max, first and last, keys.
#include "expr_functions.h"

int expr_size (struct expr_run *run, const struct expr_value *arguments, size_t count,
               struct expr_value *ret)
{
    (void)run, (void)count;
    *ret = expr_of_integer (arguments->size);
    return 0;
}

// Charge one step for an item, and fail if it does not have the wanted type.
static int check_item (struct expr_run *run, const char *method, uint32_t index, bool fits,
                       const struct expr_value *item, const char *wanted)
{
    int rc = expr_charge_steps (run, 1);
    if (rc || fits)
        return rc;
    return expr_fail (run, EXPR_TYPE, "%s: item %u: want %s, got %s", method, index, wanted,
                      expr_type_name ((enum expr_type)item->type));
}

int expr_join (struct expr_run *run, const struct expr_value *arguments, size_t count,
               struct expr_value *ret)
{
    (void)count;
    const struct expr_value *list = &arguments[0], *between = &arguments[1];
    size_t size = 0;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < list->size; i++) {
        struct expr_value item = expr_item (list, i);
        rc = check_item (run, "join", i, item.type == EXPR_STRING, &item, "string");
        size += item.size + (i ? between->size : 0);
    }
    if (rc)
        return rc;
    char *text = expr_allocate_string (run, size), *out = text;
    if (!text)
        return EXPR_LIMIT;
    for (uint32_t i = 0; i < list->size; i++) {
        struct expr_value item = expr_item (list, i);
        if (i && between->size)
            out = mempcpy (out, between->string, between->size);
        if (item.size)
            out = mempcpy (out, item.string, item.size);
    }
    *ret = expr_of_string (span_of (text, size));
    return 0;
}

int expr_sum (struct expr_run *run, const struct expr_value *arguments, size_t count,
              struct expr_value *ret)
{
    (void)count;
    struct expr_value sum = expr_of_integer (0);
    int rc = 0;
    for (uint32_t i = 0; !rc && i < arguments->size; i++) {
        struct expr_value item = expr_item (arguments, i);
        bool number = item.type == EXPR_INTEGER || item.type == EXPR_DECIMAL;
        rc = check_item (run, "sum", i, number, &item, "a number");
        if (!rc)
            rc = expr_add (run, &sum, &item, &sum);
    }
    *ret = sum;
    return rc;
}

int expr_min_or_max (struct expr_run *run, const struct expr_value *arguments, size_t count,
                     struct expr_value *ret)
{
    (void)count;
    if (!arguments->size)
        return expr_fail (run, EXPR_MISSING, "missing: the list is empty");
    bool max = expr_method_kind (run) == LIST_MAX;
    struct expr_value best = expr_item (arguments, 0);
    int order;
    // The first item is compared with itself, to check its type.
    for (uint32_t i = 0; i < arguments->size; i++) {
        struct expr_value item = expr_item (arguments, i);
        int rc = expr_charge_steps (run, 1);
        if (!rc)
            rc = expr_compare (run, &item, &best, &order);
        if (rc)
            return rc;
        if (max ? order > 0 : order < 0)
            best = item;
    }
    *ret = best;
    return 0;
}

int expr_first_or_last (struct expr_run *run, const struct expr_value *arguments, size_t count,
                        struct expr_value *ret)
{
    (void)count;
    if (!arguments->size)
        return expr_fail (run, EXPR_MISSING, "missing: the list is empty");
    *ret = expr_item (arguments, expr_method_kind (run) == LIST_FIRST ? 0 : arguments->size - 1);
    return 0;
}

int expr_keys (struct expr_run *run, const struct expr_value *arguments, size_t count,
               struct expr_value *ret)
{
    (void)count;
    size_t made = 0;
    int rc = expr_charge_steps (run, arguments->size);
    if (rc)
        return rc;
    struct expr_value *items = expr_allocate_list (run, arguments->size);
    if (!items)
        return EXPR_LIMIT;
    for (void *at = json_object_iter ((json_t *)arguments->json); at;
         at = json_object_iter_next ((json_t *)arguments->json, at))
        items[made++] =
            expr_of_string (span_of (json_object_iter_key (at), json_object_iter_key_len (at)));
    *ret = expr_of_list (items, made);
    return 0;
}
