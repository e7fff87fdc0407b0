#include "writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "decimal.h"
#include "failpoint.h"
#include "memory.h"
#include "plant.h"
#include "row_commands.h"
#include "scripts.h"
#include "table.h"

enum {
    SILENT_US = 1000000,       // without any answer of Redis
    CLIENT_WAITS_US = 3000000, // for a change whose batch is not answered
    PATIENCE_US = 2000,        // for leases: mostly the result of a short run follows
    REFUSAL_SIZE = 128
};

#define KEY_OWNER "plan:owner"

struct waiter_list {
    struct waiter *first;
    struct waiter **end;
    size_t count;
};

// A row that Redis did not take.
struct failure {
    size_t command; // of the batch in flight
    enum { REPLACE_KEY, REPLACE_FIELD, REPLACE_HISTORY, DROP } cure;
};

struct writer {
    struct core *core;
    struct owner *owner;
    struct writer_io io;
    const char *name, *endpoints, *key;
    int64_t outcomes;
    enum owner_do todo; // with the next flush
    bool reopened;      // it is not known yet who owns the database

    // what is answered next
    size_t awaited, answered;
    size_t exec_at;   // which answer is that of the batch; SIZE_MAX = none is
    size_t row_at;    // the command that the first element of it answers
    int64_t heard_us; // when Redis answered anything last (writer_heard)
    enum owner_refusal refused;
    char refusal[REFUSAL_SIZE];
    bool stays_refused; // until a batch is applied

    // the batch in flight
    struct commands rows, sent;
    int64_t number; // of the last that was made; its rows stay as they are until it is answered
    bool has_rows;  // of the core: it is to be acknowledged
    unsigned kinds; // what they are
    int64_t asked_us;
    struct failure *failures;
    size_t failure_count, failure_room;

    struct waiter_list gathering, flying;
    struct waiter_list ended[4]; // by how: released with the next flush
    char ended_error[REFUSAL_SIZE];
    bool hurries; // somebody waits for what gathers
    int64_t gathers_us;
    bool releasing;
    bool closes; // nothing is written any more: whoever waits is released as lost
};

// -- waiters

static void list_add (struct waiter_list *list, struct waiter *waiter)
{
    waiter->next = NULL;
    *(list->first ? list->end : &list->first) = waiter;
    list->end = &waiter->next;
    list->count++;
}

static struct waiter *list_take (struct waiter_list *list)
{
    struct waiter *waiter = list->first;
    if (waiter) {
        list->first = waiter->next;
        list->count--;
    }
    return waiter;
}

// Those of this kind and above end so; the others stay.
static void end_waiters (struct writer *self, struct waiter_list *list, enum waiter_kind kind,
                         enum written how, int64_t until_us)
{
    struct waiter_list all = *list;
    *list = (struct waiter_list){0};
    for (struct waiter *waiter; (waiter = list_take (&all));)
        list_add (waiter->kind >= kind && waiter->since_us <= until_us ? &self->ended[how] : list,
                  waiter);
}

static void release_ended (struct writer *self)
{
    if (self->releasing)
        return;
    self->releasing = true;
    for (int how = 0; how < 4; how++)
        for (struct waiter *waiter; (waiter = list_take (&self->ended[how]));)
            waiter->release (waiter, how, how == WRITTEN_REFUSED ? self->ended_error : "");
    self->releasing = false;
}

void writer_wait (struct writer *self, struct waiter *waiter, int64_t mono_us)
{
    waiter->since_us = mono_us;
    if (self->closes) {
        list_add (&self->ended[WRITTEN_UNKNOWN], waiter);
    } else if (core_has_rows (self->core) && !PLANTED (EFFECT_FIRST)) {
        self->hurries = self->hurries || waiter->kind != WAITER_SURE;
        list_add (&self->gathering, waiter);
    } else { // nothing was changed, and what was seen may be in flight
        list_add (self->has_rows ? &self->flying : &self->ended[WRITTEN], waiter);
    }
}

void writer_wait_turn (struct writer *self, struct waiter *waiter)
{
    list_add (&self->ended[self->closes ? WRITTEN_UNKNOWN : WRITTEN], waiter);
}

bool waiter_needs_replicas (const struct waiter *waiter)
{
    return waiter->kind != WAITER_SURE || PLANTED (BEHIND_WAIT);
}

// -- what is sent

#define ADD(commands, ...)                                                                         \
    commands_add (commands, (const struct span[]){__VA_ARGS__},                                    \
                  sizeof ((const struct span[]){__VA_ARGS__}) / sizeof (struct span))
#define TEXT(literal) span_text (literal)

static struct span number (struct commands *commands, int64_t value)
{
    char digits[DECIMAL_SIZE];
    size_t size = decimal_text (value, digits);
    return commands_copy (commands, span_of (digits, size));
}

static void add_look (struct writer *self)
{
    ADD (&self->sent, TEXT ("WATCH"), TEXT (PLANTED (TOKEN_WATCHED) ? "plan:token" : KEY_OWNER));
    ADD (&self->sent, TEXT ("HMGET"), TEXT (KEY_OWNER), TEXT ("token"), TEXT ("batch"));
}

static void hand_over (struct writer *self)
{
    self->answered = 0;
    self->refused = OWNER_TAKEN_UP;
    self->awaited = self->sent.commands;
    self->failure_count = 0;
    self->io.send (self->io.owner, &self->sent);
    commands_clear (&self->sent);
}

static void look (struct writer *self)
{
    self->exec_at = SIZE_MAX;
    // The watch of the last look still stands: with that, the owner's next batch ends a take.
    ADD (&self->sent, TEXT ("UNWATCH"));
    add_look (self);
    hand_over (self);
}

static void copy_commands (struct commands *to, const struct commands *from)
{
    const struct span *word = from->words;
    for (size_t i = 0; i < from->commands; word += from->sizes[i++])
        commands_add (to, word, from->sizes[i]);
}

// While memory is full Redis runs no MULTI; a script may, and tests what the watch would.
static void add_script (struct writer *self, const struct commands *owner)
{
    int64_t batch;
    struct commands *sent = &self->sent;
    const char *found = owner_found (self->owner, &batch);
    ADD (sent, TEXT ("EVAL"),
         span_of (script_texts[SCRIPT_ROWS].text, script_texts[SCRIPT_ROWS].size), TEXT ("1"),
         TEXT (KEY_OWNER), span_text (found), *found ? number (sent, batch) : TEXT (""));
    const struct commands *const parts[] = {&self->rows, owner};
    for (int i = 0; i < 2; i++) {
        const struct span *word = parts[i]->words;
        for (size_t k = 0; k < parts[i]->commands; word += parts[i]->sizes[k++]) {
            commands_word (sent, number (sent, (int64_t)parts[i]->sizes[k]));
            for (size_t n = 0; n < parts[i]->sizes[k]; n++)
                commands_word (sent, word[n]);
        }
    }
    self->exec_at = 0;
}

// The rows, and what `owner` has of plan:owner behind them, in one step.
static void send_batch (struct writer *self, struct commands *owner, int64_t mono_us)
{
    if (PLANTED (PX_LEASE))
        ADD (owner, TEXT ("PEXPIRE"), TEXT (KEY_OWNER), TEXT ("2000"));
    ADD (owner, TEXT ("TIME"));
    self->asked_us = mono_us;
    if (owner_uses_script (self->owner)) {
        add_script (self, owner);
    } else {
        ADD (&self->sent, TEXT ("MULTI"));
        copy_commands (&self->sent, &self->rows);
        copy_commands (&self->sent, owner);
        self->exec_at = self->sent.commands;
        ADD (&self->sent, TEXT ("EXEC"));
    }
    add_look (self);
    hand_over (self);
}

static void take (struct writer *self, int64_t mono_us)
{
    struct commands owner = {0};
    const char *token = owner_token (self->owner);
    commands_clear (&self->rows);
    self->io.taking (self->io.owner, token);
    ADD (&owner, TEXT ("HSET"), TEXT (KEY_OWNER), TEXT ("token"), span_text (token), TEXT ("batch"),
         TEXT ("0"), TEXT ("name"), span_text (self->name), TEXT ("endpoints"),
         span_text (self->endpoints), TEXT ("key"), span_text (self->key));
    if (PLANTED (TOKEN_WATCHED))
        ADD (&owner, TEXT ("HSET"), TEXT ("plan:token"), TEXT ("token"), span_text (token));
    send_batch (self, &owner, mono_us);
    commands_free (&owner);
}

// The rows of the core are those of the next batch. One whose answer was lost goes out again as it
// was.
static void send_rows (struct writer *self, int64_t mono_us)
{
    struct commands owner = {0};
    bool is_new = owner_batch (self->owner) != self->number;
    self->number = owner_batch (self->owner);
    if (is_new && !self->rows.commands && core_has_rows (self->core)) {
        const struct rows *rows = core_take_rows (self->core);
        self->has_rows = true;
        self->kinds = rows->kinds;
        commands_of_rows (&self->rows, rows, self->outcomes);
        self->flying = self->gathering;
        if (!self->flying.first)
            self->flying.end = NULL;
        self->gathering = (struct waiter_list){0};
        self->hurries = false;
        self->gathers_us = 0;
    }
    ADD (&owner, TEXT ("HSET"), TEXT (KEY_OWNER), TEXT ("batch"), number (&owner, self->number));
    send_batch (self, &owner, mono_us);
    commands_free (&owner);
}

static void release_owner (struct writer *self, int64_t mono_us)
{
    struct commands owner = {0};
    char released[OWNER_TOKEN_SIZE];
    const char *token = owner_token (self->owner);
    snprintf (released, sizeof released, "%.*s.free", (int)strcspn (token, "."), token);
    commands_clear (&self->rows);
    ADD (&owner, TEXT ("HSET"), TEXT (KEY_OWNER), TEXT ("token"), span_text (released));
    send_batch (self, &owner, mono_us);
    commands_free (&owner);
}

static void carry_out (struct writer *self, int64_t mono_us)
{
    enum owner_do todo = self->todo;
    self->todo = OWNER_WAIT;
    switch (todo) {
    case OWNER_WAIT:
        return;
    case OWNER_OPEN:
        self->io.open (self->io.owner,
                       *self->refusal ? self->refusal : "another Redis is the master");
        return;
    case OWNER_LOOK:
        look (self);
        return;
    case OWNER_TAKE:
        take (self, mono_us);
        return;
    case OWNER_SEND:
        send_rows (self, mono_us);
        return;
    case OWNER_RELEASE:
        release_owner (self, mono_us);
        return;
    }
}

// -- rows that Redis did not take: what stands in their way is replaced, and they are written by
// the next batch, which what waits for this one waits for

static const struct span *command_at (const struct commands *commands, size_t index)
{
    const struct span *word = commands->words;
    for (size_t i = 0; i < index; i++)
        word += commands->sizes[i];
    return word;
}

static void note_failure (struct writer *self, size_t command, const char *error)
{
    const struct span *words = command_at (&self->rows, command);
    struct failure failure = {command, DROP};
    if (strncmp (error, "WRONGTYPE", 9) == 0 && !span_is (words[0], "SETRANGE"))
        failure.cure = REPLACE_KEY;
    else if (span_is (words[0], "HINCRBY"))
        failure.cure = REPLACE_FIELD;
    else if (span_is (words[0], "XADD"))
        failure.cure = REPLACE_HISTORY;
    if (self->failure_count == self->failure_room) {
        self->failure_room = self->failure_room ? 2 * self->failure_room : 8;
        self->failures =
            memory_resize (self->failures, self->failure_room * sizeof *self->failures);
    }
    self->failures[self->failure_count++] = failure;
}

static void add_cure (struct writer *self, struct commands *to, const struct failure *failure)
{
    const struct span *words = command_at (&self->rows, failure->command);
    struct span key = commands_copy (to, words[1]);
    if (failure->cure == REPLACE_KEY)
        ADD (to, TEXT ("DEL"), key);
    else if (failure->cure == REPLACE_FIELD)
        ADD (to, TEXT ("HDEL"), key, commands_copy (to, words[2]));
    else if (failure->cure == REPLACE_HISTORY) // of a time whose numbers were higher
        ADD (to, TEXT ("DEL"), TEXT ("plan:history"), TEXT ("plan:output"));
    if (failure->cure == REPLACE_KEY)
        self->io.wrong_key (self->io.owner, key);
}

static bool repair (struct writer *self)
{
    struct commands again = {0};
    for (size_t i = 0; i < self->failure_count; i++) {
        const struct failure *failure = &self->failures[i];
        if (failure->cure == DROP)
            continue;
        add_cure (self, &again, failure);
        const struct span *words = command_at (&self->rows, failure->command);
        commands_begin (&again);
        for (size_t k = 0; k < self->rows.sizes[failure->command]; k++)
            commands_word (&again, commands_copy (&again, words[k]));
    }
    self->failure_count = 0;
    commands_free (&self->rows);
    self->rows = again;
    return again.commands > 0;
}

// -- answers

static enum owner_refusal refusal_of (const redisReply *reply)
{
    if (!reply || reply->type != REDIS_REPLY_ERROR)
        return OWNER_TAKEN_UP;
    if (strncmp (reply->str, "OOM", 3) == 0)
        return OWNER_NO_MEMORY;
    if (strncmp (reply->str, "READONLY", 8) == 0 || strncmp (reply->str, "MASTERDOWN", 10) == 0)
        return OWNER_READ_ONLY;
    return OWNER_NOT_NOW;
}

static void note_refusal (struct writer *self, const redisReply *reply)
{
    enum owner_refusal refusal = refusal_of (reply);
    // EXECABORT says only that something was refused before.
    if (!refusal || self->refused)
        return;
    self->refused = refusal;
    snprintf (self->refusal, sizeof self->refusal, "%s", reply->str);
}

static void read_exec (struct writer *self, const redisReply *reply)
{
    if (reply && reply->type == REDIS_REPLY_ERROR)
        note_refusal (self, reply);
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements < self->rows.commands + 2)
        return;
    const struct span *words = self->rows.words;
    for (size_t i = 0; i < self->rows.commands; words += self->rows.sizes[i++]) {
        const redisReply *one = reply->element[i];
        if (one->type == REDIS_REPLY_ERROR)
            note_failure (self, i, one->str);
        else if (one->type == REDIS_REPLY_INTEGER && one->integer <= 0 &&
                 span_is (words[0], "HINCRBY")) // a count that has come to 0 is no field
            core_write (self->core, (const struct span[]){TEXT ("HDEL"), words[1], words[2]}, 3);
    }
    const redisReply *time = reply->element[reply->elements - 1]; // Redis' clock
    bool is_time = time->type == REDIS_REPLY_ARRAY && time->elements == 2 &&
                   time->element[0]->str && time->element[1]->str;
    int64_t seconds = is_time ? strtoll (time->element[0]->str, NULL, 10) : 0;
    int64_t us = is_time ? strtoll (time->element[1]->str, NULL, 10) : 0;
    if (seconds > 0 && seconds < INT64_MAX / 1000000 && us >= 0 && us < 1000000)
        self->io.time (self->io.owner, self->asked_us, seconds * 1000000 + us);
}

static void on_acked (struct writer *self)
{
    self->stays_refused = false;
    if (self->failure_count && repair (self)) {
        // It goes out with the next batch; what was submitted is there, and stays.
        self->kinds &= ~(unsigned)ROWS_SUBMISSION;
        return;
    }
    commands_clear (&self->rows);
    if (!self->has_rows)
        return;
    self->has_rows = false;
    self->kinds = 0;
    struct waiter_list flying = self->flying;
    self->flying = (struct waiter_list){0};
    for (struct waiter *waiter; (waiter = list_take (&flying));)
        waiter->release (waiter, WRITTEN, "");
    self->io.news (self->io.owner, OWNER_ACKED);
}

static void on_refused (struct writer *self)
{
    self->stays_refused = true;
    if (!(self->kinds & ROWS_SUBMISSION))
        return;
    self->kinds &= ~(unsigned)ROWS_SUBMISSION;
    memcpy (self->ended_error, self->refusal, sizeof self->ended_error);
    commands_clear (&self->rows);
    commands_of_rows (&self->rows, core_without_submissions (self->core), self->outcomes);
    end_waiters (self, &self->flying, WAITER_SUBMISSION, WRITTEN_REFUSED, INT64_MAX);
}

// What was decided is of data that are gone.
static void on_reset (struct writer *self)
{
    commands_clear (&self->rows);
    self->has_rows = self->hurries = self->stays_refused = self->reopened = false;
    self->kinds = 0;
    self->failure_count = 0;
    self->number = 0;
    end_waiters (self, &self->flying, WAITER_SURE, WRITTEN_RESET, INT64_MAX);
    end_waiters (self, &self->gathering, WAITER_SURE, WRITTEN_RESET, INT64_MAX);
    self->gathers_us = 0;
}

static void event (struct writer *self, const struct owner_event *event, int64_t boot_us)
{
    struct owner_step step = owner_event (self->owner, event, boot_us);
    if (step.what != OWNER_WAIT)
        self->todo = step.what;
    switch (step.news) {
    case OWNER_HOLDS:
    case OWNER_NOTHING:
        return;
    case OWNER_ACKED:
        on_acked (self);
        return;
    case OWNER_REFUSED:
        on_refused (self);
        return;
    case OWNER_SERVES:
    case OWNER_STANDBY:
        on_reset (self);
        break;
    case OWNER_IMPOSSIBLE:
        break;
    }
    self->io.news (self->io.owner, step.news);
}

void writer_answer (struct writer *self, const redisReply *reply, int64_t boot_us)
{
    if (!self->awaited)
        return; // of a connection that was given up
    size_t index = self->answered++;
    if (index < self->exec_at && self->exec_at != SIZE_MAX) {
        if (reply && reply->type == REDIS_REPLY_ERROR)
            note_refusal (self, reply);
    } else if (index == self->exec_at) {
        read_exec (self, reply);
    }
    if (--self->awaited)
        return;
    bool found = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
    if (!found)
        note_refusal (self, reply);
    struct owner_event found_event = {.type = found ? OWNER_FOUND : OWNER_UNFOUND,
                                      .refusal = found ? self->refused : refusal_of (reply)};
    if (found && reply->element[0]->str)
        found_event.token = span_of (reply->element[0]->str, reply->element[0]->len);
    if (found && reply->element[1]->str)
        found_event.batch = strtoll (reply->element[1]->str, NULL, 10);
    event (self, &found_event, boot_us);
    if (found && self->reopened && owner_holds (self->owner)) {
        self->reopened = false;
        self->io.news (self->io.owner, OWNER_HOLDS);
    }
}

void writer_opened (struct writer *self, int64_t boot_us)
{
    self->awaited = 0;
    self->reopened = true;
    event (self, &(struct owner_event){.type = OWNER_OPENED}, boot_us);
}

void writer_closed (struct writer *self, int64_t boot_us)
{
    self->awaited = 0;
    self->todo = OWNER_WAIT;
    event (self, &(struct owner_event){.type = OWNER_CLOSED}, boot_us);
    end_waiters (self, &self->flying, WAITER_CLIENT, WRITTEN_UNKNOWN, INT64_MAX);
    end_waiters (self, &self->gathering, WAITER_CLIENT, WRITTEN_UNKNOWN, INT64_MAX);
}

void writer_hand_over (struct writer *self, int64_t boot_us)
{
    event (self, &(struct owner_event){.type = OWNER_HANDOVER}, boot_us);
}

// -- turns

void writer_heard (struct writer *self, int64_t mono_us)
{
    self->heard_us = mono_us;
}

void writer_flush (struct writer *self, int64_t boot_us, int64_t mono_us)
{
    // Answers come in order: while Redis gives any, that of the batch is to come.
    int64_t late_us = mono_us - self->heard_us < SILENT_US ? 0 : mono_us - CLIENT_WAITS_US;
    if (self->flying.first && self->flying.first->since_us < late_us)
        end_waiters (self, &self->flying, WAITER_CLIENT, WRITTEN_UNKNOWN, late_us);
    if (self->gathering.first && self->gathering.first->since_us < late_us)
        end_waiters (self, &self->gathering, WAITER_CLIENT, WRITTEN_UNKNOWN, late_us);
    release_ended (self);
    if (boot_us >= owner_next_us (self->owner))
        event (self, &(struct owner_event){.type = OWNER_TICK}, boot_us);
    carry_out (self, mono_us);
    bool again = self->rows.commands > 0; // what was not taken the first time
    if (!owner_may_send (self->owner) || self->todo != OWNER_WAIT ||
        (!again && !core_has_rows (self->core)))
        return;
    // Leases, which nobody waits for, are left alone for a little while.
    if (!again && !self->hurries && !core_hurries (self->core)) {
        self->gathers_us = self->gathers_us ? self->gathers_us : mono_us;
        if (mono_us - self->gathers_us < PATIENCE_US)
            return;
    }
    event (self, &(struct owner_event){.type = OWNER_BATCH}, boot_us);
    carry_out (self, mono_us);
}

int64_t writer_next_us (const struct writer *self)
{
    return owner_next_us (self->owner);
}

// -- questions

bool writer_serves (const struct writer *self)
{
    return owner_holds (self->owner);
}

bool writer_is_leased (const struct writer *self, int64_t boot_us)
{
    return owner_is_leased (self->owner, boot_us);
}

unsigned writer_kinds (const struct writer *self)
{
    return self->kinds;
}

const char *writer_refusal (const struct writer *self)
{
    return self->stays_refused ? self->refusal : "";
}

size_t writer_pending (const struct writer *self)
{
    return self->gathering.count + self->flying.count;
}

bool writer_is_idle (const struct writer *self)
{
    return !self->gathering.count && !self->flying.count && !self->has_rows &&
           !core_has_rows (self->core);
}

const struct owner *writer_owner (const struct writer *self)
{
    return self->owner;
}

// -- life

struct writer *writer_new (struct core *core, const struct writer_config *config,
                           const struct writer_io *io)
{
    struct writer *self = memory_new (sizeof *self);
    self->core = core;
    self->io = *io;
    self->name = config->name;
    self->endpoints = config->endpoints;
    self->key = config->key ? config->key : "";
    self->outcomes = config->outcomes;
    self->owner = owner_new (&config->owner);
    if (PLANTED (TOKEN_BY_NAME)) {
        struct owner_config named = config->owner;
        named.seed = table_hash (span_text (config->name));
        owner_destroy (&self->owner);
        self->owner = owner_new (&named);
    }
    return self;
}

void writer_keep_outcomes (struct writer *self, int64_t outcomes)
{
    self->outcomes = outcomes;
}

void writer_destroy (struct writer **self_p)
{
    struct writer *self = *self_p;
    if (!self)
        return;
    self->closes = true;
    end_waiters (self, &self->flying, WAITER_SURE, WRITTEN_UNKNOWN, INT64_MAX);
    end_waiters (self, &self->gathering, WAITER_SURE, WRITTEN_UNKNOWN, INT64_MAX);
    for (int how = 0; how < 4; how++)
        if (how != WRITTEN_UNKNOWN)
            end_waiters (self, &self->ended[how], WAITER_SURE, WRITTEN_UNKNOWN, INT64_MAX);
    release_ended (self);
    commands_free (&self->rows);
    commands_free (&self->sent);
    free (self->failures);
    owner_destroy (&self->owner);
    free (self);
    *self_p = NULL;
}
