// What clients and targets see, and what befalls.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "judge_private.h"
#include "memory.h"

// -- what befalls

static void lose (struct judge *self)
{
    self->lost_us = self->now_us;
    self->exec_id = 0;
    self->last[0] = '\0';
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
    plan->dispatched = plan->before = 0; // with the clock set back, numbers restart
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
    self->last[0] = '\0';
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

void judge_overtaken (struct judge *self, int process)
{
    judge_find (self, "batches_have_no_hole", "of process %d more is applied than it has sent",
                process);
}

void losses_are_reported (struct judge *self, int process, bool lost)
{
    if (!lost && self->processes[process].must_report)
        judge_find (self, __func__, "process %d knew of what is lost, and reports nothing",
                    process);
    // By a station that was away for a while, too: who took over meanwhile may not know of it.
    if (lost && self->now_us - self->lost_us > 60 * SECOND_US)
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
    plan->requested = true;
    plan->removed = false;
}

void effects_follow_their_batch (struct judge *self, bool applied, const char *what, uint64_t id)
{
    if (!applied)
        judge_find (self, __func__, "%s of %" PRIx64 " is not written", what, id);
}

struct span judge_message (const struct judge *self, const struct judged_plan *plan)
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
    plan->lost = plan->lost || (self->now_us - self->lost_us < LATE_US);
}

void judge_changed (struct judge *self, uint64_t id, int64_t version)
{
    struct judged_plan *plan = judge_plan (self, id);
    if (!plan || self->now_us - self->lost_us < LATE_US)
        return;
    struct span message = judge_message (self, plan);
    effects_follow_their_batch (
        self, !message.size || judge_number (message, "version") >= version || plan->edited,
        "the change", id);
    if (version > plan->version)
        plan->version = version;
}

void judge_removing (struct judge *self, uint64_t id)
{
    struct judged_plan *plan = judge_plan (self, id);
    if (!plan)
        return;
    plan->removing = true;
    plan->requested = false;
}

void judge_removed (struct judge *self, uint64_t id)
{
    struct judged_plan *plan = judge_plan (self, id);
    if (plan && !plan->requested && self->now_us - self->lost_us >= LATE_US)
        plan->removed = true;
}

// A command that reads was answered.
void judge_shown (struct judge *self, int process, uint64_t id, int64_t version)
{
    struct judged_plan *plan = judge_plan (self, id);
    dispatches_have_a_lease (self, process, id);
    if (plan && !plan->edited && version < plan->version && self->now_us - self->lost_us >= LATE_US)
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

void judge_doubted (struct judge *self, uint64_t id)
{
    struct judged_plan *plan = judge_plan (self, id);
    if (!plan)
        return;
    plan->moved_us = self->now_us;
    plan->excused = plan->dispatched;
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

bool judge_limits (const struct judge *self, const struct judged_limit *limit, struct span member,
                   int target)
{
    struct span class;
    if (limit->name[0] == 's')
        return strcmp (limit->name + 2, judge_targets[target]) == 0;
    if (!redis_data_get (self->data, span_text ("plan:class"), member, &class))
        return false;
    const uint8_t *colon = memchr (class.data, ':', class.size);
    size_t at = colon ? (size_t)(colon - class.data) + 1 : class.size;
    return span_is (span_of (class.data + at, class.size - at), limit->name + 2);
}

struct counting {
    struct judge *self;
    int64_t counts[16];
};

// What moved to another class, or went on when it was in doubt, may be one too many.
static void count_run (void *owner, struct span member, struct span run, int64_t score_us)
{
    struct counting *counting = owner;
    struct judge *self = counting->self;
    int target;
    uint64_t id;
    (void)score_us;
    if (!judge_member (member, &target, &id) || !run.size || run.data[0] < '1' ||
        run.data[0] > '9' || memchr (run.data, '?', run.size))
        return;
    const struct judged_plan *plan = judge_plan (self, id);
    if ((plan && plan->moved_us >= plan->taken_us) ||
        redis_data_score (self->data, span_text ("plan:time:set"), member) <
            self->redis_us + 2 * CLOCKS_US)
        return; // its lease is over, or nearly
    for (size_t i = 0; i < self->limit_count; i++)
        counting->counts[i] += judge_limits (self, &self->limits[i], member, target);
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
    self->calm_us = INT64_MAX;
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
