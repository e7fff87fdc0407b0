// Limits of targets and groups at work: how many runs each has, and up to when its rate is used up.
// Pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "span.h"
#include "table.h"

enum { LIMIT_NAME_MAX = 2 + 64 }; // "s:TARGET" or "g:GROUP"

// How many runs a target or a group may have at a time, and how often one may begin.
struct limit {
    int64_t concurrency; // 0 = no bound
    double rate;         // a second; 0 = no bound
    int64_t burst;       // that may begin at once after a pause; 0 = 1
};

// A name that has a limit, or had a rate that is not over.
struct limit_state {
    struct table_node node;
    char name[LIMIT_NAME_MAX + 1];
    struct limit set;        // by an admin; it replaces that of the settings
    bool is_set, is_renewed; // renewed: since limits_begin
    struct limit by_settings;
    struct limit limit; // the one that holds
    int64_t busy;       // runs
    double used_us;     // its rate is used up to this time, Redis' clock
    bool unwritten;     // used_us has changed since it was written
};

struct limit_table {
    struct table states;
};

void limits_free (struct limit_table *self);

// The state of this name, or NULL: it has no limit.
struct limit_state *limits_find (const struct limit_table *self, struct span name);

// Set its limit by an admin (NULL: none any more), or by the settings. Returns whether the limit in
// force has changed: then `busy` must be counted again.
bool limits_set (struct limit_table *self, struct span name, const struct limit *limit);
bool limits_configure (struct limit_table *self, struct span name, const struct limit *limit);

// Replace the limits set by admins: those not set between these two are dropped. Returns whether
// any was.
void limits_begin (struct limit_table *self);
bool limits_end (struct limit_table *self);

// Its rate is used up to this time, as it was read.
void limits_used (struct limit_table *self, struct span name, double used_us);

// Whether another run may begin. False: `wake_us` is lowered to when a rate allows it, unless it
// waits for the end of a run.
bool limit_allows (const struct limit_state *self, int64_t now_us, int64_t *wake_us);

// How many more may begin; INT64_MAX = any number.
int64_t limit_left (const struct limit_state *self, int64_t now_us, int64_t *wake_us);

// A run begins: it is counted, and its rate used. Returns whether `used_us` has changed.
bool limit_begin (struct limit_state *self, int64_t now_us);

// It began with a charge, and is not run after all.
void limit_give_back (struct limit_state *self);

void limit_end (struct limit_state *self);

// The text of a limit in Redis (plan:limits); what is not valid is no limit.
enum { LIMIT_TEXT_MAX = 80 };
void limit_write (const struct limit *limit, char out[LIMIT_TEXT_MAX]);
struct limit limit_read (struct span text);
