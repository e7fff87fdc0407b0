// Hex digits, and bytes that are encoded as %HH.
#pragma once

#include "span.h"

// The value of a hex digit; -1: the byte is not a hex digit.
static inline int hex_value (uint8_t byte)
{
    uint8_t letter = byte | 0x20;
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

// The byte that %HH encodes; -1: the text does not begin with %HH.
static inline int percent_byte (struct span text)
{
    int high = text.size >= 3 && text.data[0] == '%' ? hex_value (text.data[1]) : -1;
    int low = high >= 0 ? hex_value (text.data[2]) : -1;
    return low < 0 ? -1 : high * 16 + low;
}
