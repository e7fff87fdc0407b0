// The text of a limit.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limit.h"

void limit_write (const struct limit *limit, char out[LIMIT_TEXT_MAX])
{
    char concurrency[24] = "", rate[32] = "", burst[24] = "";
    if (limit->concurrency)
        snprintf (concurrency, sizeof concurrency, "%" PRId64, limit->concurrency);
    if (limit->rate > 0)
        snprintf (rate, sizeof rate, "%.9f", limit->rate);
    if (limit->burst)
        snprintf (burst, sizeof burst, "%" PRId64, limit->burst);
    snprintf (out, LIMIT_TEXT_MAX, "%s %s %s", concurrency, rate, burst);
}

// The number before the next space.
static double next_number (struct span *text)
{
    char digits[32] = "";
    const uint8_t *space = memchr (text->data, ' ', text->size);
    size_t size = space ? (size_t)(space - text->data) : text->size;
    if (size && size < sizeof digits)
        memcpy (digits, text->data, size);
    size_t passed = space ? size + 1 : size;
    *text = span_of (text->data + passed, text->size - passed);
    double number = strtod (digits, NULL);
    return isfinite (number) && number > 0 && number < 1e9 ? number : 0;
}

struct limit limit_read (struct span text)
{
    struct limit limit = {0};
    if (!text.size)
        return limit;
    limit.concurrency = (int64_t)next_number (&text);
    limit.rate = next_number (&text);
    limit.burst = (int64_t)next_number (&text);
    return limit;
}
