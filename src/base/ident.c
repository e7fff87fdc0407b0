#include "ident.h"

#include <stdio.h>

// The value of a hex digit plus 1; 0 = not a hex digit.
static const uint8_t values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

bool ident_parse (struct span text, uint64_t *ret)
{
    if (text.size < 1 || text.size > 16)
        return false;
    uint64_t id = 0;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t value = values[text.data[i]];
        if (!value)
            return false;
        id = id << 4 | (value - 1U);
    }
    if (id == 0 || id > INT64_MAX)
        return false;
    *ret = id;
    return true;
}

const char *ident_text (uint64_t id, char out[IDENT_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    size_t size = (size_t)(63 - __builtin_clzll (id | 1)) / 4 + 1; // 0 has one digit, too
    out[size] = '\0';
    for (char *at = out + size; at > out; id >>= 4)
        *--at = digits[id & 15];
    return out;
}

const char *ident_request (const char *id, char out[IDENT_REQUEST_SIZE])
{
    snprintf (out, IDENT_REQUEST_SIZE, "plan-%.32s", id);
    return out;
}
