#include "stored_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "plan.h"

static const uint8_t *skip_spaces (const uint8_t *at, const uint8_t *end)
{
    while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r')))
        at++;
    return at;
}

const uint8_t *message_value (struct span message, const char *name, size_t *from)
{
    char quoted_name[72] = "\"";
    size_t size = strlen (name) + 2;
    if (!message.size || size > sizeof quoted_name)
        return NULL; // no member of a plan has such a long name
    memcpy (quoted_name + 1, name, size - 2);
    quoted_name[size - 1] = '"';
    const uint8_t *end = message.data + message.size, *at;
    while (*from < message.size &&
           (at = memmem (message.data + *from, message.size - *from, quoted_name, size))) {
        *from = (size_t)(at - message.data) + size;
        at = skip_spaces (at + size, end);
        if (at < end && *at == ':' && (at = skip_spaces (at + 1, end)) < end)
            return at;
    }
    return NULL;
}

// Find the first value of this name that is a number. Returns where its digits begin, or NULL.
static const uint8_t *find_number (struct span message, const char *name)
{
    size_t from = 0;
    const uint8_t *at;
    while ((at = message_value (message, name, &from)) && !isdigit (*at))
        ;
    return at;
}

// Read a number; a larger one than INT64_MAX becomes INT64_MAX.
static uint64_t read_digits (const uint8_t *at, const uint8_t *end)
{
    uint64_t number = 0;
    for (; at < end && isdigit (*at); at++) {
        if (number > (INT64_MAX - 9) / 10)
            return INT64_MAX;
        number = 10 * number + *at - '0';
    }
    return number;
}

int64_t message_number (struct span message, const char *name)
{
    const uint8_t *at = find_number (message, name);
    return at ? (int64_t)read_digits (at, message.data + message.size) : 0;
}

uint64_t message_exec_id (struct span message)
{
    return (uint64_t)message_number (message, "exec_id");
}

bool message_has (struct span message, const char *name, struct span value)
{
    const uint8_t *end = message.data + message.size, *at;
    size_t from = 0;
    while ((at = message_value (message, name, &from))) {
        bool same = (size_t)(end - at) > value.size && memcmp (at, value.data, value.size) == 0;
        const uint8_t *after = same ? skip_spaces (at + value.size, end) : end;
        if (after < end && (*after == ',' || *after == '}'))
            return true;
    }
    return false;
}

bool message_has_member (struct span message, struct span member)
{
    char name[64];
    const uint8_t *colon = memmem (member.data, member.size, "\":", 2);
    size_t size = colon ? (size_t)(colon - member.data) : 0;
    if (!size || size > sizeof name)
        return false;
    memcpy (name, member.data + 1, size - 1);
    name[size - 1] = '\0';
    return message_has (message, name, span_of (colon + 2, member.size - size - 2));
}

// Replace the number of this name, if there is one. `text` is reallocated.
static void replace_number (uint8_t **text, size_t *size, const char *name, uint64_t number)
{
    char digits[24];
    const uint8_t *at = find_number (span_of (*text, *size), name), *end = *text + *size;
    if (!at)
        return;
    size_t before = (size_t)(at - *text), old = 0;
    while (at + old < end && isdigit (at[old]))
        old++;
    size_t width = (size_t)snprintf (digits, sizeof digits, "%" PRIu64, number);
    size_t rest_size = *size - before - old;
    uint8_t *written = memory_resize (NULL, *size - old + width + 1);
    memcpy (written, *text, before);
    memcpy (written + before, digits, width);
    memcpy (written + before + width, *text + before + old, rest_size);
    written[before + width + rest_size] = '\0';
    free (*text);
    *text = written;
    *size = before + width + rest_size;
}

uint8_t *message_as_running (struct span message, uint64_t exec_id, size_t *ret_size)
{
    uint8_t *text = memory_copy (message.data, message.size);
    *ret_size = message.size;
    if (!exec_id || message_exec_id (message) == exec_id)
        return text;
    replace_number (&text, ret_size, "exec_id", exec_id);
    replace_number (&text, ret_size, "exec_time", exec_id / 1000000);
    replace_number (&text, ret_size, "plan_state", PLAN_EXECUTE);
    return text;
}
