#include "team_rule.h"

#include <jansson.h>
#include <stdlib.h>

#include "memory.h"
#include "stored_text.h"

enum { COUNT = 1, PING_S = 30, TIMEOUT_S = 60 };

// Whether the message says that the run is outside the schedule.
static bool is_extra (struct span message)
{
    size_t from = 0;
    const uint8_t *at;
    while ((at = message_value (message, "extra", &from)))
        if (*at >= '1' && *at <= '9')
            return true;
    return false;
}

// -- the rule

// The JSON object `workers` in the message; empty = none.
static struct span workers_text (struct span message)
{
    const uint8_t *end = message.data + message.size, *at;
    size_t from = 0;
    while ((at = message_value (message, "workers", &from))) {
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

// Clamp a number to 0..INT32_MAX, so that sums and products do not overflow.
static int64_t clamp_number (int64_t number)
{
    return number < 0 ? 0 : number > INT32_MAX ? INT32_MAX : number;
}

// A number member of a JSON object, clamped; `otherwise` if it is missing or no number.
static int64_t member_number_or (const json_t *object, const char *name, int64_t otherwise)
{
    const json_t *value = json_object_get (object, name);
    if (json_is_integer (value))
        return clamp_number (json_integer_value (value));
    double real = json_real_value (value);
    return json_is_real (value) && real > -1e9 && real < 1e9 ? clamp_number ((int64_t)real)
                                                             : otherwise;
}

// Read the names of the workers that may take the plan.
static void read_allowed_names (struct team_rule *self, const json_t *names)
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
    self->count = member_number_or (workers, "count", COUNT);
    self->ping_s = member_number_or (workers, "ping_interval", PING_S);
    self->timeout_s = member_number_or (workers, "worker_timeout", TIMEOUT_S);
    self->again = json_is_true (json_object_get (workers, "again"));
    read_allowed_names (self, json_object_get (workers, "only"));
    json_decref (workers);
    self->plan_time = message_number (message, "plan_time");
    self->error_count = message_number (message, "error_count");
    self->priority = clamp_number (message_number (message, "priority"));
    self->state = message_number (message, "plan_state");
    self->run_timeout_s = clamp_number (message_number (message, "timeout"));
    self->extra = is_extra (message);
}

bool team_rule_allows (const struct team_rule *self, struct span worker)
{
    for (size_t i = 0; i < self->only_count; i++)
        if (span_is (worker, self->only[i]))
            return true;
    return !self->only;
}
