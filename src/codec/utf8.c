// Eight bytes are tested at once by subtraction. Its borrow can mark wrong bytes, but only after a
// correct one, and only the first marked byte is used.
#include "utf8.h"

#include <endian.h>
#include <string.h>

#define EACH(byte) (UINT64_C (0x0101010101010101) * (byte))

// Whether the byte is ASCII that needs no escape in JSON.
static bool is_plain (uint8_t byte)
{
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

// Whether the byte continues a character.
static bool is_continuation (uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

size_t utf8_size (const uint8_t *at, const uint8_t *end)
{
    uint8_t first = *at;
    size_t left = (size_t)(end - at);
    if (first < 0x80)
        return 1;
    if (first < 0xC2 || first > 0xF4)
        return 0;
    if (first < 0xE0)
        return left >= 2 && is_continuation (at[1]) ? 2 : 0;
    if (first < 0xF0) {
        if (left < 3 || !is_continuation (at[1]) || !is_continuation (at[2]))
            return 0;
        bool overlong = first == 0xE0 && at[1] < 0xA0;
        bool surrogate = first == 0xED && at[1] >= 0xA0;
        return overlong || surrogate ? 0 : 3;
    }
    if (left < 4 || !is_continuation (at[1]) || !is_continuation (at[2]) ||
        !is_continuation (at[3]))
        return 0;
    bool overlong = first == 0xF0 && at[1] < 0x90;
    bool too_great = first == 0xF4 && at[1] >= 0x90;
    return overlong || too_great ? 0 : 4;
}

size_t utf8_text_size (struct span text)
{
    size_t at = 0;
    for (size_t size = 1; at < text.size && size; at += size)
        size = text.data[at] ? utf8_size (text.data + at, text.data + text.size) : 0;
    return at;
}

struct span utf8_cut (struct span text, size_t most)
{
    if (text.size <= most)
        return text;
    while (most && is_continuation (text.data[most]))
        most--;
    return span_of (text.data, most);
}

size_t utf8_copy_text (struct span text, size_t most, char *out)
{
    size_t size = 0;
    for (size_t at = 0, bytes, step; at < text.size; at += step, size += step) {
        bytes = text.data[at] ? utf8_size (text.data + at, text.data + text.size) : 0;
        step = bytes ? bytes : 1;
        if (size + step > most)
            break;
        memcpy (out + size, bytes ? text.data + at : (const uint8_t *)"?", step);
    }
    return size;
}

// The index of the first byte that is not plain; 8: all are plain.
static size_t first_not_plain (uint64_t eight)
{
    eight = le64toh (eight);
    uint64_t control = eight - EACH (0x20);
    uint64_t quote = (eight ^ EACH ('"')) - EACH (1);
    uint64_t backslash = (eight ^ EACH ('\\')) - EACH (1);
    uint64_t found = (control | quote | backslash | eight) & EACH (0x80);
    return found ? (size_t)__builtin_ctzll (found) / 8 : 8;
}

size_t utf8_plain_size (const uint8_t *at, const uint8_t *end)
{
    const uint8_t *start = at;
    uint64_t eight;
    for (size_t plain = 8; end - at >= 8 && plain == 8; at += plain) {
        memcpy (&eight, at, sizeof eight);
        plain = first_not_plain (eight);
    }
    while (at < end && is_plain (*at))
        at++;
    return (size_t)(at - start);
}

size_t utf8_copy_plain (const uint8_t *at, const uint8_t *end, uint8_t *out)
{
    const uint8_t *start = at;
    for (; end - at >= 8; at += 8, out += 8) {
        uint64_t eight;
        memcpy (&eight, at, sizeof eight);
        memcpy (out, &eight, sizeof eight);
        size_t plain = first_not_plain (eight);
        if (plain < 8)
            return (size_t)(at - start) + plain;
    }
    while (at < end && is_plain (*at))
        *out++ = *at++;
    return (size_t)(at - start);
}
