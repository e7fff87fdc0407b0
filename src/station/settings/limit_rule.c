#include "limit_rule.h"

#include <stdlib.h>

#include "json_fields.h"
#include "store_read.h"

enum { CONCURRENCY_MAX = 10000, BURST_MAX = 1000000 };

static const double rate_min = 0.000001, rate_max = 1000000;

static bool set_count (double value, int64_t max, int64_t *ret)
{
    *ret = value >= 1 && value <= (double)max ? (int64_t)value : 0;
    return *ret && (double)*ret == value;
}

static bool set_rate (struct limit *limit, double value)
{
    limit->rate = value;
    return value >= rate_min && value <= rate_max;
}

// -- JSON

static bool read_rate (void *filter, const json_t *value)
{
    return json_is_number (value) && set_rate (filter, json_number_value (value));
}

bool limit_rule_read (json_t *object, struct limit *ret, struct reason *reason)
{
    static const struct json_field fields[] = {
        {"concurrency", AS_NUMBER, offsetof (struct limit, concurrency), 1, CONCURRENCY_MAX},
        {"rate", .rule = "want starts per second, 0.000001..1000000", .read = read_rate},
        {"burst", AS_NUMBER, offsetof (struct limit, burst), 1, BURST_MAX}};
    *ret = (struct limit){0};
    return json_fields_read (object, fields, sizeof fields / sizeof *fields, ret, reason);
}

bool limit_equal (const struct limit *a, const struct limit *b)
{
    return a->concurrency == b->concurrency && a->burst == b->burst && !(a->rate < b->rate) &&
           !(a->rate > b->rate);
}

json_t *limit_rule_json (const struct limit *limit)
{
    return json_pack ("{s:o*, s:o*, s:o*}", "concurrency",
                      limit->concurrency ? json_integer (limit->concurrency) : NULL, "rate",
                      limit->rate > 0 ? json_real (limit->rate) : NULL, "burst",
                      limit->burst ? json_integer (limit->burst) : NULL);
}

// -- settings

bool limit_option_read (const char *name, const char *value, struct limit *limit)
{
    char *end;
    double number = strtod (value, &end);
    // Accept digits and a point only; strtod accepts more.
    if (!*value || *end || strspn (value, "0123456789.") != strlen (value))
        return false;
    if (strcmp (name, "rate") == 0)
        return set_rate (limit, number);
    return strcmp (name, "burst") == 0 ? set_count (number, BURST_MAX, &limit->burst)
                                       : set_count (number, CONCURRENCY_MAX, &limit->concurrency);
}

int64_t limit_next_us (const struct limit_use *use)
{
    if (use->limit.rate <= 0)
        return 0;
    int64_t burst = use->limit.burst ? use->limit.burst : 1;
    return use->used_us - (int64_t)((double)(burst - 1) * 1e6 / use->limit.rate);
}
