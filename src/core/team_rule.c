#include "team_rule.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

enum { COUNT = 1, PING_S = 30, TIMEOUT_S = 60, EXECUTING = 2 };

// -- members of the text

static const uint8_t *skip_spaces (const uint8_t *at, const uint8_t *end)
{
    while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r')))
        at++;
    return at;
}

// Where the value of the next member of this name begins, or NULL; `from` is moved behind the name.
static const uint8_t *next_value (struct span message, const char *name, size_t *from)
{
    char quoted_name[32];
    size_t size = (size_t)snprintf (quoted_name, sizeof quoted_name, "\"%s\"", name);
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

static bool is_digit (uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

// Where its digits begin, or NULL.
static const uint8_t *number_at (struct span message, const char *name)
{
    size_t from = 0;
    const uint8_t *at;
    while ((at = next_value (message, name, &from)) && !is_digit (*at))
        ;
    return at;
}

static uint64_t read_digits (const uint8_t *at, const uint8_t *end)
{
    uint64_t number = 0;
    for (; at < end && is_digit (*at); at++) {
        if (number > (INT64_MAX - 9) / 10)
            return INT64_MAX;
        number = 10 * number + *at - '0';
    }
    return number;
}

int64_t message_number (struct span message, const char *name)
{
    const uint8_t *at = number_at (message, name);
    return at ? (int64_t)read_digits (at, message.data + message.size) : 0;
}

uint64_t message_exec_id (struct span message)
{
    return (uint64_t)message_number (message, "exec_id");
}

static bool is_extra (struct span message)
{
    size_t from = 0;
    const uint8_t *at;
    while ((at = next_value (message, "extra", &from)))
        if (*at >= '1' && *at <= '9')
            return true;
    return false;
}

// -- the rule

static struct span workers_text (struct span message)
{
    const uint8_t *end = message.data + message.size, *at;
    size_t from = 0;
    while ((at = next_value (message, "workers", &from))) {
        size_t depth = 0;
        for (const uint8_t *next = at; *at == '{' && next < end; next++) {
            depth += *next == '{';
            depth -= *next == '}';
            if (depth == 0)
                return span_of (at, (size_t)(next - at) + 1);
        }
    }
    return (struct span){0};
}

// Within what can be added and multiplied.
static int64_t bounded (int64_t number)
{
    return number < 0 ? 0 : number > INT32_MAX ? INT32_MAX : number;
}

static int64_t number_or (const json_t *object, const char *name, int64_t otherwise)
{
    const json_t *value = json_object_get (object, name);
    if (json_is_integer (value))
        return bounded (json_integer_value (value));
    double real = json_real_value (value);
    return json_is_real (value) && real > -1e9 && real < 1e9 ? bounded ((int64_t)real) : otherwise;
}

static void read_only (struct team_rule *self, const json_t *names)
{
    size_t count = json_array_size (names);
    if (!count)
        return;
    self->only = memory_new (count * sizeof *self->only);
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value (json_array_get (names, i));
        if (name)
            self->only[self->only_count++] = memory_text (name);
    }
}

void team_rule_free (struct team_rule *self)
{
    for (size_t i = 0; i < self->only_count; i++)
        free (self->only[i]);
    free (self->only);
    *self = (struct team_rule){0};
}

void team_rule_read (struct team_rule *self, struct span message)
{
    struct span text = workers_text (message);
    json_t *workers = text.size ? json_loadb ((const char *)text.data, text.size, 0, NULL) : NULL;
    team_rule_free (self);
    self->count = number_or (workers, "count", COUNT);
    self->ping_s = number_or (workers, "ping_interval", PING_S);
    self->timeout_s = number_or (workers, "worker_timeout", TIMEOUT_S);
    self->again = json_is_true (json_object_get (workers, "again"));
    read_only (self, json_object_get (workers, "only"));
    json_decref (workers);
    self->plan_time = message_number (message, "plan_time");
    self->error_count = message_number (message, "error_count");
    self->priority = bounded (message_number (message, "priority"));
    self->state = message_number (message, "plan_state");
    self->run_timeout_s = bounded (message_number (message, "timeout"));
    self->extra = is_extra (message);
}

bool team_rule_allows (const struct team_rule *self, struct span worker)
{
    for (size_t i = 0; i < self->only_count; i++)
        if (span_is (worker, self->only[i]))
            return true;
    return !self->only;
}

// -- the message of a run

// In place of the number behind this name, if there is one.
static void replace (uint8_t **text, size_t *size, const char *name, uint64_t number)
{
    char digits[24];
    const uint8_t *at = number_at (span_of (*text, *size), name), *end = *text + *size;
    if (!at)
        return;
    size_t before = (size_t)(at - *text), old = 0;
    while (at + old < end && is_digit (at[old]))
        old++;
    size_t width = (size_t)snprintf (digits, sizeof digits, "%" PRIu64, number);
    size_t behind = *size - before - old;
    uint8_t *written = memory_resize (NULL, *size - old + width + 1);
    memcpy (written, *text, before);
    memcpy (written + before, digits, width);
    memcpy (written + before + width, *text + before + old, behind);
    free (*text);
    *text = written;
    *size = before + width + behind;
}

uint8_t *message_as_running (struct span message, uint64_t exec_id, size_t *ret_size)
{
    uint8_t *text = memory_resize (NULL, message.size + 1);
    *ret_size = message.size;
    memcpy (text, message.data, message.size);
    replace (&text, ret_size, "exec_id", exec_id);
    replace (&text, ret_size, "exec_time", exec_id / 1000000);
    replace (&text, ret_size, "plan_state", EXECUTING);
    return text;
}
