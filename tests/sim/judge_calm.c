// What holds when nothing befalls anybody.
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "judge_private.h"
#include "memory.h"

// -- what is due

// A limit of a plan, which allowed a run since then, may keep it waiting.
static bool is_limited (const struct judge *self, struct span member, int target, int64_t since_us)
{
    for (size_t i = 0; i < self->limit_count; i++)
        if (self->limits[i].taken_us >= since_us &&
            judge_limits (self, &self->limits[i], member, target))
            return true;
    return false;
}

// What is not where a station looks for it is found late, when it compares what is due.
void runs_begin_soon (struct judge *self, struct span member, int target, int64_t score_us)
{
    enum { SETTLED_US = 20 * SECOND_US, SOON_US = 300000 };
    if (self->calm_us == INT64_MAX || score_us < self->calm_us + SETTLED_US ||
        self->redis_us - score_us < SOON_US || is_limited (self, member, target, INT64_MIN))
        return;
    judge_find (self, "due_plans_run", "%.*s began %" PRId64 " ms after its time", (int)member.size,
                (const char *)member.data, (self->redis_us - score_us) / 1000);
}

struct due {
    struct judge *self;
    const int64_t *up_us;
};

static void see_due (void *owner, struct span member, struct span value, int64_t score_us)
{
    enum { PATIENCE_US = 25 * SECOND_US, STUCK_US = 10 * SECOND_US };
    const struct due *due = owner;
    struct judge *self = due->self;
    struct span message;
    int target;
    uint64_t id;
    (void)value;
    if (score_us > self->redis_us - PATIENCE_US || !judge_member (member, &target, &id) ||
        due->up_us[target] > self->now_us - PATIENCE_US)
        return;
    if (!redis_data_get (self->data, member, span_text (""), &message) ||
        is_limited (self, member, target, self->now_us - STUCK_US))
        return;
    judge_find (self, "due_plans_run", "%.*s has been due for %" PRId64 " ms", (int)member.size,
                (const char *)member.data, (self->redis_us - score_us) / 1000);
}

void due_plans_run (struct judge *self, const int64_t *up_us)
{
    struct due due = {self, up_us};
    redis_data_each (self->data, "plan:time:set", see_due, &due);
}

static void see_kept (struct table_node *node, void *owner)
{
    struct judge *self = owner;
    struct judged_plan *plan = (struct judged_plan *)node;
    char member[64], entry[64];
    judge_member_text (plan, member);
    struct span message = judge_message (self, plan);
    bool wanted =
        plan->submitted && !plan->lost && !plan->edited && !plan->may_end && !plan->removing;
    snprintf (entry, sizeof entry, "%016" PRIx64 ":%s", plan->id, judge_targets[plan->target]);
    if (wanted && !message.size)
        judge_find (self, "plans_are_kept", "%s is gone", member);
    if (message.size && !plan->edited && plan->removed && !plan->lost)
        judge_find (self, "plans_are_kept", "%s was removed, and is there", member);
    if (message.size && !plan->edited && !plan->removed &&
        redis_data_score (self->data, span_text ("plan:ids"), span_text (entry)) < 0)
        judge_find (self, "records_are_whole", "%s is not in plan:ids", member);
    if (message.size && !plan->edited &&
        redis_data_score (self->data, span_text ("plan:time:set"), span_text (member)) < 0 &&
        judge_number (message, "paused") == 0)
        judge_find (self, "plans_are_kept", "%s is in no queue, and not paused", member);
    if (message.size && !plan->edited && judge_number (message, "version") < plan->version)
        judge_find (self, "changes_stay",
                    "of %s version %" PRId64 " is there, and %" PRId64 " acknowledged", member,
                    judge_number (message, "version"), plan->version);
    plan->calms = message.size ? 0 : plan->calms + 1;
    if (plan->calms > 2) {
        for (size_t i = 0; i < UNDONES; i++)
            for (size_t k = 0; k < self->undones[i].count; k++)
                if (self->undones[i].at[k].plan == plan)
                    return;
        table_remove (&self->plans, &plan->node);
        free (plan);
    }
}

void plans_are_kept (struct judge *self)
{
    table_each (&self->plans, see_kept, self);
}

// Members of this key are of plans that are there.
static void see_member (void *owner, struct span member, struct span value, int64_t score_us)
{
    struct judge *self = owner;
    struct span message;
    int target;
    uint64_t id;
    (void)value, (void)score_us;
    struct judged_plan *plan = judge_member (member, &target, &id) ? judge_plan (self, id) : NULL;
    if (plan && !plan->edited && self->now_us - self->lost_us > 20 * SECOND_US &&
        !redis_data_get (self->data, member, span_text (""), &message))
        judge_find (self, "records_are_whole", "%.*s is left of a plan (%.*s)", (int)member.size,
                    (const char *)member.data, (int)value.size,
                    value.size ? (const char *)value.data : "");
}

static void count_entry (void *owner, struct span member, struct span value, int64_t score_us)
{
    int64_t *counts = owner;
    int target;
    uint64_t id;
    (void)value, (void)score_us;
    if (judge_member (member, &target, &id))
        counts[target]++;
}

void records_are_whole (struct judge *self)
{
    int64_t counts[JUDGE_TARGETS] = {0};
    struct span text;
    char field[16];
    redis_data_each (self->data, "plan:time:set", see_member, self);
    redis_data_each (self->data, "plan:run", see_member, self);
    redis_data_each (self->data, "plan:class", see_member, self);
    redis_data_each (self->data, "plan:ids", count_entry, counts);
    for (int i = 0; i < JUDGE_TARGETS; i++) {
        snprintf (field, sizeof field, "s:%s", judge_targets[i]);
        redis_data_get (self->data, span_text ("plan:count"), span_text (field), &text);
        int64_t counted = text.size ? strtoll ((const char *)text.data, NULL, 10) : 0;
        if (counted != counts[i])
            judge_find (self, __func__,
                        "%s is %" PRId64 " in plan:count, and has %" PRId64 " plans", field,
                        counted, counts[i]);
    }
}

void bounds_hold (struct judge *self)
{
    enum { PLANS = 6000 + 256, MEMORY = 400 << 20 };
    if (redis_data_count (self->data, "plan:ids") > PLANS)
        judge_find (self, __func__, "there are %zu plans",
                    redis_data_count (self->data, "plan:ids"));
    if (mallinfo2 ().uordblks > MEMORY)
        judge_find (self, __func__, "%zu MiB are in use", mallinfo2 ().uordblks >> 20);
}

void judge_calm_begins (struct judge *self)
{
    self->calm_us = self->redis_us;
}

void judge_calm (struct judge *self, const int64_t *up_us)
{
    self->calm_us = INT64_MAX;
    due_plans_run (self, up_us);
    plans_are_kept (self);
    records_are_whole (self);
    bounds_hold (self);
}
