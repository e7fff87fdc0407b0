// The limits of targets and groups, and their state: how many runs each has in progress, and until
// when its rate is used up. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "span.h"
#include "table.h"

enum { LIMIT_NAME_MAX = 2 + 64 }; // "s:TARGET" or "g:GROUP"

// At most this many concurrent runs of a target or a group, and starts per second.
struct limit {
    int64_t concurrency; // 0 = no bound
    double rate;         // starts per second; 0 = no bound
    int64_t burst;       // runs that may start at once after a pause; 0 = 1
};

// A name that has a limit, or had one with a rate that is still used up.
struct limit_state {
    struct table_node node;
    char name[LIMIT_NAME_MAX + 1];
    struct limit set; // by an admin; overrides the limit of the settings
    bool is_set;
    bool is_renewed; // set since limits_begin_reload
    struct limit by_settings;
    struct limit limit; // the one in force
    int64_t busy;       // runs in progress
    double used_us;     // its rate is used up until this time, Redis' clock
    bool unwritten;     // used_us has changed since it was written
};

struct limit_table {
    struct table states;
};

void limits_free (struct limit_table *self);

// The state of this name; NULL: it has no limit.
struct limit_state *limits_find (const struct limit_table *self, struct span name);

// The state of a target (kind 's') or group ('g'); NULL: it has no limit.
struct limit_state *limits_find_for (const struct limit_table *self, char kind, const char *name);

// Set the limit of a name by an admin; NULL removes it. Returns whether the limit in force has
// changed: then `busy` must be counted again.
bool limits_set (struct limit_table *self, struct span name, const struct limit *limit);

// Set the limit that the settings define for a name; one without bounds = none. Returns as
// limits_set.
bool limits_configure (struct limit_table *self, struct span name, const struct limit *limit);

// Begin to reload the limits set by admins.
void limits_begin_reload (struct limit_table *self);

// End the reload: drop the limits that were not set since limits_begin_reload. Returns whether a
// limit in force has changed.
bool limits_end_reload (struct limit_table *self);

// Load until when the rate of a name is used up, as read from Redis.
void limits_load_rate (struct limit_table *self, struct span name, double used_us);

// Whether another run may begin now. If only the rate prevents it, `wake_us` is lowered to when the
// rate allows it.
bool limit_allows (const struct limit_state *self, int64_t now_us, int64_t *wake_us);

// How many more runs may begin now; INT64_MAX = any number. `wake_us` as in limit_allows.
int64_t limit_left (const struct limit_state *self, int64_t now_us, int64_t *wake_us);

// Count a run that begins, and use up its part of the rate. Returns whether `used_us` has changed.
bool limit_begin_run (struct limit_state *self, int64_t now_us);

// Undo limit_begin_run: the run did not begin after all.
void limit_undo_begin (struct limit_state *self);

// Stop counting a run.
void limit_end_run (struct limit_state *self);

// Format a limit as Redis stores it (plan:limits).
enum { LIMIT_TEXT_MAX = 80 };
void limit_write (const struct limit *limit, char out[LIMIT_TEXT_MAX]);

// Parse such a text. An invalid number is read as no bound.
struct limit limit_read (struct span text);
