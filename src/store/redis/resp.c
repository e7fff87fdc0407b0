#include "resp.h"

#include "decimal.h"
#include "memory.h"

enum { AROUND = 1 + DECIMAL_SIZE + 2 + 2 }; // bytes around an argument, at most

static char *put_number (char *at, char mark, size_t number)
{
    *at++ = mark;
    if (number >= 10)
        at += decimal_text ((int64_t)number, at);
    else
        *at++ = (char)('0' + number);
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

char *resp_command (const struct span *head, size_t head_count, const struct span *rest,
                    size_t rest_count, size_t *ret_size)
{
    const size_t count = head_count + rest_count;
    size_t room = AROUND * (1 + count);
    for (size_t i = 0; i < count; i++)
        room += i < head_count ? head[i].size : rest[i - head_count].size;
    char *text = memory_resize (NULL, room);
    char *at = put_number (text, '*', count);
    for (size_t i = 0; i < count; i++) {
        struct span argument = i < head_count ? head[i] : rest[i - head_count];
        at = put_number (at, '$', argument.size);
        if (argument.size)
            memcpy (at, argument.data, argument.size);
        at += argument.size;
        *at++ = '\r';
        *at++ = '\n';
    }
    *ret_size = (size_t)(at - text);
    return text;
}
