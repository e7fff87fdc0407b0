#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sha1.h"

// Offsets and sizes of the ids in a traceparent.
enum { TRACE_AT = 3, TRACE_DIGITS = 32, SPAN_AT = 36, SPAN_DIGITS = 16, FLAGS_AT = 53 };

// Whether these are lower-case hex digits, and not all zero.
static bool is_nonzero_hex (const uint8_t *digits, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        bool digit = digits[i] >= '0' && digits[i] <= '9';
        if (!digit && (digits[i] < 'a' || digits[i] > 'f'))
            return false;
        any = any || digits[i] != '0';
    }
    return any;
}

bool trace_valid (struct span text)
{
    static const uint8_t none[] = "00";
    const uint8_t *at = text.data;
    return text.size == TRACE_SIZE - 1 && memcmp (at, "00-", TRACE_AT) == 0 &&
           is_nonzero_hex (at + TRACE_AT, TRACE_DIGITS) && at[SPAN_AT - 1] == '-' &&
           is_nonzero_hex (at + SPAN_AT, SPAN_DIGITS) && at[FLAGS_AT - 1] == '-' &&
           (memcmp (at + FLAGS_AT, none, 2) == 0 || is_nonzero_hex (at + FLAGS_AT, 2));
}

// Write an id of `digits` hex digits, derived from `what` and the two numbers by SHA-1.
static void write_hex_id (const char *what, uint64_t plan_id, uint64_t number, char *out,
                          size_t digits)
{
    char text[64];
    uint8_t sum[SHA1_SIZE];
    int size = snprintf (text, sizeof text, "%s %" PRIx64 " %" PRIx64, what, plan_id, number);
    const struct span part = span_of (text, (size_t)size);
    sha1_sum (&part, 1, sum);
    sum[0] |= 1; // the id is never 0
    for (size_t i = 0; i < digits; i++)
        out[i] = "0123456789abcdef"[i % 2 ? sum[i / 2] & 15 : sum[i / 2] >> 4];
}

void trace_of_run (const char *parent, const struct trace_run *run, char ret[TRACE_SIZE])
{
    memcpy (ret, parent, TRACE_SIZE);
    if (run->repeats)
        write_hex_id ("trace", run->plan_id, (uint64_t)run->nominal, ret + TRACE_AT, TRACE_DIGITS);
    write_hex_id ("span", run->plan_id, run->exec_id, ret + SPAN_AT, SPAN_DIGITS);
}
