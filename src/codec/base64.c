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

static int sextet (uint8_t byte)
{
    if (byte == '\0')
        return -1;
    const char *at = strchr (alphabet, byte);
    return at ? (int)(at - alphabet) : -1;
}

bool base64_decode (struct span text, uint8_t *out, size_t *ret_size)
{
    if (text.size % 4)
        return false;
    size_t size = 0;
    for (size_t i = 0; i < text.size; i += 4) {
        const uint8_t *four = text.data + i;
        bool last = i + 4 == text.size;
        size_t pad =
            last ? (size_t)(four[3] == '=') + (size_t)(four[3] == '=' && four[2] == '=') : 0;
        uint32_t group = 0;
        for (size_t j = 0; j < 4; j++) {
            int value = j >= 4 - pad ? 0 : sextet (four[j]);
            if (value < 0)
                return false;
            group = group << 6 | (uint32_t)value;
        }
        for (size_t j = 0; j < 3 - pad; j++)
            out[size++] = (uint8_t)(group >> (16 - 8 * j));
    }
    *ret_size = size;
    return true;
}
