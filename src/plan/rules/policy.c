// The fields are one table, policy_fields.def; policy_when.c reads those for schedules.
#include "policy.h"

#include <stddef.h>
#include <stdlib.h>

#include "callback_rule.h"
#include "json.h"
#include "json_fields.h"
#include "flow_defaults.h"
#include "policy_private.h"
#include "retry_rule.h"

enum { YEAR_S = 31536000, DAY_S = 86400, PRIORITY_MAX = 255 };

// -- fields with rules of their own

// Read `misfire`: a word, or how many of the newest missed occurrences run.
static bool read_misfire (void *policy, const json_t *value, struct reason *reason)
{
    enum { KEEP_MAX = 1000 };
    static const struct {
        const char *word;
        enum misfire misfire;
    } words[] = {{"skip", MISFIRE_SKIP}, {"all", MISFIRE_ALL}, {"latest", MISFIRE_NEWEST}};
    struct policy *self = policy;
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
    return reason_reject (reason, "want skip, latest, all, or how many of the newest: 1..%d",
                          KEEP_MAX);
}

static bool read_callback (void *policy, const json_t *value, struct reason *reason)
{
    struct policy *self = policy;
    self->callback = value;
    // A stored rule may be masked.
    return self->stored || callback_rule_check (NULL, value, reason);
}

// Read a name that becomes a part of Redis keys. `more`: characters allowed besides the usual ones.
static bool read_policy_name (const json_t *value, const char *more, char ret[POLICY_NAME_MAX + 1],
                              struct reason *reason)
{
    struct span name = json_span (value);
    if (name_valid_with (name, more)) {
        memcpy (ret, name.data, name.size + 1);
        return true;
    }
    return reason_reject (reason, "want 1..%d of A-Z a-z 0-9 _ . -", POLICY_NAME_MAX);
}

// Read `group`. Only groups that the station itself makes contain a colon.
static bool read_group_field (void *policy, const json_t *value, struct reason *reason)
{
    struct policy *self = policy;
    return read_policy_name (value, self->stored ? ":" : "", self->group, reason);
}

static bool read_kind_field (void *kind, const json_t *value, struct reason *reason)
{
    return read_policy_name (value, "", kind, reason);
}

// Check `tenant` or `creator`: a number, or a name.
static bool check_owner (void *none, const json_t *value, struct reason *reason)
{
    size_t size = json_string_length (value);
    (void)none;
    if (json_is_integer (value) || (json_is_string (value) && size >= 1 && size <= POLICY_TEXT_MAX))
        return true;
    return reason_reject (reason, "want an integer, or a string of 1..%d bytes", POLICY_TEXT_MAX);
}

// Check `ext`: an object of any members, bounded in depth.
static bool check_ext (void *none, const json_t *value, struct reason *reason)
{
    (void)none;
    if (json_is_object (value) && json_depth (value) <= POLICY_DEPTH_MAX)
        return true;
    return reason_reject (reason, "want an object, nested %d deep at most", POLICY_DEPTH_MAX);
}

// Check `params`: an object, or a text of lines NAME = EXPRESSION. The station checks names and
// types of params, as it knows the flow.
static bool policy_check_params (void *none, const json_t *value, struct reason *reason)
{
    enum { PARAMS_TEXT_MAX = 65536 };
    size_t size = json_string_length (value);
    (void)none;
    if (json_is_string (value) && size >= 1 && size <= PARAMS_TEXT_MAX)
        return true;
    if (json_is_object (value) && json_depth (value) <= POLICY_DEPTH_MAX)
        return true;
    return reason_reject (reason,
                          "want an object, nested %d deep at most, or lines NAME = EXPRESSION",
                          POLICY_DEPTH_MAX);
}

static bool policy_read_batch (void *policy, const json_t *value)
{
    enum { BATCH_TEXT_MAX = 64 };
    struct policy *self = policy;
    size_t size = json_string_length (value);
    self->has_batch = json_is_string (value) && size >= 1 && size <= BATCH_TEXT_MAX;
    return self->has_batch;
}

// Read `traceparent`. An invalid one is dropped, as it must not prevent the plan from running.
static bool read_traceparent (void *policy, const json_t *value)
{
    struct policy *self = policy;
    struct span text = json_span (value);
    self->trace_dropped = !trace_valid (text);
    if (!self->trace_dropped)
        memcpy (self->traceparent, text.data, text.size);
    return true;
}

// -- the table

enum about { ABOUT_RUNS, ABOUT_WHEN, ABOUT_NAME, ABOUT_FLOW };

static const char *const overlaps[] = {[OVERLAP_SKIP] = "skip", [OVERLAP_QUEUE] = "queue"};
static const char *const logs[] = {[LOG_TRANS] = "trans",
                                   [LOG_OUTCOME] = "outcome",
                                   [LOG_TRIGGER] = "trigger",
                                   [LOG_NONE] = "none"};
static const char *const exists[] = {[EXISTS_KEEP] = "keep",
                                     [EXISTS_UPDATE] = "update",
                                     [EXISTS_REPLACE] = "replace",
                                     [EXISTS_REFUSE] = "refuse"};

static const struct policy_field {
    struct json_field field;
    enum about about;
} fields[] = {
#define AT(member)                      offsetof (struct policy, member)
#define FIELD(name, stored, about, ...) {{#name, __VA_ARGS__}, ABOUT_##about},
#include "policy_fields.def"
};

enum { FIELDS = sizeof fields / sizeof *fields };

static const struct policy_field *policy_field_named (const char *name)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].field.name[0] == name[0] && strcmp (fields[i].field.name, name) == 0)
            return &fields[i];
    return NULL;
}

bool policy_field (const char *name)
{
    return policy_field_named (name) != NULL;
}

// -- references, and reading a policy

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

static bool check_start_and_end (const struct policy *self, struct reason *reason)
{
    if (!self->end_time || self->end_time >= self->start_time)
        return true;
    return reason_reject (reason, "end_time: is before start_time");
}

// Read and check a policy from an object without other members. NULL with a reason.
static struct policy *read_policy_fields (const json_t *object, bool stored, struct reason *reason)
{
    const char *name;
    json_t *value;
    struct policy *self = calloc (1, sizeof *self); // memory_new would abort, libzplan must not
    if (!self || !(self->fields = json_object ())) {
        reason_set (reason, "out of memory");
        policy_destroy (&self);
        return NULL;
    }
    self->stored = stored;
    json_object_foreach ((json_t *)object, name, value)
    {
        const struct policy_field *field = policy_field_named (name);
        if (!field)
            reason_set (reason, "%s: unknown field", quoted (span_text (name)));
        if (!field || !json_field_read (&field->field, value, self, reason)) {
            policy_destroy (&self);
            return NULL;
        }
        if (field->field.read == read_traceparent && self->trace_dropped)
            continue;
        if (json_object_set (self->fields, name, value)) {
            reason_set (reason, "out of memory");
            policy_destroy (&self);
            return NULL;
        }
    }
    if (!check_start_and_end (self, reason))
        policy_destroy (&self);
    return self;
}

struct policy *policy_read (const json_t *object, struct reason *reason)
{
    return read_policy_fields (object, false, reason);
}

bool policy_read_from (const json_t *object, struct policy **ret, struct reason *reason)
{
    json_t *own = json_object ();
    for (size_t i = 0; i < FIELDS; i++) {
        json_t *value = json_object_get (object, fields[i].field.name);
        if (value)
            json_object_set (own, fields[i].field.name, value);
    }
    policy_restore_objects (own);
    *ret = json_object_size (own) ? read_policy_fields (own, true, reason) : NULL;
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
        const struct policy_field *field = policy_field_named (name);
        if (field && field->about != ABOUT_RUNS) {
            reason_set (reason, "%s: belongs to a plan, not to a kind", name);
            return NULL;
        }
    }
    return policy_read (object, reason);
}

struct policy *policy_merge_kind (const char *name, const json_t *kind, const struct policy *self,
                                  struct reason *reason)
{
    struct policy *kind_policy = policy_read_kind (kind, reason);
    if (!kind_policy)
        return NULL;
    policy_destroy (&kind_policy);
    json_t *merged = json_copy ((json_t *)kind);
    json_object_set_new (merged, "kind", json_string (name));
    if (self)
        json_object_update (merged, self->fields);
    struct policy *result = policy_read (merged, reason);
    json_decref (merged);
    return result;
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

static const json_t *policy_value (const struct policy *self, const char *name)
{
    return self ? json_object_get (self->fields, name) : NULL;
}

// Whether this field has the same value in both, or is in neither.
static bool has_same_value (const struct policy *self, const struct policy *other, const char *name)
{
    const json_t *own_value = policy_value (self, name), *other_value = policy_value (other, name);
    return own_value == other_value || json_equal (own_value, other_value);
}

bool policy_same_schedule (const struct policy *self, const struct policy *other)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].about == ABOUT_WHEN && !has_same_value (self, other, fields[i].field.name))
            return false;
    return true;
}

bool policy_same_but_workers (const struct policy *self, const struct policy *other)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].field.read_with_reason != workers_rule_read &&
            !has_same_value (self, other, fields[i].field.name))
            return false;
    return true;
}

const char *policy_flow_field (const struct policy *self)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].about == ABOUT_FLOW && policy_value (self, fields[i].field.name))
            return fields[i].field.name;
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

struct run_place policy_run_place (int64_t count, int64_t cycle)
{
    if (count < 1)
        return (struct run_place){0};
    return (struct run_place){(count - 1) / cycle + 1, (count - 1) % cycle + 1};
}
