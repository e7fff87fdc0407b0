// The fields are one table; those of when are read in policy_when.c.
#include "policy.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "json.h"
#include "policy_private.h"
#include "retry_rule.h"

enum { YEAR_S = 31536000, DAY_S = 86400 };

// -- readers

static bool read_retry (struct policy *self, const char *name, const json_t *value,
                        struct reason *reason)
{
    (void)name;
    return retry_rule_read (value, &self->retry, reason);
}

static bool read_seconds (const char *name, const json_t *value, int64_t min, int64_t max,
                          int64_t *ret, struct reason *reason)
{
    *ret = json_integer_value (value);
    if (json_is_integer (value) && *ret >= min && *ret <= max)
        return true;
    reason_set (reason, "%s: want seconds, %" PRId64 "..%" PRId64, name, min, max);
    return false;
}

static bool read_timeout (struct policy *self, const char *name, const json_t *value,
                          struct reason *reason)
{
    return read_seconds (name, value, 1, YEAR_S, &self->timeout_s, reason);
}

static bool read_window (struct policy *self, const char *name, const json_t *value,
                         struct reason *reason)
{
    return read_seconds (name, value, 1, YEAR_S, &self->misfire_window_s, reason);
}

static bool read_jitter (struct policy *self, const char *name, const json_t *value,
                         struct reason *reason)
{
    return read_seconds (name, value, 0, DAY_S, &self->jitter_s, reason);
}

static bool read_misfire (struct policy *self, const char *name, const json_t *value,
                          struct reason *reason)
{
    enum { KEEP_MAX = 1000 };
    static const struct {
        const char *word;
        enum misfire misfire;
    } words[] = {{"skip", MISFIRE_SKIP}, {"all", MISFIRE_ALL}, {"latest", MISFIRE_NEWEST}};
    const char *text = json_string_value (value);
    self->misfire_keep = 1;
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++) {
        if (strcmp (words[i].word, text) == 0) {
            self->misfire = words[i].misfire;
            return true;
        }
    }
    self->misfire = MISFIRE_NEWEST;
    self->misfire_keep = json_integer_value (value);
    if (json_is_integer (value) && self->misfire_keep >= 1 && self->misfire_keep <= KEEP_MAX)
        return true;
    reason_set (reason, "%s: want skip, latest, all, or how many of the newest: 1..%d", name,
                KEEP_MAX);
    return false;
}

static bool read_overlap_policy (struct policy *self, const char *name, const json_t *value,
                                 struct reason *reason)
{
    static const char *const words[] = {[OVERLAP_SKIP] = "skip", [OVERLAP_QUEUE] = "queue"};
    int word = word_of (words, 3, value);
    self->overlap_policy = (enum overlap_policy)word;
    if (word > 0)
        return true;
    reason_set (reason, "%s: want skip or queue", name);
    return false;
}

static bool read_log (struct policy *self, const char *name, const json_t *value,
                      struct reason *reason)
{
    static const char *const words[] = {
        [LOG_TRANS] = "trans", [LOG_TRIGGER] = "trigger", [LOG_NONE] = "none"};
    int word = word_of (words, 3, value);
    self->log = (enum log_mode)word;
    if (word >= 0)
        return true;
    reason_set (reason, "%s: want none, trigger or trans", name);
    return false;
}

// -- the table

enum about { ABOUT_RUNS, ABOUT_WHEN };

static const struct field {
    const char *name;
    bool (*read) (struct policy *self, const char *name, const json_t *value,
                  struct reason *reason);
    enum about about;
} fields[] = {
    {"cron", policy_read_cron, ABOUT_WHEN},
    {"timezone", policy_read_timezone, ABOUT_WHEN},
    {"gap", policy_read_gap, ABOUT_WHEN},
    {"overlap", policy_read_overlap, ABOUT_WHEN},
    {"iteration", policy_read_iteration, ABOUT_WHEN},
    {"cycle", policy_read_cycle, ABOUT_WHEN},
    {"start_time", policy_read_start, ABOUT_WHEN},
    {"end_time", policy_read_end, ABOUT_WHEN},
    {"misfire", read_misfire, ABOUT_RUNS},
    {"misfire_window", read_window, ABOUT_RUNS},
    {"jitter", read_jitter, ABOUT_WHEN},
    {"overlap_policy", read_overlap_policy, ABOUT_RUNS},
    {"retry", read_retry, ABOUT_RUNS},
    {"timeout", read_timeout, ABOUT_RUNS},
    {"log", read_log, ABOUT_RUNS},
};

enum { FIELDS = sizeof fields / sizeof *fields };

static const struct field *field_named (const char *name)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (strcmp (fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

bool policy_field (const char *name)
{
    return field_named (name) != NULL;
}

int word_of (const char *const *words, size_t count, const json_t *value)
{
    const char *text = json_string_value (value);
    for (size_t i = 0; text && i < count; i++)
        if (words[i] && strcmp (words[i], text) == 0)
            return (int)i;
    return -1;
}

// -- life

struct policy *policy_keep (struct policy *self)
{
    if (self)
        self->kept++;
    return self;
}

void policy_destroy (struct policy **self)
{
    struct policy *policy = *self;
    *self = NULL;
    if (!policy || policy->kept-- > 0)
        return;
    cron_destroy (&policy->cron);
    json_decref (policy->fields);
    free (policy);
}

static bool check_together (const struct policy *self, struct reason *reason)
{
    if (self->end_time && self->end_time < self->start_time) {
        reason_set (reason, "end_time: is before start_time");
        return false;
    }
    return true;
}

struct policy *policy_read (const json_t *object, struct reason *reason)
{
    const char *name;
    json_t *value;
    struct policy *self = calloc (1, sizeof *self); // libzplan reads it too, which may not abort
    if (!self || !(self->fields = json_object ())) {
        reason_set (reason, "out of memory");
        policy_destroy (&self);
        return NULL;
    }
    json_object_foreach ((json_t *)object, name, value)
    {
        const struct field *field = field_named (name);
        if (!field)
            reason_set (reason, "%s: unknown field", quoted (span_text (name)));
        if (!field || !field->read (self, name, value, reason)) {
            policy_destroy (&self);
            return NULL;
        }
        if (json_object_set (self->fields, name, value)) {
            reason_set (reason, "out of memory");
            policy_destroy (&self);
            return NULL;
        }
    }
    if (!check_together (self, reason))
        policy_destroy (&self);
    return self;
}

bool policy_read_from (const json_t *object, struct policy **ret, struct reason *reason)
{
    json_t *own = json_object ();
    for (size_t i = 0; i < FIELDS; i++) {
        json_t *value = json_object_get (object, fields[i].name);
        if (value)
            json_object_set (own, fields[i].name, value);
    }
    *ret = json_object_size (own) ? policy_read (own, reason) : NULL;
    bool read = *ret || json_object_size (own) == 0;
    json_decref (own);
    return read;
}

// -- use

void policy_into_schedule (const struct policy *self, struct schedule *ret)
{
    if (!self)
        return;
    ret->start_time = self->start_time;
    ret->end_time = self->end_time;
    ret->wall_clock = self->timezone[0] != '\0';
    ret->gap = self->gap;
    ret->overlap = self->overlap;
    ret->cycle = self->cycle.count ? &self->cycle : NULL;
    ret->cron = self->cron;
}

static const json_t *value_of (const struct policy *self, const char *name)
{
    return self ? json_object_get (self->fields, name) : NULL;
}

bool policy_same_schedule (const struct policy *self, const struct policy *other)
{
    for (size_t i = 0; i < FIELDS; i++) {
        const json_t *one = value_of (self, fields[i].name);
        const json_t *two = value_of (other, fields[i].name);
        if (fields[i].about == ABOUT_WHEN && one != two &&
            !json_equal ((json_t *)one, (json_t *)two))
            return false;
    }
    return true;
}

int64_t policy_cycle (const struct policy *self)
{
    if (!self)
        return 0;
    if (self->cycle.count)
        return (int64_t)self->cycle.count;
    return self->runs ? self->runs : self->iteration ? 1 : 0;
}

struct place policy_place (int64_t count, int64_t cycle)
{
    if (count < 1)
        return (struct place){0};
    return (struct place){(count - 1) / cycle + 1, (count - 1) % cycle + 1};
}

void policy_write (const struct policy *self, struct json_text *text)
{
    const char *name;
    json_t *value;
    json_object_foreach (self->fields, name, value)
    {
        char *bytes = json_write (value);
        json_text_raw (text, span_of (",\"", 2));
        json_text_raw (text, span_text (name));
        json_text_raw (text, span_of ("\":", 2));
        json_text_raw (text, span_text (bytes));
        free (bytes);
    }
}
