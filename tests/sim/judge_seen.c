// What clients and targets see, and what befalls; and what holds when all is calm.
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "judge_private.h"
#include "memory.h"

// -- what befalls

static void lose (struct judge *self)
{
    /*DBG*/ if (getenv ("SIM_TRACE"))
        printf ("%f data lost, step %d\n", (double)self->now_us / 1e6, (int)self->step); /*GBD*/
    self->lost_us = self->now_us;
    self->lost_since_take = true;
    self->exec_id = 0;
}

static void see_if_lost (struct table_node *node, void *owner)
{
    struct judged_plan *plan = (struct judged_plan *)node;
    const struct judge *self = owner;
    char member[64];
    struct span message;
    judge_member_text (plan, member);
    bool there = redis_data_get (self->data, span_text (member), span_text (""), &message);
    plan->lost = plan->lost || !there;
    int64_t version = there ? judge_number (message, "version") : 0;
    if (plan->version > version)
        plan->version = version;
    plan->removed = plan->removed && !there;
    if (!there)
        plan->ended = 0;
}

void judge_back (struct judge *self, size_t steps)
{
    int64_t after = self->undones[(self->step - steps) % UNDONES].tx;
    for (; steps; steps--, self->step--) {
        struct undone_step *step = &self->undones[self->step % UNDONES];
        for (size_t i = step->count; i > 0; i--)
            step->at[i - 1].plan->ended = step->at[i - 1].ended;
        step->count = 0;
    }
    for (size_t i = 0; i < self->process_room; i++) {
        struct judged_process *process = &self->processes[i];
        bool knows = process->effect_tx > after && (int)i == self->owner;
        process->must_report = process->must_report || knows;
        if (process->effect_tx > after)
            process->effect_tx = after;
    }
    lose (self);
    table_each (&self->plans, see_if_lost, self);
}

void judge_clock_set (struct judge *self)
{
    self->clock_us = self->now_us;
}

void judge_flushed (struct judge *self)
{
    lose (self);
    table_each (&self->plans, see_if_lost, self);
}

void judge_disowned (struct judge *self)
{
    self->lost_us = self->now_us;
    self->lost_since_take = true;
}

// -- processes

void judge_started (struct judge *self, int process, int former)
{
    size_t room = self->process_room;
    if ((size_t)process >= room) {
        self->process_room = 2 * room + 16;
        self->processes =
            memory_resize (self->processes, self->process_room * sizeof *self->processes);
        memset (self->processes + room, 0, (self->process_room - room) * sizeof *self->processes);
    }
    self->processes[process] = (struct judged_process){.former = former};
}

void judge_died (struct judge *self, int process)
{
    self->processes[process].dead = true;
    self->processes[process].must_report = false;
}

void losses_are_reported (struct judge *self, int process, bool lost)
{
    if (!lost && self->processes[process].must_report)
        judge_find (self, __func__, "process %d knew of what is lost, and reports nothing",
                    process);
    if (lost && !self->lost_since_take)
        judge_find (self, __func__, "process %d reports a loss, and there was none", process);
}

void judge_serves (struct judge *self, int process, bool lost)
{
    losses_are_reported (self, process, lost);
    self->processes[process].must_report = false;
}

static void see_effect (struct judge *self, int process, int64_t tx)
{
    if (tx > self->processes[process].effect_tx)
        self->processes[process].effect_tx = tx;
}

// -- clients

void judge_requested (struct judge *self, uint64_t id, int target)
{
    struct judged_plan *plan = judge_plan (self, id);
    if (!plan) {
        plan = memory_new (sizeof *plan);
        plan->id = id;
        table_add (&self->plans, &plan->node, table_hash_number (id));
        plan->edited_us = INT64_MIN / 2;
    }
    plan->target = target;
    plan->calms = 0;
}

void effects_follow_their_batch (struct judge *self, bool applied, const char *what, uint64_t id)
{
    if (!applied)
        judge_find (self, __func__, "%s of %" PRIx64 " is not written", what, id);
}

static struct span message_of (const struct judge *self, const struct judged_plan *plan)
{
    char member[64];
    struct span message;
    judge_member_text (plan, member);
    redis_data_get (self->data, span_text (member), span_text (""), &message);
    return message;
}

void judge_submitted (struct judge *self, uint64_t id)
{
    struct judged_plan *plan = judge_plan (self, id);
    // One that was removed within the same batch leaves no rows.
    bool applied = plan && (plan->created_tx || plan->removing);
    effects_follow_their_batch (self, applied, "the submission", id);
    if (!plan)
        return;
    plan->submitted = true;
    plan->removed = false;
    plan->lost = plan->lost || (self->now_us - self->lost_us < 5 * SECOND_US);
}

void judge_changed (struct judge *self, uint64_t id, int64_t version)
{
    struct judged_plan *plan = judge_plan (self, id);
    if (!plan || self->now_us - self->lost_us < 5 * SECOND_US)
        return;
    struct span message = message_of (self, plan);
    effects_follow_their_batch (
        self, !message.size || judge_number (message, "version") >= version || plan->edited,
        "the change", id);
    if (version > plan->version)
        plan->version = version;
}

void judge_removing (struct judge *self, uint64_t id)
{
    struct judged_plan *plan = judge_plan (self, id);
    if (plan)
        plan->removing = true;
}

void judge_removed (struct judge *self, uint64_t id)
{
    struct judged_plan *plan = judge_plan (self, id);
    if (plan && self->now_us - self->lost_us >= 5 * SECOND_US)
        plan->removed = true;
}

// A command that reads was answered.
void judge_shown (struct judge *self, int process, uint64_t id, int64_t version)
{
    struct judged_plan *plan = judge_plan (self, id);
    dispatches_have_a_lease (self, process, id);
    if (plan && !plan->edited && version < plan->version &&
        self->now_us - self->lost_us >= 5 * SECOND_US)
        judge_find (self, "changes_stay",
                    "of %" PRIx64 " version %" PRId64 " was shown, and %" PRId64 " acknowledged",
                    id, version, plan->version);
}

void judge_edited (struct judge *self, uint64_t id)
{
    struct judged_plan *plan = judge_plan (self, id);
    if (!plan)
        return;
    plan->edited = true;
    plan->edited_us = self->now_us;
}

void judge_limit (struct judge *self, const char *name, int64_t limit)
{
    size_t i = 0;
    while (i < self->limit_count && strcmp (self->limits[i].name, name) != 0)
        i++;
    if (i == self->limit_count)
        snprintf (self->limits[self->limit_count++].name, sizeof self->limits[i].name, "%s", name);
    self->limits[i].limit = limit;
    self->limits[i].since_us = self->now_us;
}

// -- runs

void judge_dispatched (struct judge *self, int process, uint64_t id, uint64_t exec_id)
{
    struct judged_plan *plan = judge_plan (self, id);
    bool applied = plan && (plan->taken >= exec_id || plan->removing); // as above
    effects_follow_their_batch (self, applied, "a run", id);
    dispatches_have_a_lease (self, process, id);
    if (!plan)
        return;
    see_effect (self, process, plan->taken_tx);
    if (plan->dispatched >= exec_id && !judge_excuses (self, 20))
        judge_find (self, "exec_ids_grow", "%" PRIx64 " was sent as %" PRIu64 " and as %" PRIu64,
                    id, plan->dispatched, exec_id);
    plan->dispatched = exec_id;
    if (plan->taken >= exec_id && self->now_us - plan->taken_us > 700000 &&
        !judge_excuses (self, 30) && self->now_us - self->stalled_us > 10 * SECOND_US)
        judge_find (self, "effects_follow_their_batch",
                    "%" PRIx64 " was sent %" PRId64 " ms after its batch", id,
                    (self->now_us - plan->taken_us) / 1000);
}

void judge_answered (struct judge *self, uint64_t id, uint64_t exec_id, bool final)
{
    struct judged_plan *plan = judge_plan (self, id);
    (void)exec_id;
    if (plan && final)
        plan->may_end = true;
}

void judge_broadcast (struct judge *self, int process, const char *epoch, int64_t seq, uint64_t id,
                      uint64_t exec_id)
{
    (void)epoch;
    broadcasts_are_in_the_history (self, seq, id, exec_id);
    see_effect (self, process, self->broadcasts[seq % BROADCASTS].tx);
}

// -- limits

struct counting {
    struct judge *self;
    int64_t counts[16];
};

static void count_run (void *owner, struct span member, struct span run, int64_t score_us)
{
    struct counting *counting = owner;
    struct judge *self = counting->self;
    int target;
    uint64_t id;
    struct span class;
    char name[16], group[16] = "";
    (void)score_us;
    if (!judge_member (member, &target, &id) || !run.size || run.data[0] < '1' ||
        run.data[0] > '9' || memchr (run.data, '?', run.size))
        return;
    if (redis_data_score (self->data, span_text ("plan:time:set"), member) <
        self->redis_us + 2 * CLOCKS_US)
        return; // its lease is over, or nearly
    snprintf (name, sizeof name, "s:%s", judge_targets[target]);
    if (redis_data_get (self->data, span_text ("plan:class"), member, &class)) {
        const char *colon = memchr (class.data, ':', class.size);
        snprintf (group, sizeof group, "g:%s", colon ? colon + 1 : "");
    }
    for (size_t i = 0; i < self->limit_count; i++)
        counting->counts[i] +=
            strcmp (self->limits[i].name, name) == 0 || strcmp (self->limits[i].name, group) == 0;
}

void limits_hold (struct judge *self)
{
    struct counting counting = {.self = self};
    if (judge_excuses (self, 30))
        return;
    redis_data_each (self->data, "plan:run", count_run, &counting);
    for (size_t i = 0; i < self->limit_count; i++) {
        struct judged_limit *limit = &self->limits[i];
        struct span text;
        if (redis_data_get (self->data, span_text ("plan:limits"), span_text (limit->name), &text))
            limit->limit = strtoll ((const char *)text.data, NULL, 10);
        else if (limit->name[0] == 'g')
            continue;
        if (counting.counts[i] > limit->limit && self->now_us - limit->since_us > 30 * SECOND_US)
            judge_find (self, __func__, "%s has %" PRId64 " runs, and at most %" PRId64 " may be",
                        limit->name, counting.counts[i], limit->limit);
    }
}

// -- calm

struct due {
    struct judge *self;
    const int64_t *up_us;
};

static void see_due (void *owner, struct span member, struct span value, int64_t score_us)
{
    enum { PATIENCE_US = 25 * SECOND_US, STUCK_US = 10 * SECOND_US };
    const struct due *due = owner;
    struct judge *self = due->self;
    struct span class, message;
    int target;
    uint64_t id;
    (void)value;
    if (score_us > self->redis_us - PATIENCE_US || !judge_member (member, &target, &id) ||
        due->up_us[target] > self->now_us - PATIENCE_US)
        return;
    bool limited =
        target < JUDGE_LIMITED && self->limit_count && strncmp (self->limits[0].name, "s:", 2) == 0;
    if (redis_data_get (self->data, span_text ("plan:class"), member, &class) && class.size > 2)
        limited = true;
    if (!redis_data_get (self->data, member, span_text (""), &message) ||
        (limited && self->now_us - self->taken_us[target] < STUCK_US))
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
    struct span message = message_of (self, plan);
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

void judge_calm (struct judge *self, const int64_t *up_us)
{
    due_plans_run (self, up_us);
    plans_are_kept (self);
    records_are_whole (self);
    bounds_hold (self);
}

// -- life

void judge_time (struct judge *self, int64_t now_us, int64_t redis_us)
{
    self->now_us = now_us;
    self->redis_us = redis_us;
}

void judge_stalled (struct judge *self)
{
    self->stalled_us = self->now_us;
}

struct judge *judge_new (void)
{
    struct judge *self = memory_new (sizeof *self);
    self->lost_us = self->clock_us = self->stalled_us = INT64_MIN / 2;
    self->owner = -1;
    return self;
}

void judge_looks_at (struct judge *self, const struct redis_data *data)
{
    self->data = data;
}

static void free_node (struct table_node *node, void *owner)
{
    (void)owner;
    free (node);
}

void judge_destroy (struct judge **self_p)
{
    struct judge *self = *self_p;
    table_each (&self->plans, free_node, NULL);
    table_each (&self->tokens, free_node, NULL);
    table_free (&self->plans);
    table_free (&self->tokens);
    for (size_t i = 0; i < UNDONES; i++)
        free (self->undones[i].at);
    free (self->processes);
    free (self);
    *self_p = NULL;
}
