// Changes of a plan: submissions, ends and extensions of runs, admin changes, removals; and the
// outcomes of runs, their numbers, and which failures are broadcast.
#include <stdio.h>
#include <stdlib.h>

#include "core_private.h"
#include "memory.h"
#include "redis_keys.h"

// How long broadcast failures are remembered, and how many at most.
enum { FAILURES_US = 60000000, FAILURES_MAX = 100000 };

static void set_flight (struct core *self, struct open_plan *plan, enum flight flight)
{
    plan->flight = (uint8_t)flight;
    self->has_earlier = self->has_earlier || flight == FLIGHT_EARLIER;
    open_mark_written (self, plan, WRITE_RUN);
}

// Delete the keys of a plan with these prefixes, by a command: earlier writes to them in this batch
// are commands as well, and must come first.
static void delete_keys (struct core *self, const struct open_plan *plan, const char *const *starts)
{
    struct span words[4] = {span_text ("DEL")};
    size_t count = 1;
    for (; starts[count - 1]; count++)
        words[count] = key_of (self, starts[count - 1], plan);
    rows_add_command (self->gathering, words, count);
}

static const char *const answer_keys[] = {KEY_WORK, KEY_FAILED, NULL};
static const char *const team_keys[] = {KEY_TEAM, NULL};
static const char *const all_keys[] = {KEY_WORK, KEY_FAILED, KEY_TEAM, NULL};

// -- outcomes

// Add an outcome to the history. With `sub`, it is the `sub`th one after broadcast `seq` that is
// not broadcast itself.
static void add_outcome (struct core *self, const struct open_plan *plan, int64_t seq, int64_t sub,
                         int64_t now_us, struct span record, struct span output)
{
    struct rows *rows = self->gathering;
    if (!record.size || !self->bounds.outcomes)
        return;
    rows_add_outcome (rows, &(struct outcome_row){
                                .seq = seq,
                                .sub = sub,
                                .station = core_target_name (plan->target),
                                .plan_id = plan->id,
                                .ended_ms = now_us / 1000,
                                .record = rows_copy_text (rows, record),
                                .output = rows_copy_text (rows, output),
                            });
}

// Add an outcome without a broadcast, after the last broadcast.
static void add_unpublished (struct core *self, const struct open_plan *plan, int64_t now_us,
                             struct span record, struct span output)
{
    if (record.size)
        add_outcome (self, plan, self->seq, ++self->sub, now_us, record, output);
}

void core_outcome (struct core *self, struct span target, uint64_t id, int64_t ended_ms,
                   struct span record, struct span output)
{
    const struct open_plan plan = {.target = core_target_for (self, target), .id = id};
    add_unpublished (self, &plan, ended_ms * 1000, record, output);
}

// Assign the next broadcast number.
static int64_t assign_seq (struct core *self, int64_t now_us)
{
    if (!self->epoch[0] || self->seq == 0) {
        snprintf (self->epoch, sizeof self->epoch, "%llx%05llx",
                  (unsigned long long)(now_us / 1000000), (unsigned long long)(now_us % 1000000));
        self->new_epoch = true;
    }
    self->sub = 0;
    return ++self->seq;
}

const char *core_epoch (const struct core *self)
{
    return self->epoch;
}

int64_t core_seq (const struct core *self)
{
    return self->seq;
}

// -- failures, broadcast at most once a minute

// The failure of this plan that was broadcast lately; NULL: none was.
static struct broadcast_failure *find_broadcast_failure (const struct core *self,
                                                         const struct open_plan *plan)
{
    struct table_node *node = table_find (&self->failures, table_hash_number (plan->id));
    for (; node; node = table_next (node)) {
        struct broadcast_failure *failure = (struct broadcast_failure *)node; // first member
        if (failure->id == plan->id && strcmp (failure->target, plan->target->name) == 0)
            return failure;
    }
    return NULL;
}

// Whether to broadcast a failure of this plan, as none was within the last minute. If so, note it.
static bool allow_failure_broadcast (struct core *self, const struct open_plan *plan,
                                     int64_t now_us)
{
    for (struct broadcast_failure *failure;
         (failure = self->first_failure) &&
         (now_us - failure->at_us >= FAILURES_US || now_us < failure->at_us - FAILURES_US ||
          self->failures.count >= FAILURES_MAX);) {
        self->first_failure = failure->next;
        if (!failure->next)
            self->last_failure = &self->first_failure;
        table_remove (&self->failures, &failure->node);
        free (failure);
    }
    if (find_broadcast_failure (self, plan))
        return false;
    struct broadcast_failure *failure = memory_new (sizeof *failure + plan->target->name_size + 1);
    failure->id = plan->id;
    failure->at_us = now_us;
    memcpy (failure->target, plan->target->name, plan->target->name_size);
    table_add (&self->failures, &failure->node, table_hash_number (plan->id));
    *self->last_failure = failure;
    self->last_failure = &failure->next;
    return true;
}

// -- submissions

// Whether another plan would exceed a bound, which is returned in `ret`.
static bool reaches_bound (const struct core *self, const struct core_submission *submission,
                           struct core_refusal *ret)
{
    const struct core_bounds *bounds = &self->bounds;
    const struct core_target *target = core_find_target (self, submission->target);
    const struct plan_tally *caller = tally_find (&self->callers, submission->caller);
    const struct {
        const char *name;
        int64_t most, count;
    } rules[] = {{"max_plans", bounds->plans, self->plans},
                 {"max_plans_station", bounds->plans_station, target ? target->plans : 0},
                 {"max_plans_caller", bounds->plans_caller, caller ? caller->plans : 0}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rules[i].most || rules[i].count < rules[i].most)
            continue;
        ret->bound = rules[i].name;
        ret->most = rules[i].most;
        return true;
    }
    return false;
}

// Insert a new plan. The caller has checked that its id is free.
static void insert_plan (struct core *self, const struct core_submission *submission,
                         int64_t now_us)
{
    struct open_plan *plan =
        open_find_or_add (self, core_target_for (self, submission->target), submission->id);
    plan->gone = plan->earlier_may_answer = plan->queued = false;
    plan->placed = plan->team_known = true;
    plan->exec_id = 0;
    plan->flight = FLIGHT_NONE;
    open_set_message (self, plan, submission->message, submission->revision);
    open_set_class (self, plan, submission->priority, submission->group);
    open_mark_written (self, plan, WRITE_LISTED);
    if (!submission->made_here && !submission->first) { // a former plan may have left keys
        open_mark_written (self, plan, WRITE_RUN | WRITE_QUEUE);
        delete_keys (self, plan, all_keys);
    }
    if (submission->queued)
        open_queue (self, plan, submission->due_us);
    if (submission->made_here && submission->id > self->plan_id)
        self->plan_id = submission->id;
    self->plans++;
    plan->target->plans++;
    core_change_plan_count (self, 's', submission->target, 1);
    core_change_plan_count (self, 'c', submission->caller, 1);
    add_unpublished (self, plan, now_us, submission->missed, (struct span){0});
}

enum core_result core_submit (struct core *self, const struct core_submission *submission,
                              int64_t now_us, struct core_refusal *ret)
{
    *ret = (struct core_refusal){0};
    struct open_plan *plan = open_find_id (self, submission->id);
    bool forgotten = plan && !submission->made_here && !plan->message && !plan->batches;
    if (forgotten) { // its message was deleted by hand
        open_discharge (self, plan);
        heap_remove (&self->leases, &plan->lease);
        pull_drop_record (self, plan);
    }
    if (plan && !plan->gone && !forgotten)
        return CORE_IN_USE;
    if (reaches_bound (self, submission, ret))
        return CORE_FULL;
    plan = open_find_or_add (self, core_target_for (self, submission->target), submission->id);
    plan->submitted = !submission->is_required;
    if (plan->submitted)
        open_set_caller (plan, submission->caller);
    self->gathering->kinds |= plan->submitted ? ROWS_SUBMISSION : ROWS_RESULT;
    insert_plan (self, submission, now_us);
    return CORE_DONE;
}

void core_submit_internal (struct core *self, const struct core_submission *submission,
                           int64_t now_us)
{
    self->gathering->kinds |= ROWS_RESULT;
    insert_plan (self, submission, now_us);
}

uint64_t core_last_id (const struct core *self)
{
    return self->plan_id;
}

// -- ends and leases of runs

void open_set_waiting (struct core *self, const struct open_plan *plan, bool waits, int64_t now_us)
{
    struct rows *rows = self->gathering;
    char key[10 + STATION_NAME_MAX + 1];
    if (!waits && !plan->target->has_waiting)
        return;
    int size = snprintf (key, sizeof key, KEY_WAIT "%s", plan->target->name);
    struct span name = rows_copy_text (rows, span_of (key, (size_t)size));
    struct span member = member_of (self, plan);
    if (waits)
        rows_add_command (rows, WORDS (TEXT ("ZADD"), name, rows_number (rows, now_us), member));
    else
        rows_add_command (rows, WORDS (TEXT ("ZREM"), name, member));
    plan->target->has_waiting = plan->target->has_waiting || waits;
    plan->target->waits += waits;
}

// Delete the team of a plan, here and in Redis.
static void forget_team (struct core *self, struct open_plan *plan)
{
    delete_keys (self, plan, team_keys);
    if (plan->pull)
        pull_drop_record (self, plan);
    plan->team_known = true;
}

// Delete a plan with all its keys. `has_work`, `has_team`: it may have keys of answers, of a team.
static void delete_plan (struct core *self, struct open_plan *plan, bool has_work, bool has_team,
                         struct span caller, int64_t now_us)
{
    struct span target = core_target_name (plan->target);
    open_discharge (self, plan);
    open_unqueue (self, plan);
    open_set_waiting (self, plan, false, now_us);
    if (has_work)
        delete_keys (self, plan, answer_keys);
    if (has_team || plan->pull)
        forget_team (self, plan);
    plan->team_known = true;
    plan->gone = true;
    plan->flight = FLIGHT_NONE;
    open_mark_written (self, plan, WRITE_MESSAGE | WRITE_RUN | WRITE_LISTED);
    if (self->classes)
        open_mark_written (self, plan, WRITE_CLASS);
    self->plans -= self->plans > 0;
    plan->target->plans -= plan->target->plans > 0;
    core_change_plan_count (self, 's', target, -1);
    core_change_plan_count (self, 'c', caller, -1);
}

enum core_result core_commit (struct core *self, const struct core_commit *commit, int64_t now_us,
                              struct core_committed *ret)
{
    static const enum flight flights[] = {[CORE_LEASE] = FLIGHT_TAKEN,
                                          [CORE_FLOW] = FLIGHT_FLOW,
                                          [CORE_DOUBT] = FLIGHT_NO_STATUS,
                                          [CORE_RETRY] = FLIGHT_NONE,
                                          [CORE_RETRY_OUTLIVED] = FLIGHT_EARLIER,
                                          [CORE_OVER] = FLIGHT_NONE};
    struct open_plan *plan = open_find_run (self, commit->target, commit->id, commit->exec_id);
    *ret = (struct core_committed){0};
    if (!plan)
        return CORE_NOT_CURRENT;
    if (commit->decided_on >= 0 && plan->revision >= 0 && plan->revision != commit->decided_on &&
        plan->message) {
        ret->message = span_of (plan->message, plan->message_size);
        return CORE_CHANGED;
    }
    if (commit->end != CORE_LEASE && commit->end != CORE_FLOW)
        self->gathering->kinds |= ROWS_RESULT;
    bool published =
        commit->broadcast == CORE_PUBLISHED ||
        (commit->broadcast == CORE_FAILURE && allow_failure_broadcast (self, plan, now_us));
    if (published) {
        ret->seq = assign_seq (self, now_us);
        add_outcome (self, plan, ret->seq, 0, now_us, commit->record, commit->output);
    } else {
        add_unpublished (self, plan, now_us, commit->record, commit->output);
    }
    if (commit->missed.size)
        add_unpublished (self, plan, now_us, commit->missed, (struct span){0});
    if (commit->message.data) {
        open_set_message (self, plan, commit->message, commit->revision);
        plan->changed_in_run = false;
    }
    if (commit->end == CORE_GONE) {
        delete_plan (self, plan, commit->has_work, commit->has_team, commit->caller, now_us);
        return CORE_DONE;
    }
    // An earlier run whose lease expired may still answer after a retry.
    enum flight flight = commit->end == CORE_RETRY && plan->earlier_may_answer
                             ? FLIGHT_EARLIER
                             : flights[commit->end];
    // A run that continues did not count if its lease had expired, or its status was missing.
    if (flight == FLIGHT_TAKEN && !plan->charged && !plan->pull_run)
        open_charge (self, plan, now_us);
    else if (flight == FLIGHT_FLOW)
        open_charge_flow (self, plan);
    else if (flight != FLIGHT_TAKEN)
        open_discharge (self, plan);
    set_flight (self, plan, flight);
    if (flight == FLIGHT_NONE)
        plan->earlier_may_answer = false;
    else if (flight == FLIGHT_EARLIER)
        plan->earlier_may_answer = true;
    if (plan->pull && !open_has_run (plan))
        pull_end_run (self, plan);
    if (commit->queued)
        open_queue (self, plan, commit->due_us);
    else
        open_unqueue (self, plan);
    open_set_waiting (self, plan, commit->waits, now_us);
    return CORE_DONE;
}

void core_extend (struct core *self, struct span target, uint64_t id, uint64_t exec_id,
                  int64_t due_us, int64_t now_us)
{
    struct open_plan *plan = open_find_run (self, target, id, exec_id);
    if (!plan || !plan->queued || plan->score_us >= due_us)
        return;
    // Its lease had expired, and it no longer counted toward limits: count it again.
    if (plan->flight == FLIGHT_TAKEN && !plan->charged && !plan->pull_run)
        open_charge (self, plan, now_us);
    open_queue (self, plan, due_us);
}

// -- admin commands

// Move a plan in the window, or a ready plan, to the position of its new class.
static void move_to_class (struct core *self, const struct open_plan *plan)
{
    struct ready *ready = &plan->target->ready;
    const struct ready_group *group;
    struct ready_plan found;
    if (self->classes)
        window_set_class (self, plan);
    if (!self->classes || !ready_take_id (ready, plan->id, INT64_MAX, &found, &group))
        return;
    core_make_ready (self, plan->target, found, plan->priority, open_group (plan));
}

enum core_result core_change (struct core *self, const struct core_change *change, int64_t now_us)
{
    struct open_plan *plan = open_find (self, change->target, change->id);
    if (plan && plan->gone)
        return CORE_NONE;
    bool has_run = plan && open_has_run (plan);
    if ((has_run ? plan->exec_id : 0) != change->exec_id ||
        (plan && plan->revision >= 0 && plan->revision != change->was_revision))
        return CORE_CHANGED;
    if (!plan)
        plan = open_find_or_add (self, core_target_for (self, change->target), change->id);
    open_set_message (self, plan, change->message, change->revision);
    if (has_run)
        plan->changed_in_run = true;
    if (self->classes)
        open_mark_written (self, plan, WRITE_CLASS);
    open_set_class (self, plan, change->priority, change->group);
    move_to_class (self, plan);
    if (!span_equal (change->caller_before, change->caller)) {
        core_change_plan_count (self, 'c', change->caller_before, -1);
        core_change_plan_count (self, 'c', change->caller, 1);
    }
    add_unpublished (self, plan, now_us, change->missed, (struct span){0});
    if (has_run)
        open_mark_written (self, plan, WRITE_RUN); // that row has the revision
    if (change->place == CORE_KEEP) {
        if (plan->flight == FLIGHT_OFFERED && plan->queued &&
            !plan->chosen) // more workers may take it now, or fewer
            open_queue (self, plan, now_us);
        return CORE_DONE;
    }
    open_set_waiting (self, plan, false, now_us);
    if (change->place == CORE_OUT) {
        open_unqueue (self, plan);
        return CORE_DONE;
    }
    if (change->place == CORE_AT) { // a run in flight is over, as it belongs to the former plan
        bool expected = plan->flight == FLIGHT_EARLIER || plan->flight == FLIGHT_TAKEN ||
                        (open_has_run (plan) && plan->earlier_may_answer);
        open_discharge (self, plan);
        pull_end_run (self, plan);
        if (plan->flight != FLIGHT_NONE)
            set_flight (self, plan, expected ? FLIGHT_EARLIER : FLIGHT_NONE);
        plan->earlier_may_answer = expected;
        if (change->resets_team)
            forget_team (self, plan);
    }
    open_queue (self, plan, change->due_us);
    return CORE_DONE;
}

void core_remove (struct core *self, const struct core_removal *removal, int64_t now_us)
{
    struct open_plan *plan =
        open_find_or_add (self, core_target_for (self, removal->target), removal->id);
    if (plan->gone)
        return;
    delete_plan (self, plan, true, true, removal->caller, now_us);
}

bool core_set_flow_due (struct core *self, struct span target, uint64_t id, int64_t due_us)
{
    struct open_plan *plan = open_find (self, target, id);
    bool has_flow_run = plan && !plan->gone && plan->flight == FLIGHT_FLOW;
    if (has_flow_run && !plan->chosen) // a chosen plan is being claimed anyway
        open_queue (self, plan, due_us);
    return has_flow_run;
}

void core_wake (struct core *self, const struct core_member *member, int64_t now_us)
{
    struct open_plan *plan = open_find (self, member->target, member->id);
    int64_t score_us = member->score_us;
    if (plan && (plan->gone || open_has_run (plan)))
        return;
    if (plan && plan->placed)
        score_us = plan->queued ? plan->score_us : -1;
    if (!plan) {
        plan = open_find_or_add (self, core_target_for (self, member->target), member->id);
        core_load_class (self, member->target, member->id, member->class);
    }
    plan->placed = true;
    plan->queued = score_us >= 0;
    plan->score_us = score_us;
    open_set_waiting (self, plan, false, now_us);
    if (score_us > now_us)
        open_queue (self, plan, now_us);
    else
        open_close_if_idle (self, plan, now_us);
}

bool core_has_waiting (const struct core *self, struct span target, uint64_t *ret_number)
{
    const struct core_target *known = core_find_target (self, target);
    *ret_number = known ? known->waits : 0;
    return !known || known->has_waiting;
}

void core_clear_waiting (struct core *self, struct span target, uint64_t number)
{
    struct core_target *known = core_target_for (self, target);
    if (known->waits == number)
        known->has_waiting = false;
}
