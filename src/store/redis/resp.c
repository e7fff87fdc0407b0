#include "resp.h"

#include "decimal.h"
#include "memory.h"

enum { AROUND = 1 + DECIMAL_SIZE + 2 + 2 }; // bytes around an argument, at most

static char *put_number (char *at, char mark, size_t number)
{
    *at++ = mark;
    at += decimal_text ((int64_t)number, at);
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
