// The kinds of time of a plan: --in, --at, --every ... Each is a row: its option and its reader.
#pragma once

#include "when.h"

enum when_bit {
    IN = 1,
    AT = 2,
    EVERY = 4,
    WEEKLY = 8,
    MONTHLY = 16,
    CRON = 32,
    NOW = 64,
    TYPE = 128,
    DAILY = 256,
    REPEATING = EVERY | DAILY | WEEKLY | MONTHLY | CRON | TYPE
};

// The context of a reader.
struct when_context {
    const struct when_words *words;
    const struct zone *zone;
    int64_t now_us;
    struct schedule *rule;
    json_t *members; // as in struct when
    struct reason *reason;
};

struct when_kind {
    enum when_bit bit;
    const char *option;
    size_t offset; // offset of its text in struct when_words
    // Parse the text into the rule and the members. 0, or -1 with a reason that names the option.
    int (*read) (const struct when_context *self, const char *text);
};

enum { WHEN_KINDS = 8 };
extern const struct when_kind when_kinds[WHEN_KINDS];

// Find the type with this name or number. Invalid: the result is outside 0..SCHEDULE_TYPES - 1.
int64_t when_type (const char *text);
