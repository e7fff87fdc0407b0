#include "resp.h"

#include "memory.h"

enum { AROUND = 1 + 20 + 2 + 2 }; // bytes around an argument, at most

static char *put_number (char *at, char mark, size_t number)
{
    char digits[24];
    size_t size = 0;
    do
        digits[size++] = (char)('0' + number % 10);
    while (number /= 10);
    *at++ = mark;
    while (size)
        *at++ = digits[--size];
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

static char *put_arguments (char *at, const struct span *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        at = put_number (at, '$', arguments[i].size);
        if (arguments[i].size)
            memcpy (at, arguments[i].data, arguments[i].size);
        at += arguments[i].size;
        *at++ = '\r';
        *at++ = '\n';
    }
    return at;
}

static size_t bytes_of (const struct span *arguments, size_t count)
{
    size_t bytes = AROUND * count;
    for (size_t i = 0; i < count; i++)
        bytes += arguments[i].size;
    return bytes;
}

char *resp_command (const struct span *head, size_t head_count, const struct span *rest,
                    size_t rest_count, size_t *ret_size)
{
    size_t room = AROUND + bytes_of (head, head_count) + bytes_of (rest, rest_count);
    char *text = memory_resize (NULL, room);
    char *at = put_number (text, '*', head_count + rest_count);
    at = put_arguments (at, head, head_count);
    at = put_arguments (at, rest, rest_count);
    *ret_size = (size_t)(at - text);
    return text;
}
