#include "base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode (struct span bytes, char *out)
{
    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t have = bytes.size - i < 3 ? bytes.size - i : 3;
        uint32_t group = (uint32_t)bytes.data[i] << 16;
        if (have > 1)
            group |= (uint32_t)bytes.data[i + 1] << 8;
        if (have > 2)
            group |= bytes.data[i + 2];
        *out++ = alphabet[group >> 18 & 63];
        *out++ = alphabet[group >> 12 & 63];
        *out++ = have > 1 ? alphabet[group >> 6 & 63] : '=';
        *out++ = have > 2 ? alphabet[group & 63] : '=';
    }
    *out = '\0';
}

// Each character's position in the alphabet plus 1; 0 = it is not in the alphabet.
static const uint8_t places[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64};

// Decode four characters, the last `pad` of which are padding. Returns where the bytes end; NULL:
// not base64.
static uint8_t *decode_group (const uint8_t *four, size_t pad, uint8_t *out)
{
    uint8_t third = pad < 2 ? places[four[2]] : 1, last = pad < 1 ? places[four[3]] : 1;
    if (!places[four[0]] || !places[four[1]] || !third || !last)
        return NULL;
    uint32_t group = (uint32_t)(places[four[0]] - 1) << 18 | (uint32_t)(places[four[1]] - 1) << 12 |
                     (uint32_t)(third - 1) << 6 | (uint32_t)(last - 1);
    *out++ = (uint8_t)(group >> 16);
    if (pad < 2)
        *out++ = (uint8_t)(group >> 8);
    if (pad < 1)
        *out++ = (uint8_t)group;
    return out;
}

bool base64_decode (struct span text, uint8_t *out, size_t *ret_size)
{
    if (text.size % 4)
        return false;
    uint8_t *to = out;
    for (size_t i = 0; i < text.size; i += 4) {
        const uint8_t *four = text.data + i;
        bool padded = i + 4 == text.size && four[3] == '=';
        to = decode_group (four, padded ? 1 + (size_t)(four[2] == '=') : 0, to);
        if (!to)
            return false;
    }
    *ret_size = (size_t)(to - out);
    return true;
}
