#include "cron.h"

#include <stdio.h>
#include <stdlib.h>

#include "cron_parse.h"
#include "cron_rule.h"

struct cron {
    size_t count;
    struct cron_rule rules[];
};

static int read_expression (struct span text, const char *name, struct cron_rule *ret,
                            struct reason *reason)
{
    if (text.size > CRON_TEXT_MAX)
        return reason_set (reason, "%s: at most %d bytes, got %zu", name, CRON_TEXT_MAX, text.size);
    if (cron_parse (text, name, ret, reason))
        return -1;
    if (!cron_rule_can_match (ret))
        return reason_set (reason, "%s: can never match", name);
    return 0;
}

struct cron *cron_new (const struct span *expressions, size_t count, struct reason *reason)
{
    if (count == 0 || count > CRON_EXPRESSIONS_MAX) {
        reason_set (reason, "cron: want 1..%d expressions, got %zu", CRON_EXPRESSIONS_MAX, count);
        return NULL;
    }
    struct cron *self = calloc (1, sizeof *self + count * sizeof *self->rules);
    if (!self) {
        reason_set (reason, "cron: out of memory");
        return NULL;
    }
    self->count = count;
    for (size_t i = 0; i < count; i++) {
        char name[16] = "cron";
        if (count > 1)
            snprintf (name, sizeof name, "cron %zu", i + 1);
        if (read_expression (expressions[i], name, &self->rules[i], reason)) {
            cron_destroy (&self);
            return NULL;
        }
    }
    return self;
}

void cron_destroy (struct cron **self)
{
    free (*self);
    *self = NULL;
}

// The nearest time that matches any of the expressions.
static int64_t find_local (const void *cron, int64_t local, enum wall_step step)
{
    const struct cron *self = cron;
    int64_t found = step == WALL_AHEAD ? INT64_MAX : INT64_MIN;
    for (size_t i = 0; i < self->count; i++) {
        int64_t each = cron_rule_find (&self->rules[i], local, step);
        if (step == WALL_AHEAD ? each < found : each > found)
            found = each;
    }
    return found;
}

struct wall_rule cron_wall_rule (const struct cron *self)
{
    return (struct wall_rule){self, find_local};
}

bool cron_next (const struct cron *self, const struct zone *zone, enum zone_gap gap,
                enum zone_overlap overlap, int64_t from, int64_t *ret)
{
    struct wall wall = {zone, gap, overlap, cron_wall_rule (self), {0, 0, 0}};
    return wall_next (&wall, from, ret);
}
