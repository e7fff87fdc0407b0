// What a batch writes: the rows of the plans that changed, counts, numbers.
#include <stdio.h>
#include <stdlib.h>

#include "core_private.h"
#include "memory.h"
#include "redis_keys.h"

enum { CALLERS_MAX = 10000 };

// -- texts

struct span key_of (struct core *self, const char *start, const struct open_plan *plan)
{
    char key[PLAN_KEY_SIZE];
    size_t size = plan_key_make (key, start, core_target_name (plan->target), plan->id);
    return rows_copy_text (self->gathering, span_of (key, size));
}

struct span member_of (struct core *self, const struct open_plan *plan)
{
    return key_of (self, KEY_MESSAGE, plan);
}

// The plan's member of plan:ids.
static struct span index_entry (struct core *self, const struct open_plan *plan)
{
    char entry[PLAN_KEY_SIZE];
    size_t size = index_entry_make (entry, core_target_name (plan->target), plan->id);
    return rows_copy_text (self->gathering, span_of (entry, size));
}

static struct span score_text (struct core *self, int64_t score_us)
{
    char text[SCORE_SIZE];
    return rows_copy_text (self->gathering, span_of (text, score_make (text, score_us)));
}

// The plan's value in plan:run.
static struct span run_text (struct core *self, const struct open_plan *plan)
{
    static const char *const marks[] = {
        [FLIGHT_NO_STATUS] = "?", [FLIGHT_OFFERED] = "?!", [FLIGHT_FLOW] = "~"};
    char text[2 * DECIMAL_SIZE + 8];
    if (plan->flight == FLIGHT_EARLIER)
        return span_text ("+");
    size_t size = decimal_text ((int64_t)plan->exec_id, text);
    if (plan->earlier_may_answer)
        text[size++] = '+';
    if (plan->flight != FLIGHT_TAKEN)
        size = span_put (text, size, span_text (marks[plan->flight]));
    text[size++] = ' ';
    if (plan->revision >= 0)
        size += decimal_text (plan->revision, text + size);
    else
        text[size++] = '=';
    return rows_copy_text (self->gathering, span_of (text, size));
}

size_t open_running_head (const struct open_plan *plan, char out[HEAD_ROOM])
{
    unsigned long long exec_id = plan->exec_id;
    return (size_t)snprintf (out, HEAD_ROOM,
                             "{\"exec_id\":%016llu,\"exec_time\":%-10llu,\"plan_state\":2", exec_id,
                             exec_id / 1000000);
}

// The plan's value in plan:class.
static struct span class_text (struct core *self, const struct open_plan *plan)
{
    char text[8 + POLICY_NAME_MAX];
    int size =
        snprintf (text, sizeof text, "%d:%s", plan->priority, plan->group ? plan->group : "");
    return rows_copy_text (self->gathering, span_of (text, (size_t)size));
}

struct span class_group (struct span class, int *ret_priority)
{
    int priority = 0;
    size_t at = 0;
    for (; at < class.size && at < 3 && class.data[at] >= '0' && class.data[at] <= '9'; at++)
        priority = 10 * priority + class.data[at] - '0';
    *ret_priority = priority <= UINT8_MAX ? priority : UINT8_MAX;
    bool named = at < class.size && class.data[at] == ':' && class.size - at - 1 <= POLICY_NAME_MAX;
    return named ? span_of (class.data + at + 1, class.size - at - 1) : (struct span){0};
}

// -- counts

struct plan_tally *tally_find (const struct table *table, struct span name)
{
    struct table_node *node = table_find (table, table_hash (name));
    while (node && !span_is (name, ((struct plan_tally *)node)->name))
        node = table_next (node);
    return (struct plan_tally *)node; // it is the first member
}

// The tally of this name, added if needed.
static struct plan_tally *tally_for (struct table *table, struct span name)
{
    struct plan_tally *tally = tally_find (table, name);
    if (tally)
        return tally;
    tally = memory_new (sizeof *tally + name.size + 1);
    memcpy (tally->name, name.data, name.size);
    table_add (table, &tally->node, table_hash (name));
    return tally;
}

void tallies_free (struct table *table)
{
    for (struct table_node *node = table_step (table, NULL), *next; node; node = next) {
        next = table_step (table, node);
        free (node);
    }
    table_free (table);
}

// The field of plan:count that counts a target's plans.
static struct span target_field (struct span target, char *out)
{
    return span_of (out, span_put (out, span_put (out, 0, span_text ("s:")), target));
}

void core_change_plan_count (struct core *self, char kind, struct span name, int64_t change)
{
    char field[2 + STATION_NAME_MAX + 1];
    if (kind == 's')
        name = target_field (name, field);
    if (!name.size)
        return; // the caller is not known if the message of the plan was lost
    tally_for (&self->counts, name)->plans += change;
    struct plan_tally *caller = kind == 'c' ? tally_find (&self->callers, name) : NULL;
    if (caller)
        caller->plans += change;
}

int64_t core_plan_count (const struct core *self)
{
    return self->plans;
}

void core_correct_plan_count (struct core *self, int64_t counted, int64_t found)
{
    int64_t missing = counted - found;
    if (missing > 0)
        self->plans -= missing < self->plans ? missing : self->plans;
}

bool core_knows_caller (const struct core *self, struct span caller)
{
    return !self->bounds.plans_caller || tally_find (&self->callers, caller);
}

void core_load_caller (struct core *self, struct span caller, int64_t plans)
{
    if (self->callers.count >= CALLERS_MAX)
        tallies_free (&self->callers);
    if (!tally_find (&self->callers, caller))
        tally_for (&self->callers, caller)->plans = plans;
}

// -- batches

// Add the parts of a plan that commands write, after the columns.
static void emit_plan_commands (struct core *self, struct open_plan *plan, unsigned writes)
{
    char head[HEAD_ROOM];
    if (plan->gone)
        return;
    if (writes & WRITE_HEAD) {
        size_t size = open_running_head (plan, head);
        rows_add_command (self->gathering,
                          WORDS (TEXT ("SETRANGE"), member_of (self, plan), TEXT ("0"),
                                 rows_copy_text (self->gathering, span_of (head, size))));
    }
    if (writes & WRITE_TEAM)
        pull_write_team (self, plan);
}

// Add the parts of a plan that columns write.
static void emit_plan_rows (struct core *self, struct open_plan *plan, unsigned writes)
{
    struct rows *rows = self->gathering;
    struct span member = member_of (self, plan), none = {0};
    if (plan->gone) {
        if (writes & WRITE_MESSAGE)
            rows_add (rows, COLUMN_DEL, member, none);
        if (writes & WRITE_LISTED)
            rows_add (rows, COLUMN_UNLIST, index_entry (self, plan), none);
    } else {
        if (writes & WRITE_MESSAGE && plan->message) {
            rows_add (rows, COLUMN_SET, member, span_of (plan->message, plan->message_size));
            if (!plan->lent)
                commands_free_later (&rows->commands, plan->message);
            plan->lent = true;
        }
        if (writes & WRITE_LISTED)
            rows_add (rows, COLUMN_LIST, span_text ("0"), index_entry (self, plan));
    }
    if (writes & WRITE_QUEUE && plan->queued)
        rows_add (rows, COLUMN_QUEUE, score_text (self, plan->score_us), member);
    else if (writes & WRITE_QUEUE)
        rows_add (rows, COLUMN_UNQUEUE, member, none);
    if (writes & WRITE_RUN && plan->flight != FLIGHT_NONE)
        rows_add (rows, COLUMN_RUN, member, run_text (self, plan));
    else if (writes & WRITE_RUN)
        rows_add (rows, COLUMN_UNRUN, member, none);
    if (writes & WRITE_CLASS && !plan->gone && (plan->priority || plan->group))
        rows_add (rows, COLUMN_CLASS, member, class_text (self, plan));
    else if (writes & WRITE_CLASS)
        rows_add (rows, COLUMN_UNCLASS, member, none);
}

// Add until when the rates of names are used up, as far as that has changed.
static void emit_used_rates (struct core *self)
{
    struct rows *rows = self->gathering;
    for (struct table_node *node = NULL; (node = table_step (&self->limits.states, node));) {
        struct limit_state *state = (struct limit_state *)node;
        char used[32];
        if (!state->unwritten)
            continue;
        state->unwritten = false;
        int size = snprintf (used, sizeof used, "%.0f", state->used_us);
        rows_add_command (rows, WORDS (TEXT ("HSET"), TEXT (KEY_TOKENS),
                                       rows_copy_text (rows, TEXT (state->name)),
                                       rows_copy_text (rows, span_of (used, (size_t)size))));
    }
}

// Add the changed numbers of plan:meta.
static void emit_numbers (struct core *self)
{
    struct rows *rows = self->gathering;
    struct span words[10] = {span_text ("HSET"), span_text (KEY_META)};
    size_t count = 2;
    if (self->exec_id != self->exec_written) {
        words[count++] = span_text ("exec");
        words[count++] = rows_number (rows, (int64_t)self->exec_id);
        self->exec_written = self->exec_id;
    }
    if (self->plan_id != self->plan_id_written) {
        words[count++] = span_text ("id");
        words[count++] = rows_number (rows, (int64_t)self->plan_id);
        self->plan_id_written = self->plan_id;
    }
    if (self->seq != self->seq_written) {
        words[count++] = span_text ("seq");
        words[count++] = rows_number (rows, self->seq);
        self->seq_written = self->seq;
    }
    if (self->new_epoch) {
        words[count++] = span_text ("epoch");
        words[count++] = rows_copy_text (rows, span_text (self->epoch));
        self->new_epoch = false;
    }
    if (count > 2)
        rows_add_command (rows, words, count);
}

int64_t core_batch (const struct core *self)
{
    return self->batch;
}

bool core_has_rows (const struct core *self)
{
    return self->touched.count || self->counts.count || !rows_empty (self->gathering) ||
           self->exec_id != self->exec_written || self->seq != self->seq_written;
}

size_t core_batch_bytes (const struct core *self)
{
    return self->message_bytes + self->gathering->size;
}

bool core_batch_is_urgent (const struct core *self)
{
    return self->gathering->kinds != 0;
}

// Add a change of a field of plan:count, the number of plans of a target or a caller.
static void add_count (struct rows *rows, struct span field, int64_t change)
{
    rows_add_command (rows, WORDS (TEXT ("HINCRBY"), TEXT (KEY_COUNT), rows_copy_text (rows, field),
                                   rows_number (rows, change)));
}

const struct rows *core_close_batch (struct core *self)
{
    struct rows *rows = self->gathering;
    for (size_t i = 0; i < self->touched.count; i++) {
        struct written_plan *written = &self->touched.at[i];
        struct open_plan *plan = written->plan;
        written->writes = plan->writes;
        plan->writes = 0;
        emit_plan_rows (self, plan, written->writes);
        if (written->writes & (WRITE_HEAD | WRITE_TEAM))
            emit_plan_commands (self, plan, written->writes);
    }
    for (struct table_node *node = table_step (&self->counts, NULL), *next; node; node = next) {
        struct plan_tally *tally = (struct plan_tally *)node;
        next = table_step (&self->counts, node);
        if (tally->plans)
            add_count (rows, span_text (tally->name), tally->plans);
        free (tally);
    }
    table_free (&self->counts);
    if (self->tokens_changed)
        emit_used_rates (self);
    self->tokens_changed = false;
    if (self->reports)
        reports_write (self);
    emit_numbers (self);
    struct plan_list spare = self->batch_plans;
    self->batch_plans = self->touched;
    self->touched = spare;
    self->in_flight = rows;
    self->gathering = rows == &self->rows[0] ? &self->rows[1] : &self->rows[0];
    self->message_bytes = 0;
    self->batch++;
    return rows;
}

void core_batch_acked (struct core *self, int64_t now_us)
{
    if (!self->in_flight)
        return; // the core was reset while the batch was in flight
    for (size_t i = 0; i < self->batch_plans.count; i++) {
        struct open_plan *plan = self->batch_plans.at[i].plan;
        bool soon = plan->placed && plan->queued && plan->score_us <= now_us + PREPARED_US &&
                    plan->message_size <= PREPARED_BYTES;
        bool idle = !open_has_run (plan);
        bool pull_run = plan->pull_run && !idle;
        if (plan->lent) { // its message will be freed with the rows: copy it if it is needed
            bool written = plan->writes & (WRITE_MESSAGE | WRITE_HEAD); // the next batch writes it
            bool needed =
                plan->chosen || plan->changed_in_run || pull_run || written || (soon && idle);
            plan->lent = false;
            plan->message = needed ? memory_copy (plan->message, plan->message_size) : NULL;
            plan->message_size = needed ? plan->message_size : 0;
        }
        plan->submitted = plan->submitted && plan->writes & WRITE_LISTED;
        if (!plan->submitted && plan->caller)
            open_set_caller (plan, (struct span){0});
        plan->batches--;
        open_close_if_idle (self, plan, now_us);
    }
    self->batch_plans.count = 0;
    if (self->reports_in_flight)
        reports_free (&self->reports_in_flight);
    self->seq_acked = self->seq_written;
    rows_clear (self->in_flight);
    self->in_flight = NULL;
}

static void plan_list_free (struct plan_list *list)
{
    free (list->at);
    *list = (struct plan_list){0};
}

void core_release_memory (struct core *self)
{
    if (self->in_flight || core_has_rows (self))
        return;
    rows_free (&self->rows[0]);
    rows_free (&self->rows[1]);
    plan_list_free (&self->touched);
    plan_list_free (&self->batch_plans);
}

// Add rows that subtract a plan which the batch has counted.
static void uncount_plan (const struct open_plan *plan, struct rows *rows)
{
    char field[2 + STATION_NAME_MAX + 1];
    struct span target = core_target_name (plan->target);
    add_count (rows, target_field (target, field), -1);
    if (plan->caller)
        add_count (rows, span_text (plan->caller), -1);
}

// Drop the missed occurrences of plans whose submission is dropped.
static void drop_missed_outcomes (const struct core *self, struct rows *rows)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows->outcome_count; i++) {
        const struct outcome_row *outcome = &rows->outcomes[i];
        const struct open_plan *plan = open_find (self, outcome->station, outcome->plan_id);
        if (!outcome->sub || !plan || !plan->submitted)
            rows->outcomes[kept++] = *outcome;
    }
    rows->outcome_count = kept;
}

// Drop a submission of the batch in flight. If its plan was removed since, the removal is counted
// already, in the same batch or in the open one; the open batch may also submit it again.
static void drop_submission (struct core *self, struct open_plan *plan, struct rows *rows)
{
    char field[2 + STATION_NAME_MAX + 1];
    struct span target = core_target_name (plan->target);
    struct span caller = span_text (plan->caller ? plan->caller : "");
    struct plan_tally *tally = tally_find (&self->callers, caller);
    bool relisted = plan->writes & WRITE_LISTED; // the open batch submits or removes it
    if (relisted) {
        tally_for (&self->counts, target_field (target, field))->plans++;
        if (plan->caller)
            tally_for (&self->counts, caller)->plans++;
    } else if (!plan->gone) {
        plan->target->plans--;
        self->plans--;
        if (tally)
            tally->plans--;
    }
    if (relisted || !plan->gone)
        uncount_plan (plan, rows);
    plan->gone = plan->gone || !relisted;
    plan->batches--;
    open_close_if_idle (self, plan, 0);
}

const struct rows *core_drop_submissions (struct core *self)
{
    struct rows *rows = self->in_flight, *gathering = self->gathering;
    size_t kept = 0;
    for (int i = 0; i < COLUMNS; i++)
        rows->columns[i].count = 0;
    drop_missed_outcomes (self, rows);
    self->gathering = rows; // rows and texts are added to these
    for (size_t i = 0; i < self->batch_plans.count; i++) {
        struct written_plan written = self->batch_plans.at[i];
        if (written.plan->submitted) {
            drop_submission (self, written.plan, rows);
            continue;
        }
        emit_plan_rows (self, written.plan, written.writes);
        self->batch_plans.at[kept++] = written;
    }
    self->gathering = gathering;
    self->batch_plans.count = kept;
    return rows;
}

void core_add_command (struct core *self, const struct span *words, size_t count)
{
    rows_merge_command (self->gathering, words, count);
}
