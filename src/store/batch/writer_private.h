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
    size_t command; // its index in the batch in flight
    enum { REPLACE_KEY, REPLACE_FIELD, REPLACE_HISTORY, DROP } cure;
};

struct writer {
    struct core *core;
    struct owner *owner;
    struct writer_io io;
    const char *name, *endpoints, *key;
    int64_t outcomes;
    enum owner_action todo; // what the next flush sends
    bool reopened;          // the connection is new: who owns the database was not read yet

    // the answers to the commands that were sent last
    size_t awaited;             // number of answers still to come
    size_t answered;            // number of answers that have come
    size_t exec_at;             // index of the batch's answer; SIZE_MAX = no batch was sent
    enum owner_refusal refused; // the first refusal among these answers
    char refusal[REFUSAL_SIZE]; // text of the last refusal; "" = there was none
    bool stays_refused;         // no batch was applied since that refusal
    bool unwatched;             // Redis rejected the WATCH
    bool check_rejected;        // Redis rejected the last check of the owner

    // the batch in flight
    struct commands rows; // its rows as commands, unchanged until it is applied
    struct commands sent; // buffer for all commands of one write
    int64_t number;       // the last batch number used
    bool has_rows;        // the batch has rows of the core, to be acknowledged
    unsigned kinds;       // ROWS_ flags of these rows
    int64_t asked_us;     // when the batch was sent, monotonic
    struct failed_row *failures;
    size_t failure_count, failure_room;

    struct waiter_list gathering, in_flight;
    struct waiter_list ended[WRITTEN_COUNT]; // by outcome: to be released with the next flush
    char ended_error[REFUSAL_SIZE];          // error text for the waiters of WRITTEN_REFUSED
    bool urgent;              // a caller waits for the batch being collected, so it is not delayed
    int64_t delayed_since_us; // since when it is delayed, monotonic; 0 = it is not
    bool releasing;           // release callbacks are running
    bool closing;             // the writer is being destroyed: waiters get WRITTEN_UNKNOWN
};

// Send what the owner's protocol requires in this flush (`todo`): writer_send.c.
void writer_send_todo (struct writer *self, int64_t mono_us);

// Note that a command of the batch in flight failed, with its error: writer_repair.c.
void writer_note_failure (struct writer *self, size_t command, const redisReply *reply);

// Replace `rows` by the rows that failed, each after a command that removes the key that blocked
// it. False: there is nothing to resend.
bool writer_repair (struct writer *self);
