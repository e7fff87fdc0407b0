#include "ident.h"

static int hex_digit (uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

bool ident_parse (struct span text, uint64_t *ret)
{
    if (text.size < 1 || text.size > 16)
        return false;
    uint64_t id = 0;
    for (size_t i = 0; i < text.size; i++) {
        int digit = hex_digit (text.data[i]);
        if (digit < 0)
            return false;
        id = id << 4 | (uint64_t)digit;
    }
    if (id == 0 || id > INT64_MAX)
        return false;
    *ret = id;
    return true;
}

const char *ident_text (uint64_t id, char out[IDENT_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    int highest = (63 - __builtin_clzll (id | 1)) / 4; // 0 has one digit, too
    char *at = out;
    for (int digit = highest; digit >= 0; digit--)
        *at++ = digits[id >> 4 * digit & 15];
    *at = '\0';
    return out;
}
