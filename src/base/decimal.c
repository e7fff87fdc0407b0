#include "decimal.h"

#include <string.h>

enum { DIGITS_MAX = DECIMAL_SIZE - 1 };

// 00 to 99.
static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

size_t decimal_text (int64_t value, char out[DECIMAL_SIZE])
{
    char digits[2 * DIGITS_MAX + 1] = {0}; // as many are copied wherever the number starts
    char *end = digits + DIGITS_MAX, *at = end;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    for (; left >= 10; left /= 100) {
        const char *pair = &pairs[left % 100 * 2];
        *--at = pair[1];
        *--at = pair[0];
    }
    if (left || at == end)
        *--at = (char)('0' + left);
    if (value < 0)
        *--at = '-';
    memcpy (out, at, DECIMAL_SIZE);
    return (size_t)(end - at);
}
