#include "decimal.h"

#include <stdbool.h>
#include <string.h>

// 00 to 99.
static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

static size_t count_digits (uint64_t number)
{
    static const uint64_t next[] = {0,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
    unsigned bits = 64 - (unsigned)__builtin_clzll (number | 1);
    size_t digits = bits * 1233 >> 12; // times log10 (2): this many digits, or one more
    return digits + (number >= next[digits]);
}

// Write two digits before `end`. Returns where they begin.
static char *write_digit_pair (uint64_t number, char *end)
{
    memcpy (end - 2, &pairs[number * 2], 2);
    return end - 2;
}

size_t decimal_text (int64_t value, char out[DECIMAL_SIZE])
{
    bool negative = value < 0;
    uint64_t left = negative ? 0 - (uint64_t)value : (uint64_t)value;
    size_t size = negative + count_digits (left);
    char *at = out + size;
    *at = '\0';
    for (; left >= 10000; left /= 10000) {
        uint32_t four = (uint32_t)(left % 10000); // 32-bit division is cheaper
        at = write_digit_pair (four % 100, at);
        at = write_digit_pair (four / 100, at);
    }
    if (left >= 100) {
        at = write_digit_pair (left % 100, at);
        left /= 100;
    }
    if (left >= 10)
        write_digit_pair (left, at);
    else
        at[-1] = (char)('0' + left);
    if (negative)
        *out = '-';
    return size;
}
