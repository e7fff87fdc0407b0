#include "writer_private.h"

#include <stdio.h>
#include <stdlib.h>

#include "link.h"
#include "memory.h"

enum {
    NO_ANSWER_US = 1000000,    // clients are timed out only if Redis sent nothing for this long
    CLIENT_WAITS_US = 3000000, // how long a client then waits for the batch with its change
    HEARTBEAT_DELAY_US =
        2000 // how long a heartbeat is delayed: the result of a short run usually supersedes it
};

// -- waiters

static void waiter_list_add (struct waiter_list *list, struct waiter *waiter)
{
    waiter->next = NULL;
    *(list->first ? list->end : &list->first) = waiter;
    list->end = &waiter->next;
    list->count++;
}

static struct waiter *waiter_list_take (struct waiter_list *list)
{
    struct waiter *waiter = list->first;
    if (waiter) {
        list->first = waiter->next;
        list->count--;
    }
    return waiter;
}

// Move the waiters whose kind is at least `kind` and whose wait began by `until_us` to `ended`; the
// next flush releases them. The others stay in the list.
static void end_waits (struct writer *self, struct waiter_list *list, enum waiter_kind kind,
                       enum written how, int64_t until_us)
{
    struct waiter_list all = *list;
    *list = (struct waiter_list){0};
    for (struct waiter *waiter; (waiter = waiter_list_take (&all));)
        waiter_list_add (waiter->kind >= kind && waiter->since_us <= until_us ? &self->ended[how]
                                                                              : list,
                         waiter);
}

// End the waits for both batches, whenever they began.
static void end_all_waits (struct writer *self, enum waiter_kind kind, enum written how)
{
    end_waits (self, &self->in_flight, kind, how, INT64_MAX);
    end_waits (self, &self->gathering, kind, how, INT64_MAX);
}

static void release_ended_waiters (struct writer *self)
{
    if (self->releasing)
        return;
    self->releasing = true;
    for (int how = 0; how < WRITTEN_COUNT; how++)
        for (struct waiter *waiter; (waiter = waiter_list_take (&self->ended[how]));)
            waiter->release (waiter, how, how == WRITTEN_REFUSED ? self->ended_error : "");
    self->releasing = false;
}

void writer_wait_batch (struct writer *self, struct waiter *waiter, int64_t mono_us)
{
    waiter->since_us = mono_us;
    if (self->closing) {
        waiter_list_add (&self->ended[WRITTEN_UNKNOWN], waiter);
    } else if (core_has_rows (self->core) && !PLANTED (EFFECT_FIRST)) {
        self->urgent = self->urgent || waiter->kind != WAITER_SURE;
        waiter_list_add (&self->gathering, waiter);
    } else { // the caller wrote nothing, but data that its answer is based on may be in flight
        waiter_list_add (self->has_rows ? &self->in_flight : &self->ended[WRITTEN], waiter);
    }
}

void writer_wait_flush (struct writer *self, struct waiter *waiter)
{
    waiter_list_add (&self->ended[self->closing ? WRITTEN_UNKNOWN : WRITTEN], waiter);
}

bool waiter_needs_replicas (const struct waiter *waiter)
{
    return waiter->kind != WAITER_SURE || PLANTED (BEHIND_WAIT);
}

// -- answers

// Why Redis rejected a command, by the first word of its error.
static enum owner_refusal reply_refusal (const redisReply *reply)
{
    if (!reply || reply->type != REDIS_REPLY_ERROR)
        return OWNER_NOT_REFUSED;
    if (strncmp (reply->str, "OOM", 3) == 0)
        return OWNER_NO_MEMORY;
    if (strncmp (reply->str, "READONLY", 8) == 0 || strncmp (reply->str, "MASTERDOWN", 10) == 0)
        return OWNER_READ_ONLY;
    return OWNER_NOT_NOW;
}

static void note_refusal (struct writer *self, const redisReply *reply)
{
    enum owner_refusal refusal = reply_refusal (reply);
    // Keep the first error: a later EXECABORT only repeats that a command was rejected.
    if (!refusal || self->refused)
        return;
    self->refused = refusal;
    snprintf (self->refusal, sizeof self->refusal, "%s", reply->str);
}

// Process the answers to the commands of a batch: note those that failed, and read Redis' clock,
// which is the last answer.
static void read_exec_reply (struct writer *self, const redisReply *reply)
{
    if (reply && reply->type == REDIS_REPLY_ERROR)
        note_refusal (self, reply);
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements < self->rows.commands + 2)
        return;
    const struct span *words = self->rows.words;
    for (size_t i = 0; i < self->rows.commands; words += self->rows.sizes[i++]) {
        const redisReply *answer = reply->element[i];
        if (answer->type == REDIS_REPLY_ERROR)
            writer_note_failure (self, i, answer);
        else if (answer->type == REDIS_REPLY_INTEGER && answer->integer <= 0 &&
                 span_is (words[0], "HINCRBY") && // a plan count that reaches 0 is deleted
                 span_is (words[1], KEY_COUNT))
            core_add_command (self->core, WORDS (TEXT ("HDEL"), words[1], words[2]));
    }
    int64_t redis_us = link_time_us (reply->element[reply->elements - 1]);
    if (redis_us)
        self->io.time (self->io.owner, self->asked_us, redis_us);
}

// The batch in flight was applied: repair failed rows first, else release its waiters.
static void on_batch_acked (struct writer *self)
{
    self->stays_refused = false;
    if (self->failure_count && writer_repair (self)) {
        // The next batch resends the failed rows; submissions of this one are written.
        self->kinds &= ~(unsigned)ROWS_SUBMISSION;
        return;
    }
    commands_clear (&self->rows);
    if (!self->has_rows)
        return;
    self->has_rows = false;
    self->kinds = 0;
    struct waiter_list in_flight = self->in_flight;
    self->in_flight = (struct waiter_list){0};
    for (struct waiter *waiter; (waiter = waiter_list_take (&in_flight));)
        waiter->release (waiter, WRITTEN, "");
    self->io.owner_changed (self->io.owner, OWNER_ACKED);
}

// Redis rejected the batch. It is resent later, without its submissions, whose waiters get the
// error.
static void on_batch_refused (struct writer *self)
{
    self->stays_refused = true;
    if (!(self->kinds & ROWS_SUBMISSION))
        return;
    self->kinds &= ~(unsigned)ROWS_SUBMISSION;
    memcpy (self->ended_error, self->refusal, sizeof self->ended_error);
    commands_clear (&self->rows);
    commands_of_rows (&self->rows, core_drop_submissions (self->core), self->outcomes);
    end_waits (self, &self->in_flight, WAITER_SUBMISSION, WRITTEN_REFUSED, INT64_MAX);
}

// Drop the pending batches: a takeover or the loss of the ownership made their data invalid.
static void drop_batches (struct writer *self)
{
    commands_clear (&self->rows);
    self->has_rows = self->urgent = self->stays_refused = self->reopened = false;
    self->kinds = 0;
    self->failure_count = 0;
    self->number = 0;
    end_all_waits (self, WAITER_SURE, WRITTEN_RESET);
    self->delayed_since_us = 0;
}

// Pass an event to the owner's protocol, and handle the change it reports. `todo` gets the action.
static void process_owner_event (struct writer *self, const struct owner_event *event,
                                 int64_t boot_us)
{
    struct owner_step step = owner_event (self->owner, event, boot_us);
    if (step.action != OWNER_WAIT)
        self->todo = step.action;
    switch (step.change) {
    case OWNER_STILL_OWNS:
    case OWNER_UNCHANGED:
        return;
    case OWNER_ACKED:
        on_batch_acked (self);
        return;
    case OWNER_REFUSED:
        on_batch_refused (self);
        return;
    case OWNER_TOOK_OVER:
    case OWNER_STANDBY:
        drop_batches (self);
        break;
    case OWNER_IMPOSSIBLE:
        break;
    }
    self->io.owner_changed (self->io.owner, step.change);
}

void writer_answer (struct writer *self, const redisReply *reply, int64_t boot_us)
{
    if (!self->awaited)
        return; // an answer of a closed connection
    size_t index = self->answered++;
    if (index < self->exec_at && self->exec_at != SIZE_MAX) {
        if (reply && reply->type == REDIS_REPLY_ERROR)
            note_refusal (self, reply);
    } else if (index == self->exec_at) {
        read_exec_reply (self, reply);
    } else if (reply && reply->type == REDIS_REPLY_ERROR) {
        self->unwatched = true; // without WATCH, no batch would be fenced
        note_refusal (self, reply);
    }
    if (--self->awaited)
        return;
    bool found =
        reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 && !self->unwatched;
    if (!found)
        note_refusal (self, reply);
    if (!found || self->check_rejected)
        self->stays_refused = !found;
    self->check_rejected = !found;
    struct owner_event found_event = {.type = found ? OWNER_CHECKED : OWNER_CHECK_REJECTED,
                                      .refusal = found ? self->refused : reply_refusal (reply)};
    if (found && reply->element[0]->str)
        found_event.token = span_of (reply->element[0]->str, reply->element[0]->len);
    if (found && reply->element[1]->str)
        found_event.batch = strtoll (reply->element[1]->str, NULL, 10);
    process_owner_event (self, &found_event, boot_us);
    if (found && self->reopened && owner_is_owner (self->owner)) {
        self->reopened = false;
        self->io.owner_changed (self->io.owner, OWNER_STILL_OWNS);
    }
}

void writer_opened (struct writer *self, int64_t boot_us)
{
    self->awaited = 0;
    self->reopened = true;
    process_owner_event (self, &(struct owner_event){.type = OWNER_OPENED}, boot_us);
}

void writer_closed (struct writer *self, int64_t boot_us)
{
    self->awaited = 0;
    self->todo = OWNER_WAIT;
    process_owner_event (self, &(struct owner_event){.type = OWNER_CLOSED}, boot_us);
    end_all_waits (self, WAITER_CLIENT, WRITTEN_UNKNOWN);
}

void writer_retake (struct writer *self, int64_t boot_us)
{
    process_owner_event (self, &(struct owner_event){.type = OWNER_RETAKE}, boot_us);
}

void writer_hand_over (struct writer *self, int64_t boot_us)
{
    process_owner_event (self, &(struct owner_event){.type = OWNER_HANDOVER}, boot_us);
}

// -- turns

void writer_flush (struct writer *self, int64_t boot_us, int64_t mono_us, int64_t answered_us)
{
    // Answers come in order: while any arrive, the answer to the batch will follow.
    int64_t late_us = mono_us - answered_us < NO_ANSWER_US ? 0 : mono_us - CLIENT_WAITS_US;
    if (self->in_flight.first && self->in_flight.first->since_us < late_us)
        end_waits (self, &self->in_flight, WAITER_CLIENT, WRITTEN_UNKNOWN, late_us);
    if (self->gathering.first && self->gathering.first->since_us < late_us)
        end_waits (self, &self->gathering, WAITER_CLIENT, WRITTEN_UNKNOWN, late_us);
    release_ended_waiters (self);
    if (boot_us >= owner_next_us (self->owner))
        process_owner_event (self, &(struct owner_event){.type = OWNER_TICK}, boot_us);
    writer_send_todo (self, mono_us);
    bool resends = self->rows.commands > 0; // rows that failed and must be resent
    if (!owner_may_send_batch (self->owner) || self->todo != OWNER_WAIT ||
        (!resends && !core_has_rows (self->core)))
        return;
    // Heartbeats, for which no caller waits, are delayed for a short time.
    if (!resends && !self->urgent && !core_batch_is_urgent (self->core)) {
        self->delayed_since_us = self->delayed_since_us ? self->delayed_since_us : mono_us;
        if (mono_us - self->delayed_since_us < HEARTBEAT_DELAY_US)
            return;
    }
    process_owner_event (self, &(struct owner_event){.type = OWNER_BATCH}, boot_us);
    writer_send_todo (self, mono_us);
}

// -- queries

unsigned writer_row_kinds (const struct writer *self)
{
    return self->kinds;
}

const char *writer_refusal (const struct writer *self)
{
    return self->stays_refused ? self->refusal : "";
}

size_t writer_waiter_count (const struct writer *self)
{
    return self->gathering.count + self->in_flight.count;
}

bool writer_is_idle (const struct writer *self)
{
    return !self->gathering.count && !self->in_flight.count && !self->has_rows &&
           !core_has_rows (self->core);
}

void writer_trim (struct writer *self)
{
    if (!writer_is_idle (self))
        return;
    commands_free (&self->rows);
    commands_free (&self->sent);
    core_release_memory (self->core);
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

void writer_set_outcomes (struct writer *self, int64_t outcomes)
{
    self->outcomes = outcomes;
}

void writer_destroy (struct writer **self_p)
{
    struct writer *self = *self_p;
    if (!self)
        return;
    self->closing = true;
    end_all_waits (self, WAITER_SURE, WRITTEN_UNKNOWN);
    for (int how = 0; how < WRITTEN_COUNT; how++)
        if (how != WRITTEN_UNKNOWN)
            end_waits (self, &self->ended[how], WAITER_SURE, WRITTEN_UNKNOWN, INT64_MAX);
    release_ended_waiters (self);
    commands_free (&self->rows);
    commands_free (&self->sent);
    free (self->failures);
    owner_destroy (&self->owner);
    free (self);
    *self_p = NULL;
}
