// What the judge sees, and what it remembers of it.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ident.h"
#include "judge_private.h"
#include "memory.h"

const char *const judge_targets[JUDGE_TARGETS] = {"ann", "bob", "cat", "dan", "eve", "fay"};

void judge_find (struct judge *self, const char *invariant, const char *format, ...)
{
    va_list args;
    if (*self->verdict)
        return;
    int size = snprintf (self->verdict, sizeof self->verdict, "%s at %" PRId64 ".%06" PRId64 ": ",
                         invariant, self->now_us / SECOND_US, self->now_us % SECOND_US);
    va_start (args, format);
    vsnprintf (self->verdict + size, sizeof self->verdict - (size_t)size, format, args);
    va_end (args);
}

const char *judge_verdict (const struct judge *self)
{
    return self->verdict;
}

// -- names

static bool target_read (struct span name, int *ret)
{
    for (int i = 0; i < JUDGE_TARGETS; i++)
        if (span_is (name, judge_targets[i])) {
            *ret = i;
            return true;
        }
    return false;
}

bool judge_member (struct span member, int *ret_target, uint64_t *ret_id)
{
    if (member.size > 17 && member.data[16] == ':') // of plan:ids
        return ident_parse (span_of (member.data, 16), ret_id) &&
               target_read (span_of (member.data + 17, member.size - 17), ret_target);
    return member.size > 13 && memcmp (member.data, "plan:msg:", 9) == 0 &&
           target_read (span_of (member.data + 9, 3), ret_target) &&
           ident_parse (span_of (member.data + 13, member.size - 13), ret_id);
}

void judge_member_text (const struct judged_plan *plan, char out[64])
{
    char digits[IDENT_SIZE];
    snprintf (out, 64, "plan:msg:%s:%s", judge_targets[plan->target],
              ident_text (plan->id, digits));
}

int64_t judge_number (struct span message, const char *name)
{
    char wanted[24];
    int size = snprintf (wanted, sizeof wanted, "\"%s\":", name);
    const char *at =
        message.size ? memmem (message.data, message.size, wanted, (size_t)size) : NULL;
    return at ? strtoll (at + size, NULL, 10) : -1;
}

// -- what it remembers

struct judged_plan *judge_plan (const struct judge *self, uint64_t id)
{
    struct table_node *node = table_find (&self->plans, table_hash_number (id));
    while (node && ((struct judged_plan *)node)->id != id)
        node = table_next (node);
    return (struct judged_plan *)node; // it is the first member
}

static struct judged_token *token_of (const struct judge *self, const char *text)
{
    struct table_node *node = table_find (&self->tokens, table_hash (span_text (text)));
    while (node && strcmp (((struct judged_token *)node)->text, text) != 0)
        node = table_next (node);
    return (struct judged_token *)node; // it is the first member
}

// Whose token this is; -1 = nobody's.
static int process_of (const struct judge *self, const char *token)
{
    const struct judged_token *found = *token ? token_of (self, token) : NULL;
    return found ? found->process : -1;
}

static void owner_text (const struct judge *self, const char *field, char out[48])
{
    struct span text;
    redis_data_get (self->data, span_text ("plan:owner"), span_text (field), &text);
    snprintf (out, 48, "%.*s", (int)text.size, text.size ? (const char *)text.data : "");
}

bool judge_excuses (const struct judge *self, int64_t seconds)
{
    int64_t last_us = self->lost_us > self->clock_us ? self->lost_us : self->clock_us;
    return self->now_us - last_us < seconds * SECOND_US;
}

// -- ownership

void batches_have_no_hole (struct judge *self)
{
    int owner = process_of (self, self->token);
    if (self->takes || (self->number < 0 && !self->releases))
        return;
    bool next = self->releases || self->number == self->batch + 1;
    if (self->sound && (owner != self->process || !next))
        self->verdict[0] = '\0'; // whatever its rows break follows from that
    if (owner != self->process)
        judge_find (self, __func__, "process %d wrote batch %" PRId64 ", and %s is of process %d",
                    self->process, self->number, self->token, owner);
    else if (!next)
        judge_find (self, __func__, "batch %" PRId64 " of %s came behind %" PRId64, self->number,
                    self->token, self->batch);
}

void tokens_come_once (struct judge *self)
{
    if (token_of (self, self->taken_token))
        judge_find (self, __func__, "the token %s was there before", self->taken_token);
}

// Whether it has the folder that the other had.
static bool has_folder_of (const struct judge *self, int process, int other)
{
    while (process >= 0 && process != other)
        process = self->processes[process].former;
    return process == other;
}

// No clock that is set excuses it.
void takeovers_wait_for_the_lease (struct judge *self)
{
    const char *token = *self->token ? self->token : self->last;
    const struct judged_token *before = *token ? token_of (self, token) : NULL;
    if (!before || self->number != 0)
        return;
    if (!has_folder_of (self, self->process, before->process) &&
        self->now_us - before->applied_us < LEASE_OF_OWNER_US &&
        self->now_us - self->lost_us >= 3 * SECOND_US)
        judge_find (self, __func__,
                    "process %d took over from process %d %" PRId64 " ms after its last batch",
                    self->process, before->process, (self->now_us - before->applied_us) / 1000);
}

void dispatches_have_a_lease (struct judge *self, int process, uint64_t id)
{
    char token[48];
    owner_text (self, "token", token);
    if (process_of (self, token) != process && self->now_us - self->lost_us >= LEASE_OF_OWNER_US)
        judge_find (self, __func__, "process %d acts on %" PRIx64 ", and %s is of process %d",
                    process, id, token, process_of (self, token));
}

static void on_owner (struct judge *self, struct span field, struct span value)
{
    char text[48];
    snprintf (text, sizeof text, "%.*s", (int)value.size, (const char *)value.data);
    if (span_is (field, "batch"))
        self->number = strtoll (text, NULL, 10);
    if (!span_is (field, "token"))
        return;
    self->releases = strstr (text, ".free") != NULL;
    self->takes = !self->releases;
    if (self->takes)
        memcpy (self->taken_token, text, sizeof text);
}

static void end_ownership (struct judge *self)
{
    batches_have_no_hole (self);
    self->owner = self->releases ? -1 : self->process;
    const char *last = self->takes ? self->taken_token : self->releases ? "" : self->token;
    if (self->takes) {
        tokens_come_once (self);
        takeovers_wait_for_the_lease (self);
        struct judged_token *token = memory_new (sizeof *token);
        memcpy (token->text, self->taken_token, sizeof token->text);
        token->process = self->process;
        table_add (&self->tokens, &token->node, table_hash (span_text (token->text)));
        for (size_t i = 0; i < self->process_room; i++)
            if ((int)i != self->process)
                self->processes[i].must_report = false;
    }
    struct judged_token *owner = token_of (self, self->takes ? self->taken_token : self->token);
    if (owner)
        owner->applied_us = self->now_us;
    snprintf (self->last, sizeof self->last, "%s", last);
}

// -- plans

void changes_stay (struct judge *self, struct judged_plan *plan, struct span message)
{
    char member[64];
    struct span before;
    judge_member_text (plan, member);
    if (!redis_data_get (self->data, span_text (member), span_text (""), &before) ||
        self->now_us - plan->edited_us < 60 * SECOND_US || judge_number (before, "revision") < 0)
        return;
    int64_t version = judge_number (message, "version"), former = judge_number (before, "version");
    int64_t changes = judge_number (message, "changes");
    if (version > former && changes > 0 && changes <= judge_number (before, "changes"))
        judge_find (self, __func__,
                    "of %s version %" PRId64 " is change %" PRId64 ", as version %" PRId64 " was",
                    member, version, changes, former);
    if (version < former || judge_number (message, "runs") < judge_number (before, "runs"))
        judge_find (
            self, __func__,
            "of %s version %" PRId64 " run %" PRId64 " became version %" PRId64 " run %" PRId64,
            member, former, judge_number (before, "runs"), version, judge_number (message, "runs"));
}

static void on_message (struct judge *self, struct span member, struct span message)
{
    int target;
    uint64_t id;
    if (!judge_member (member, &target, &id))
        return;
    struct judged_plan *plan = judge_plan (self, id);
    if (!plan) {
        judge_find (self, "plans_are_kept", "nobody submitted %" PRIx64, id);
        return;
    }
    changes_stay (self, plan, message);
    if (plan->created_tx == 0)
        plan->created_tx = self->tx;
}

void plans_end_by_a_result (struct judge *self, const struct judged_plan *plan, uint64_t id)
{
    struct span message;
    char member[64];
    if (plan)
        judge_member_text (plan, member);
    if (plan && !plan->may_end && !plan->removing && !plan->edited &&
        redis_data_get (self->data, span_text (member), span_text (""), &message))
        judge_find (self, __func__, "%" PRIx64 " ended without one", id);
}

void runs_begin_when_due (struct judge *self, struct judged_plan *plan, struct span run)
{
    char member[64];
    int64_t score_us = plan->score_us, now_us = self->redis_us;
    judge_member_text (plan, member);
    if (plan->score_tx != self->tx)
        score_us = redis_data_score (self->data, span_text ("plan:time:set"), span_text (member));
    if (judge_excuses (self, 20) || self->now_us - plan->edited_us < 20 * SECOND_US)
        return;
    if (score_us < 0)
        judge_find (self, __func__, "%s was not in the queue (run before: %.*s)", member,
                    (int)run.size, run.size ? (const char *)run.data : "");
    else if (score_us > now_us + AHEAD_OF_DUE_US + CLOCKS_US)
        judge_find (self, __func__, "%s began %" PRId64 " ms before its time (run before: %.*s)",
                    member, (score_us - now_us) / 1000, (int)run.size,
                    run.size ? (const char *)run.data : "");
    else
        runs_begin_soon (self, span_text (member), plan->target, score_us);
}

void exec_ids_grow (struct judge *self, uint64_t id, uint64_t exec_id)
{
    if (exec_id <= self->exec_id)
        judge_find (self, __func__, "%" PRIu64 " of %" PRIx64 " came behind %" PRIu64, exec_id, id,
                    self->exec_id);
}

// Checked when the run after the next one begins, as an outcome may be written with that.
void sent_runs_have_an_outcome (struct judge *self, struct judged_plan *plan)
{
    if (plan->before > plan->ended && plan->before > plan->excused &&
        self->now_us - plan->edited_us > 60 * SECOND_US)
        judge_find (self, __func__, "%" PRIu64 " of %" PRIx64 " has none, the last is of %" PRIu64,
                    plan->before, plan->id, plan->ended);
    plan->before = plan->dispatched;
}

static void on_run (struct judge *self, struct span member, struct span run)
{
    struct span before;
    int target;
    uint64_t id, exec_id = run.size ? strtoull ((const char *)run.data, NULL, 10) : 0;
    struct judged_plan *plan = judge_member (member, &target, &id) ? judge_plan (self, id) : NULL;
    redis_data_get (self->data, span_text ("plan:run"), member, &before);
    uint64_t former = before.size ? strtoull ((const char *)before.data, NULL, 10) : 0;
    if (!plan || !exec_id || exec_id == former)
        return;
    bool decided = former > exec_id; // of an edit or a loss
    if (!decided)
        runs_begin_when_due (self, plan, before);
    if (plan->taken == exec_id)
        return;
    exec_ids_grow (self, id, exec_id);
    sent_runs_have_an_outcome (self, plan);
    plan->taken = exec_id;
    plan->taken_us = self->now_us;
    plan->taken_tx = self->tx;
    for (size_t i = 0; i < self->limit_count; i++)
        if (judge_limits (self, &self->limits[i], member, target))
            self->limits[i].taken_us = self->now_us;
    self->runs = true;
}

static void on_class (struct judge *self, struct span member)
{
    int target;
    uint64_t id;
    struct judged_plan *plan = judge_member (member, &target, &id) ? judge_plan (self, id) : NULL;
    if (plan)
        plan->moved_us = self->now_us;
}

static void on_score (struct judge *self, struct span member)
{
    int target;
    uint64_t id;
    struct judged_plan *plan = judge_member (member, &target, &id) ? judge_plan (self, id) : NULL;
    if (!plan || plan->score_tx == self->tx)
        return;
    plan->score_tx = self->tx;
    plan->score_us = redis_data_score (self->data, span_text ("plan:time:set"), member);
}

// -- outcomes

void outcomes_come_once (struct judge *self, struct judged_plan *plan, uint64_t exec_id)
{
    struct undone_step *step = &self->undones[self->step % UNDONES];
    if (exec_id <= plan->ended)
        judge_find (self, __func__, "of %" PRIx64 " that of %" PRIu64 " came behind %" PRIu64,
                    plan->id, exec_id, plan->ended);
    if (step->count == step->room) {
        step->room = 2 * step->room + 16;
        step->at = memory_resize (step->at, step->room * sizeof *step->at);
    }
    step->at[step->count++] = (struct undone){plan, plan->ended};
    plan->ended = exec_id;
}

static void on_outcome (struct judge *self, int64_t seq, struct span id_text, struct span record)
{
    uint64_t id, exec_id = strtoull ((const char *)record.data, NULL, 10);
    struct judged_plan *plan = ident_parse (id_text, &id) ? judge_plan (self, id) : NULL;
    if (!plan)
        return;
    outcomes_come_once (self, plan, exec_id);
    if (seq)
        self->broadcasts[seq % BROADCASTS] = (struct judged_broadcast){seq, id, exec_id, self->tx};
}

// msgpack: [[plan, target, record], ...], as the history keeps several outcomes in one entry.
static struct span unpack (const uint8_t **at)
{
    size_t head = **at == 0xD9 || **at == 0xDA, size = **at & 0x1F;
    if (**at == 0xD9)
        size = (*at)[1];
    else if (**at == 0xDA) {
        size = (size_t)((*at)[1] << 8 | (*at)[2]);
        head = 2;
    }
    struct span text = span_of (*at + 1 + head, size);
    *at += 1 + head + size;
    return text;
}

static void on_outcomes (struct judge *self, int64_t last, struct span packed)
{
    const uint8_t *at = packed.data;
    int64_t count = *at == 0xDC ? at[1] << 8 | at[2] : *at & 0x0F;
    at += *at == 0xDC ? 3 : 1;
    for (int64_t i = 0; i < count; i++) {
        at++; // an array of three
        struct span id = unpack (&at);
        unpack (&at);
        on_outcome (self, last - count + 1 + i, id, unpack (&at));
    }
}

static void on_history (struct judge *self, const struct span *words, size_t count)
{
    struct span last, id = {0}, record = {0};
    char text[64], before[64];
    snprintf (text, sizeof text, "%.*s", (int)words[2].size, (const char *)words[2].data);
    int64_t seq = strtoll (text, NULL, 10), sub = strtoll (strchr (text, '-') + 1, NULL, 10);
    if (redis_data_get (self->data, words[1], span_text ("last"), &last) &&
        !judge_excuses (self, 20)) {
        snprintf (before, sizeof before, "%.*s", (int)last.size, (const char *)last.data);
        int64_t former = strtoll (before, NULL, 10);
        if (seq < former || (seq == former && sub <= strtoll (strchr (before, '-') + 1, NULL, 10)))
            judge_find (self, "outcomes_come_once", "%s came behind %s", text, before);
    }
    for (size_t i = 3; i + 1 < count; i += 2) {
        if (span_is (words[i], "p"))
            id = words[i + 1];
        else if (span_is (words[i], "r"))
            record = words[i + 1];
        else if (span_is (words[i], "m"))
            on_outcomes (self, seq, words[i + 1]);
    }
    if (id.size && record.size)
        on_outcome (self, sub ? 0 : seq, id, record);
}

void broadcasts_are_in_the_history (struct judge *self, int64_t seq, uint64_t id, uint64_t exec_id)
{
    const struct judged_broadcast *found = &self->broadcasts[seq % BROADCASTS];
    if (self->now_us - self->lost_us < LATE_US)
        return;
    if (found->seq != seq || found->id != id || found->exec_id != exec_id)
        judge_find (self, __func__,
                    "%" PRId64 " is of %" PRIx64 " %" PRIu64 ", there it is %" PRId64 " of %" PRIx64
                    " %" PRIu64,
                    seq, id, exec_id, found->seq, found->id, found->exec_id);
}

// -- the log

void judge_begins (void *owner, int process, uint64_t step)
{
    struct judge *self = owner;
    char batch[48];
    self->process = process;
    self->step = step;
    self->tx++;
    self->undones[step % UNDONES].count = 0;
    self->undones[step % UNDONES].tx = self->tx;
    owner_text (self, "token", self->token);
    owner_text (self, "batch", batch);
    self->batch = strtoll (batch, NULL, 10);
    self->number = -1;
    self->takes = self->releases = self->runs = false;
    self->sound = !*self->verdict;
}

static void on_fields (struct judge *self, const struct span *words, size_t count)
{
    bool is_owner = span_is (words[1], "plan:owner"), is_run = span_is (words[1], "plan:run");
    for (size_t i = 2; i + 1 < count; i += 2) {
        if (is_owner)
            on_owner (self, words[i], words[i + 1]);
        else if (is_run)
            on_run (self, words[i], words[i + 1]);
        else if (span_is (words[1], "plan:class"))
            on_class (self, words[i]);
    }
}

void judge_applies (void *owner, const struct span *words, size_t count)
{
    struct judge *self = owner;
    int target;
    uint64_t id;
    if (self->process < 0)
        return;
    if (span_is (words[0], "HSET"))
        on_fields (self, words, count);
    else if (span_is (words[0], "MSET"))
        for (size_t i = 1; i + 1 < count; i += 2)
            on_message (self, words[i], words[i + 1]);
    else if (span_is (words[0], "DEL")) {
        for (size_t i = 1; i < count; i++)
            if (judge_member (words[i], &target, &id))
                plans_end_by_a_result (self, judge_plan (self, id), id);
    } else if (span_is (words[0], "XADD") && span_is (words[1], "plan:history"))
        on_history (self, words, count);
    else if (span_is (words[1], "plan:time:set")) {
        bool adds = span_is (words[0], "ZADD");
        for (size_t i = 2 + adds; i < count; i += 1U + adds)
            on_score (self, words[i]);
    }
}

void judge_ends (void *owner)
{
    struct judge *self = owner;
    enum { EACH = 4 };
    if (self->process < 0)
        return;
    if (self->number >= 0 || self->takes || self->releases)
        end_ownership (self);
    if (!self->runs)
        return;
    struct span exec;
    redis_data_get (self->data, span_text ("plan:meta"), span_text ("exec"), &exec);
    uint64_t written = exec.size ? strtoull ((const char *)exec.data, NULL, 10) : 0;
    if (written > self->exec_id)
        self->exec_id = written;
    if (self->sampled++ % EACH == 0)
        limits_hold (self);
}
