// The fields are one table, policy_fields.def; those of when are read in policy_when.c.
#include "policy.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "callback_rule.h"
#include "json.h"
#include "policy_private.h"
#include "retry_rule.h"

enum { YEAR_S = 31536000, DAY_S = 86400, PRIORITY_MAX = 255 };

// -- readers

static bool read_retry (struct policy *self, const char *name, const json_t *value,
                        struct reason *reason)
{
    (void)name;
    return retry_rule_read (value, &self->retry, reason);
}

static bool read_workers (struct policy *self, const char *name, const json_t *value,
                          struct reason *reason)
{
    (void)name;
    return workers_rule_read (value, &self->workers, reason);
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

static bool read_on_failure (struct policy *self, const char *name, const json_t *value,
                             struct reason *reason)
{
    (void)name;
    return on_failure_read (value, &self->on_failure, reason);
}

static bool read_callback (struct policy *self, const char *name, const json_t *value,
                           struct reason *reason)
{
    (void)name;
    self->callback = value;
    return self->stored || callback_rule_check (value, reason); // it may be masked then
}

static bool read_log (struct policy *self, const char *name, const json_t *value,
                      struct reason *reason)
{
    static const char *const words[] = {[LOG_TRANS] = "trans",
                                        [LOG_OUTCOME] = "outcome",
                                        [LOG_TRIGGER] = "trigger",
                                        [LOG_NONE] = "none"};
    int word = word_of (words, LOG_NONE + 1, value);
    self->log = (enum log_mode)word;
    if (word >= 0)
        return true;
    reason_set (reason, "%s: want none, trigger, outcome or trans", name);
    return false;
}

static bool read_priority (struct policy *self, const char *name, const json_t *value,
                           struct reason *reason)
{
    self->priority = json_integer_value (value);
    if (json_is_integer (value) && self->priority >= 0 && self->priority <= PRIORITY_MAX)
        return true;
    reason_set (reason, "%s: want 0..%d", name, PRIORITY_MAX);
    return false;
}

// A name that goes into keys and lists.
static bool read_name (const char *name, const json_t *value, bool stored,
                       char ret[POLICY_NAME_MAX + 1], struct reason *reason)
{
    static const char letters[] =
        ":ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    const char *allowed = letters + !stored; // the station's own groups have the colon
    const char *text = json_string_value (value);
    size_t size = json_string_length (value);
    if (text && size >= 1 && size <= POLICY_NAME_MAX && strspn (text, allowed) == size) {
        memcpy (ret, text, size + 1);
        return true;
    }
    reason_set (reason, "%s: want 1..%d of A-Z a-z 0-9 _ . -", name, POLICY_NAME_MAX);
    return false;
}

static bool read_group (struct policy *self, const char *name, const json_t *value,
                        struct reason *reason)
{
    return read_name (name, value, self->stored, self->group, reason);
}

static bool read_kind (struct policy *self, const char *name, const json_t *value,
                       struct reason *reason)
{
    return read_name (name, value, false, self->kind, reason);
}

static bool read_text (struct policy *self, const char *name, const json_t *value,
                       struct reason *reason)
{
    (void)self;
    size_t size = json_string_length (value);
    if (json_is_string (value) && size >= 1 && size <= POLICY_TEXT_MAX)
        return true;
    reason_set (reason, "%s: want a string of 1..%d bytes", name, POLICY_TEXT_MAX);
    return false;
}

static bool read_key (struct policy *self, const char *name, const json_t *value,
                      struct reason *reason)
{
    if (!read_text (self, name, value, reason))
        return false;
    memcpy (self->key, json_string_value (value), json_string_length (value) + 1);
    return true;
}

// Of tenant and creator: a number, or a name.
static bool read_tenant_or_creator (struct policy *self, const char *name, const json_t *value,
                                    struct reason *reason)
{
    size_t size = json_string_length (value);
    (void)self;
    if (json_is_integer (value) || (json_is_string (value) && size >= 1 && size <= POLICY_TEXT_MAX))
        return true;
    reason_set (reason, "%s: want an integer, or a string of 1..%d bytes", name, POLICY_TEXT_MAX);
    return false;
}

static bool read_ext (struct policy *self, const char *name, const json_t *value,
                      struct reason *reason)
{
    (void)self;
    if (json_is_object (value) && json_depth (value) <= POLICY_DEPTH_MAX)
        return true;
    reason_set (reason, "%s: want an object, nested %d deep at most", name, POLICY_DEPTH_MAX);
    return false;
}

// An invalid one is omitted: it is no reason to run nothing.
static bool read_traceparent (struct policy *self, const char *name, const json_t *value,
                              struct reason *reason)
{
    (void)name, (void)reason;
    struct span text = span_of (json_string_value (value), json_string_length (value));
    self->trace_dropped = !trace_valid (text);
    if (!self->trace_dropped)
        memcpy (self->traceparent, text.data, text.size);
    return true;
}

static bool read_if_exists (struct policy *self, const char *name, const json_t *value,
                            struct reason *reason)
{
    static const char *const words[] = {[EXISTS_KEEP] = "keep",
                                        [EXISTS_UPDATE] = "update",
                                        [EXISTS_REPLACE] = "replace",
                                        [EXISTS_REFUSE] = "refuse"};
    int word = word_of (words, EXISTS_REFUSE + 1, value);
    self->if_exists = (enum if_exists)word;
    if (word >= 0)
        return true;
    reason_set (reason, "%s: want keep, update, replace or refuse", name);
    return false;
}

// -- the table

enum about { ABOUT_RUNS, ABOUT_WHEN, ABOUT_NAME, ABOUT_FLOW };

static const struct policy_field {
    const char *name;
    policy_read_fn *read;
    enum about about;
} fields[] = {
#define FIELD(name, read, about, stored) {#name, read, ABOUT_##about},
#include "policy_fields.def"
};

enum { FIELDS = sizeof fields / sizeof *fields };

static const struct policy_field *field_named (const char *name)
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
    if (!self->end_time || self->end_time >= self->start_time)
        return true;
    reason_set (reason, "end_time: is before start_time");
    return false;
}

static struct policy *read_all (const json_t *object, bool stored, struct reason *reason)
{
    const char *name;
    json_t *value;
    struct policy *self = calloc (1, sizeof *self); // libzplan reads it too, which may not abort
    if (!self || !(self->fields = json_object ())) {
        reason_set (reason, "out of memory");
        policy_destroy (&self);
        return NULL;
    }
    self->stored = stored;
    json_object_foreach ((json_t *)object, name, value)
    {
        const struct policy_field *field = field_named (name);
        if (!field)
            reason_set (reason, "%s: unknown field", quoted (span_text (name)));
        if (!field || !field->read (self, name, value, reason)) {
            policy_destroy (&self);
            return NULL;
        }
        if (field->read == read_traceparent && self->trace_dropped)
            continue;
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

struct policy *policy_read (const json_t *object, struct reason *reason)
{
    return read_all (object, false, reason);
}

bool policy_read_from (const json_t *object, struct policy **ret, struct reason *reason)
{
    json_t *own = json_object ();
    for (size_t i = 0; i < FIELDS; i++) {
        json_t *value = json_object_get (object, fields[i].name);
        if (value)
            json_object_set (own, fields[i].name, value);
    }
    policy_show (own);
    *ret = json_object_size (own) ? read_all (own, true, reason) : NULL;
    bool read = *ret || json_object_size (own) == 0;
    json_decref (own);
    return read;
}

// -- kinds

struct policy *policy_read_kind (const json_t *object, struct reason *reason)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)object, name, value)
    {
        const struct policy_field *field = field_named (name);
        if (field && field->about != ABOUT_RUNS) {
            reason_set (reason, "%s: belongs to a plan, not to a kind", name);
            return NULL;
        }
    }
    return policy_read (object, reason);
}

struct policy *policy_lay_over (const char *name, const json_t *kind, const struct policy *self,
                                struct reason *reason)
{
    struct policy *alone = policy_read_kind (kind, reason);
    if (!alone)
        return NULL;
    policy_destroy (&alone);
    json_t *both = json_copy ((json_t *)kind);
    json_object_set_new (both, "kind", json_string (name));
    if (self)
        json_object_update (both, self->fields);
    struct policy *whole = policy_read (both, reason);
    json_decref (both);
    return whole;
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

bool policy_same_but_workers (const struct policy *self, const struct policy *other)
{
    for (size_t i = 0; i < FIELDS; i++) {
        const json_t *one = value_of (self, fields[i].name);
        const json_t *two = value_of (other, fields[i].name);
        if (fields[i].read != read_workers && one != two &&
            !json_equal ((json_t *)one, (json_t *)two))
            return false;
    }
    return true;
}

const char *policy_flow_field (const struct policy *self)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].about == ABOUT_FLOW && value_of (self, fields[i].name))
            return fields[i].name;
    return NULL;
}

int64_t policy_cycle (const struct policy *self)
{
    if (!self)
        return 0;
    if (self->cycle.count)
        return (int64_t)self->cycle.count;
    return self->runs ? self->runs : self->iteration ? 1 : 0;
}

struct span policy_key (const struct policy *self)
{
    return self ? span_text (self->key) : (struct span){0};
}

struct run_place policy_place (int64_t count, int64_t cycle)
{
    if (count < 1)
        return (struct run_place){0};
    return (struct run_place){(count - 1) / cycle + 1, (count - 1) % cycle + 1};
}
