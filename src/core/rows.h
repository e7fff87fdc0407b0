// What a batch writes: rows, grouped by the Redis command that writes them, so that one command
// writes many rows. Pure.
// A column is the rows of one command. It has at most one row per plan (core_batch.c writes the
// final state of its record), so the columns may be written in any order. The other commands are
// written after them, in their order, then the outcomes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "commands.h"
#include "decimal.h"
#include "ident.h"
#include "span.h"
#include "station_name.h"

// -- texts in Redis that name a plan

// Room for a key or member that names a plan.
enum { PLAN_KEY_SIZE = 16 + STATION_NAME_MAX + 1 + IDENT_SIZE };

// Write the key of a plan that begins with the prefix `start`, such as KEY_MESSAGE, and a NUL.
// Returns its size. A message key is also the plan's member of plan:time:set.
size_t plan_key_make (char out[PLAN_KEY_SIZE], const char *start, struct span target, uint64_t id);

// Write an id as 16 hex digits, in which form ids sort as text.
void id_write_digits (uint64_t id, char out[IDENT_SIZE]);

// Write the plan's member of plan:ids, and a NUL. Returns its size.
size_t index_entry_make (char out[PLAN_KEY_SIZE], struct span target, uint64_t id);

// Write a score of the queue in seconds, an integer or with six decimals, and a NUL. Returns its
// size.
enum { SCORE_SIZE = DECIMAL_SIZE + 8 };
size_t score_make (char out[SCORE_SIZE], int64_t score_us);

// -- rows

enum row_column {
    COLUMN_SET,   // messages: key, value
    COLUMN_DEL,   // keys
    COLUMN_QUEUE, // plan:time:set: score, member
    COLUMN_UNQUEUE,
    COLUMN_LIST, // plan:ids: score "0", member
    COLUMN_UNLIST,
    COLUMN_RUN, // plan:run: field, value
    COLUMN_UNRUN,
    COLUMN_CLASS, // plan:class: field, value
    COLUMN_UNCLASS,
    COLUMNS
};

// How a column is written: the command, its key ("" = the rows have their own keys), and how many
// arguments a row has.
struct column_form {
    const char *command, *key;
    size_t width;
};

extern const struct column_form column_forms[COLUMNS];

struct row_list {
    struct span *at;
    size_t count, room;
};

// An outcome for the history. `sub` 0: it is broadcast with the number `seq`. Else it is not
// broadcast: it is the `sub`th outcome after broadcast `seq`.
struct outcome_row {
    int64_t seq, sub;
    struct span station;
    uint64_t plan_id;
    int64_t ended_ms;
    struct span record, output; // the output may be empty
};

// The kinds of decisions of a batch.
enum { ROWS_SUBMISSION = 1, ROWS_CLAIM = 2, ROWS_RESULT = 4 };

struct rows {
    unsigned kinds;
    struct row_list columns[COLUMNS];
    struct commands commands;
    struct outcome_row *outcomes;
    size_t outcome_count, outcome_room;
    size_t size;               // bytes of all rows, approximately
    struct rows_chunk *chunks; // memory of copied texts
};

// Whether there are no rows. A zeroed struct rows is empty, and needs no rows_free.
bool rows_empty (const struct rows *self);

// Forget all rows; the memory is reused.
void rows_clear (struct rows *self);
void rows_free (struct rows *self);

// A copy of a text that lives as long as the rows.
struct span rows_copy_text (struct rows *self, struct span text);

// A number as text that lives as long as the rows.
struct span rows_number (struct rows *self, int64_t number);

// Add a row; only columns of width 2 use `second`. The texts must live as long as the rows.
void rows_add (struct rows *self, enum row_column column, struct span first, struct span second);

// Add a command: its name and arguments. They must live as long as the rows.
void rows_add_command (struct rows *self, const struct span *words, size_t count);

// Add a copy of a command, or merge it into the last one if that has the same name and key: more
// fields of a hash, values of a list, keys to delete.
void rows_merge_command (struct rows *self, const struct span *words, size_t count);

// Add an outcome. Its texts must live as long as the rows.
void rows_add_outcome (struct rows *self, const struct outcome_row *outcome);
