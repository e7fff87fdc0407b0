#include "aof.h"

#include <strings.h>

enum { DIGITS_MAX = 18 };

enum aof_step { STEP_DONE, STEP_SHORT, STEP_WRONG };

// Remove the first `size` bytes and the "\r\n" after them.
static enum aof_step skip_line (struct span *rest, size_t size)
{
    for (size_t i = 0; i < 2; i++) {
        if (size + i >= rest->size)
            return STEP_SHORT;
        if (rest->data[size + i] != "\r\n"[i])
            return STEP_WRONG;
    }
    *rest = span_of (rest->data + size + 2, rest->size - size - 2);
    return STEP_DONE;
}

// Parse and remove "<mark>DIGITS\r\n" from the front.
static enum aof_step parse_length (struct span *rest, uint8_t mark, size_t *ret)
{
    size_t at = 1, number = 0;
    if (rest->size && rest->data[0] != mark)
        return STEP_WRONG;
    for (; at < rest->size && rest->data[at] >= '0' && rest->data[at] <= '9'; at++) {
        if (at > DIGITS_MAX)
            return STEP_WRONG;
        number = number * 10 + (size_t)(rest->data[at] - '0');
    }
    if (at < rest->size && at == 1)
        return STEP_WRONG;
    *ret = number;
    return skip_line (rest, at);
}

// Parse and remove a bulk string, "$SIZE\r\n" and the bytes with "\r\n", from the front.
static enum aof_step parse_bulk_string (struct span *rest, struct span *ret)
{
    size_t size;
    enum aof_step step = parse_length (rest, '$', &size);
    if (step != STEP_DONE)
        return step;
    *ret = span_of (rest->data, size);
    return skip_line (rest, size);
}

static enum aof_step skip_annotation (struct span *rest)
{
    const uint8_t *end = memchr (rest->data, '\n', rest->size);
    if (!end)
        return STEP_SHORT;
    size_t size = (size_t)(end + 1 - rest->data);
    *rest = span_of (end + 1, rest->size - size);
    return STEP_DONE;
}

// Parse and remove a command. `ret_name` is its name if it has no arguments, else empty.
static enum aof_step parse_command (struct span *rest, struct span *ret_name)
{
    size_t count;
    struct span part = {0};
    *ret_name = (struct span){0};
    if (rest->data[0] == '#')
        return skip_annotation (rest);
    enum aof_step step = parse_length (rest, '*', &count);
    if (step == STEP_DONE && count == 0)
        return STEP_WRONG;
    for (size_t i = 0; step == STEP_DONE && i < count; i++)
        step = parse_bulk_string (rest, &part);
    if (step == STEP_DONE && count == 1)
        *ret_name = part;
    return step;
}

static bool command_is (struct span name, const char *word)
{
    return name.size == strlen (word) &&
           strncasecmp ((const char *)name.data, word, name.size) == 0;
}

// Set `ret_good` to the size of the complete commands and transactions at the start. Returns
// STEP_DONE if they are the whole file, STEP_SHORT if the rest is the beginning of one, else
// STEP_WRONG.
static enum aof_step scan_commands (struct span file, size_t *ret_good)
{
    bool open = false; // after MULTI, before EXEC
    struct span rest = file;
    *ret_good = 0;
    while (rest.size) {
        struct span name;
        enum aof_step step = parse_command (&rest, &name);
        if (step != STEP_DONE)
            return step;
        bool begins = command_is (name, "MULTI"), ends = command_is (name, "EXEC");
        if ((begins && open) || (ends && !open))
            return STEP_WRONG;
        open = (open || begins) && !ends;
        if (!open)
            *ret_good = file.size - rest.size;
    }
    return open ? STEP_SHORT : STEP_DONE;
}

enum aof_state aof_scan (struct span file, size_t *ret_good)
{
    size_t ignored;
    enum aof_step step = scan_commands (file, ret_good);
    if (step == STEP_DONE)
        return AOF_WHOLE;
    struct span tail = span_of (file.data + *ret_good, file.size - *ret_good);
    while (tail.size && tail.data[tail.size - 1] == '\0')
        tail.size--;
    // Without its trailing zeros the tail must be empty, or the beginning of a command.
    return scan_commands (tail, &ignored) == STEP_WRONG ? AOF_DAMAGED : AOF_TORN;
}
