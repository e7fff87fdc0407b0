#include "limit_state.h"

#include <string.h>
#include <inttypes.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>

#include "memory.h"

static struct limit_state *limit_state_of (struct table_node *node)
{
    return (struct limit_state *)node; // it is the first member
}

void limits_free (struct limit_table *self)
{
    for (struct table_node *node = table_step (&self->states, NULL), *next; node; node = next) {
        next = table_step (&self->states, node);
        free (limit_state_of (node));
    }
    table_free (&self->states);
}

struct limit_state *limits_find (const struct limit_table *self, struct span name)
{
    if (!self->states.count)
        return NULL;
    struct table_node *node = table_find (&self->states, table_hash (name));
    while (node && !span_is (name, limit_state_of (node)->name))
        node = table_next (node);
    return node ? limit_state_of (node) : NULL;
}

struct limit_state *limits_find_for (const struct limit_table *self, char kind, const char *name)
{
    char text[LIMIT_NAME_MAX + 1];
    int size = snprintf (text, sizeof text, "%c:%s", kind, name);
    return limits_find (self, span_of (text, (size_t)size));
}

// The state of this name, added if needed; NULL: the name is too long.
static struct limit_state *state_for (struct limit_table *self, struct span name)
{
    struct limit_state *state = limits_find (self, name);
    if (state || name.size > LIMIT_NAME_MAX)
        return state;
    state = memory_new (sizeof *state);
    if (name.size)
        memcpy (state->name, name.data, name.size);
    table_add (&self->states, &state->node, table_hash (name));
    return state;
}

// A limit without a bound is no limit.
static bool has_bound (const struct limit *limit)
{
    return limit->concurrency > 0 || limit->rate > 0;
}

static bool limit_equals (const struct limit *left, const struct limit *right)
{
    return left->concurrency == right->concurrency && !(left->rate < right->rate) &&
           !(left->rate > right->rate) && left->burst == right->burst;
}

// Returns whether the limit in force has changed.
static bool update_limit_in_force (struct limit_state *state)
{
    struct limit before = state->limit;
    state->limit = state->is_set ? state->set : state->by_settings;
    return !limit_equals (&before, &state->limit);
}

bool limits_set (struct limit_table *self, struct span name, const struct limit *limit)
{
    struct limit_state *state = limit ? state_for (self, name) : limits_find (self, name);
    if (!state)
        return false;
    state->is_set = state->is_renewed = limit != NULL;
    state->set = limit ? *limit : (struct limit){0};
    return update_limit_in_force (state);
}

bool limits_configure (struct limit_table *self, struct span name, const struct limit *limit)
{
    struct limit_state *state =
        has_bound (limit) ? state_for (self, name) : limits_find (self, name);
    if (!state)
        return false;
    state->by_settings = *limit;
    return update_limit_in_force (state);
}

void limits_begin_reload (struct limit_table *self)
{
    for (struct table_node *node = NULL; (node = table_step (&self->states, node));)
        limit_state_of (node)->is_renewed = false;
}

bool limits_end_reload (struct limit_table *self)
{
    bool dropped = false;
    for (struct table_node *node = NULL; (node = table_step (&self->states, node));) {
        struct limit_state *state = limit_state_of (node);
        if (!state->is_set || state->is_renewed)
            continue;
        state->is_set = false;
        dropped = update_limit_in_force (state) || dropped;
    }
    return dropped;
}

void limits_load_rate (struct limit_table *self, struct span name, double used_us)
{
    struct limit_state *state = state_for (self, name);
    if (state)
        state->used_us = used_us;
}

// -- runs

// The time that one start uses up.
static double start_interval_us (const struct limit_state *self)
{
    return 1e6 / self->limit.rate;
}

static double limit_burst (const struct limit_state *self)
{
    return self->limit.burst > 0 ? (double)self->limit.burst : 1;
}

// Until when the rate is used up: not before now, so that unused starts do not add up beyond the
// burst; not later than a burst from now, in case the clock was set back.
static double rate_used_until_us (const struct limit_state *self, int64_t now_us)
{
    double now = (double)now_us;
    return fmin (fmax (self->used_us, now), now + limit_burst (self) * start_interval_us (self));
}

int64_t limit_left (const struct limit_state *self, int64_t now_us, int64_t *wake_us)
{
    int64_t left = INT64_MAX;
    if (self->limit.concurrency > 0)
        left = self->limit.concurrency > self->busy ? self->limit.concurrency - self->busy : 0;
    if (!(self->limit.rate > 0) || left == 0)
        return left;
    double used = rate_used_until_us (self, now_us), every = start_interval_us (self);
    double tokens = floor (((double)now_us - used) / every + limit_burst (self) + 1e-6);
    int64_t next_us = (int64_t)ceil (used - (limit_burst (self) - 1) * every);
    if (tokens < 1 && next_us < *wake_us)
        *wake_us = next_us;
    return tokens < (double)left ? (int64_t)fmax (tokens, 0) : left;
}

bool limit_allows (const struct limit_state *self, int64_t now_us, int64_t *wake_us)
{
    return limit_left (self, now_us, wake_us) > 0;
}

bool limit_begin_run (struct limit_state *self, int64_t now_us)
{
    self->busy++;
    if (!(self->limit.rate > 0))
        return false;
    self->used_us = rate_used_until_us (self, now_us) + start_interval_us (self);
    return true;
}

void limit_undo_begin (struct limit_state *self)
{
    self->busy--;
    if (self->limit.rate > 0)
        self->used_us -= start_interval_us (self);
}

void limit_end_run (struct limit_state *self)
{
    if (self->busy > 0)
        self->busy--;
}

// -- text in Redis

void limit_write (const struct limit *limit, char out[LIMIT_TEXT_MAX])
{
    char concurrency[24] = "", rate[32] = "", burst[24] = "";
    if (limit->concurrency)
        snprintf (concurrency, sizeof concurrency, "%" PRId64, limit->concurrency);
    if (limit->rate > 0)
        snprintf (rate, sizeof rate, "%.9f", limit->rate);
    if (limit->burst)
        snprintf (burst, sizeof burst, "%" PRId64, limit->burst);
    snprintf (out, LIMIT_TEXT_MAX, "%s %s %s", concurrency, rate, burst);
}

// Take the number before the next space; 0: it is invalid.
static double take_next_number (struct span *text)
{
    char digits[32] = "";
    const uint8_t *space = memchr (text->data, ' ', text->size);
    size_t size = space ? (size_t)(space - text->data) : text->size;
    if (size && size < sizeof digits)
        memcpy (digits, text->data, size);
    size_t passed = space ? size + 1 : size;
    *text = span_of (text->data + passed, text->size - passed);
    double number = strtod (digits, NULL);
    return isfinite (number) && number > 0 && number < 1e9 ? number : 0;
}

struct limit limit_read (struct span text)
{
    struct limit limit = {0};
    if (!text.size)
        return limit;
    limit.concurrency = (int64_t)take_next_number (&text);
    limit.rate = take_next_number (&text);
    limit.burst = (int64_t)take_next_number (&text);
    return limit;
}
