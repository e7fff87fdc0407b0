// What the files of the link that answers share; nobody else includes it.
#pragma once

#include "answers.h"

enum { ANSWER_WORDS_MAX = 8, OWNER_TEXT_SIZE = 80 };

// The form of what is asked for.
struct form {
    enum form_type {
        FORM_VALUE,
        FORM_NUMBER,
        FORM_ARRAY,
        FORM_ENTRIES, // of a stream
        FORM_OK,      // of a command of a batch
        FORM_WATCH,
        FORM_LOOK, // at the owner's key
        FORM_MULTI,
        FORM_BATCH
    } type;
    size_t head, unit; // of an array: elements in front, and of each row
    bool exact;        // it has no more than its head
    bool rows;         // each row is an array
};

// What a batch makes of the owner's key, if it is applied.
struct effect {
    size_t commands;
    bool has_batch, is_script;
    char token[OWNER_TEXT_SIZE], found[OWNER_TEXT_SIZE]; // "" = it stays
    int64_t batch, found_batch;
};

// The Redis.
struct database {
    struct feed *feed;
    char token[OWNER_TEXT_SIZE]; // of the owner
    int64_t batch;
    uint64_t version, watched; // of its key
    const char *refusal;       // of this transaction; NULL = none
    const char *words[ANSWER_WORDS_MAX];
    size_t word_count;
    int64_t passed_us, skew_us;
};

extern struct database the_database;

// In memory that the feed frees.
const redisReply *answer_read (const struct form *form, const struct effect *effect);
