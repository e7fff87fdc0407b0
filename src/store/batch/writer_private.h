// Private to the files of the writer.
#pragma once

#include "plant.h"
#include "redis_keys.h"
#include "row_commands.h"
#include "writer.h"

enum { REFUSAL_SIZE = 128 };

struct waiter_list {
    struct waiter *first;
    struct waiter **end;
    size_t count;
};

// A command of a batch that failed in Redis.
struct failed_row {
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

    // the answers to what was sent
    size_t awaited, answered;
    size_t exec_at;      // index of the batch's answer; SIZE_MAX = no batch was sent
    int64_t answered_us; // when Redis answered anything last (writer_redis_answered)
    enum owner_refusal refused;
    char refusal[REFUSAL_SIZE];
    bool stays_refused; // until a batch is applied
    bool unwatched;     // Redis rejected the WATCH
    bool blind;         // the last look was refused

    // the batch in flight
    struct commands rows, sent;
    int64_t number; // of the last batch; its rows are unchanged until it is answered
    bool has_rows;  // the batch has rows of the core, to be acknowledged
    unsigned kinds; // kinds of those rows
    int64_t asked_us;
    struct failed_row *failures;
    size_t failure_count, failure_room;

    struct waiter_list gathering, in_flight;
    struct waiter_list ended[WRITTEN_HOWS]; // by outcome: to be released with the next flush
    char ended_error[REFUSAL_SIZE];
    bool hurries; // a caller waits for the batch being collected
    int64_t gathers_us;
    bool releasing;
    bool closes; // nothing is written any more: waiters are released as lost
};

// Do what the owner's protocol requires in this flush: writer_send.c.
void writer_carry_out (struct writer *self, int64_t mono_us);

// Note that a command of the batch in flight failed, with its error. writer_repair puts commands
// that replace the blocking keys in front of the rows to resend. False: nothing to repair.
// writer_repair.c.
void writer_note_failure (struct writer *self, size_t command, const redisReply *reply);
bool writer_repair (struct writer *self);

#define ADD(commands, ...)                                                                         \
    commands_add (commands, (const struct span[]){__VA_ARGS__},                                    \
                  sizeof ((const struct span[]){__VA_ARGS__}) / sizeof (struct span))
#define TEXT(literal) span_text (literal)
