#include "team.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

static void text_free (struct span *text)
{
    free ((void *)(uintptr_t)text->data);
    *text = (struct span){0};
}

void worker_set_text (struct span *text, struct span value)
{
    uint8_t *copy = value.size ? memory_copy (value.data, value.size) : NULL;
    text_free (text);
    *text = span_of (copy, value.size);
}

// Free the texts of a worker, but not its name.
static void worker_clear (struct team_worker *worker)
{
    text_free (&worker->reason);
    text_free (&worker->result);
    text_free (&worker->progress);
}

static void worker_free (struct team_worker *worker)
{
    worker_clear (worker);
    free (worker->name);
    free (worker);
}

static void clear_removed_names (struct team *self)
{
    for (size_t i = 0; i < self->removed_count; i++)
        free (self->removed[i]);
    self->removed_count = 0;
}

static void remove_all_workers (struct team *self)
{
    for (size_t i = 0; i < self->count; i++)
        worker_free (self->workers[i]);
    self->count = 0;
    clear_removed_names (self);
}

struct team *team_new (void)
{
    return memory_new (sizeof (struct team));
}

void team_destroy (struct team **self_p)
{
    struct team *self = *self_p;
    if (!self)
        return;
    remove_all_workers (self);
    team_rule_free (&self->rule);
    free (self->workers);
    free (self->removed);
    free (self);
    *self_p = NULL;
}

// -- the workers of a team

// The index of the worker of this name, or the one where it would be inserted.
static size_t worker_index (const struct team *self, struct span name, bool *ret_found)
{
    size_t first = 0, end = self->count;
    *ret_found = false;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        struct span middle_name = span_text (self->workers[middle]->name);
        size_t common = middle_name.size < name.size ? middle_name.size : name.size;
        int order = common ? memcmp (middle_name.data, name.data, common) : 0;
        if (order == 0 && middle_name.size == name.size) {
            *ret_found = true;
            return middle;
        }
        if (order < 0 || (order == 0 && middle_name.size < name.size))
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

struct team_worker *team_find (const struct team *self, struct span name)
{
    bool found;
    size_t at = worker_index (self, name, &found);
    return found ? self->workers[at] : NULL;
}

// The worker of this name, added if needed.
static struct team_worker *worker_for (struct team *self, struct span name)
{
    bool found;
    size_t at = worker_index (self, name, &found);
    if (found)
        return self->workers[at];
    self->workers = memory_grow (self->workers, self->count, &self->room, sizeof *self->workers);
    memmove (&self->workers[at + 1], &self->workers[at],
             (self->count++ - at) * sizeof *self->workers);
    struct team_worker *worker = memory_new (sizeof *worker);
    worker->name = memory_copy (name.data, name.size);
    self->workers[at] = worker;
    return worker;
}

void team_load (struct team *self, struct span field, struct span value)
{
    struct team_worker loaded = {0};
    self->is_stored = true;
    if (span_is (field, "team")) {
        team_unpack_head (value, self);
        return;
    }
    if (field.size < 3 || memcmp (field.data, "w:", 2) != 0 || memchr (field.data, 0, field.size) ||
        !team_unpack_worker (value, &loaded))
        return;
    struct team_worker *worker = worker_for (self, span_of (field.data + 2, field.size - 2));
    worker_clear (worker);
    loaded.name = worker->name;
    *worker = loaded;
}

struct team_worker *team_add_worker (struct team *self, struct span name, uint64_t exec_id,
                                     int64_t now_ms)
{
    struct team_worker *worker = worker_for (self, name);
    char *own = worker->name;
    worker_clear (worker);
    *worker = (struct team_worker){.name = own,
                                   .state = WORKER_RUNNING,
                                   .started_ms = now_ms,
                                   .last_report_ms = now_ms,
                                   .timeout_s = self->rule.timeout_s,
                                   .exec_id = exec_id,
                                   .unwritten = true};
    return worker;
}

static void add_removed_name (struct team *self, const char *name)
{
    self->removed = memory_grow (self->removed, self->removed_count, &self->removed_room,
                                 sizeof *self->removed);
    self->removed[self->removed_count++] = memory_text (name);
}

void team_remove (struct team *self, struct team_worker *worker)
{
    bool found;
    size_t at = worker_index (self, span_text (worker->name), &found);
    if (!found)
        return;
    add_removed_name (self, worker->name);
    memmove (&self->workers[at], &self->workers[at + 1],
             (--self->count - at) * sizeof *self->workers);
    worker_free (worker);
}

// When a worker is late unless a heartbeat comes.
static int64_t late_at_ms (const struct team_worker *worker)
{
    return worker->last_report_ms + worker->timeout_s * 1000 + 1;
}

bool worker_is_late (const struct team_worker *self, int64_t now_ms)
{
    return self->state == WORKER_RUNNING && now_ms >= late_at_ms (self);
}

void team_remove_late (struct team *self, int64_t now_ms)
{
    for (size_t i = self->count; i-- > 0;)
        if (worker_is_late (self->workers[i], now_ms))
            team_remove (self, self->workers[i]);
}

// -- outcome

// Whether `worker` decides the outcome rather than `rival`: a worker that failed precedes, else the
// worker that ended later.
static bool decides_outcome (const struct team_worker *worker, const struct team_worker *rival)
{
    bool worker_failed = worker->state == WORKER_FAIL, rival_failed = rival->state == WORKER_FAIL;
    if (worker_failed != rival_failed)
        return worker_failed;
    if (worker->ended_ms != rival->ended_ms)
        return worker->ended_ms > rival->ended_ms;
    return strcmp (worker->name, rival->name) > 0;
}

struct team_tally team_count_workers (const struct team *self)
{
    struct team_tally tally = {0};
    for (size_t i = 0; i < self->count; i++) {
        const struct team_worker *worker = self->workers[i];
        if (worker->state == WORKER_RUNNING) {
            int64_t late = late_at_ms (worker);
            if (!tally.running || late < tally.first_late_ms)
                tally.first_late_ms = late;
            if (!tally.running || late > tally.last_late_ms)
                tally.last_late_ms = late;
            tally.running++;
        } else if (worker->state != WORKER_FAILED_EARLIER) {
            tally.ended++;
            tally.failed += worker->state == WORKER_FAIL;
            tally.final = tally.final ||
                          (worker->state == WORKER_FAIL && worker->advice.kind == ADVICE_FINAL);
            if (!tally.last || decides_outcome (worker, tally.last))
                tally.last = worker;
        }
    }
    return tally;
}

bool team_is_current (const struct team *self)
{
    char round[24];
    snprintf (round, sizeof round, "%" PRId64, self->rule.plan_time);
    bool same = self->rule.extra ? self->round[0] == 'x' : strcmp (self->round, round) == 0;
    return same && self->try == self->rule.error_count;
}

// Begin the next try: the workers that succeeded still count, the others do not.
static void reset_for_retry (struct team *self)
{
    for (size_t i = self->count; i-- > 0;) {
        struct team_worker *worker = self->workers[i];
        if (worker->state == WORKER_SUCCESS)
            continue;
        worker->state = WORKER_FAILED_EARLIER;
        worker->unwritten = true;
        if (self->rule.again)
            team_remove (self, worker);
    }
}

// Remove workers that released the run, and restart its timeout.
static void remove_released (struct team *self, uint64_t exec_id)
{
    for (size_t i = self->count; i-- > 0;) {
        if (self->workers[i]->advice.kind != ADVICE_RELEASE)
            continue;
        team_remove (self, self->workers[i]);
        self->since = exec_id;
    }
}

void team_begin_run (struct team *self, uint64_t exec_id, bool already_offered)
{
    char round[sizeof self->round];
    bool same = self->rule.extra && already_offered && self->round[0] == 'x';
    if (same)
        memcpy (round, self->round, sizeof round);
    else if (self->rule.extra)
        snprintf (round, sizeof round, "x%" PRIu64, exec_id);
    else
        snprintf (round, sizeof round, "%" PRId64, self->rule.plan_time);
    if (strcmp (self->round, round) != 0 || self->rule.error_count < self->try) {
        remove_all_workers (self);
        self->clears_first = self->is_stored;
        self->since = exec_id;
    } else if (self->rule.error_count > self->try) {
        self->since = exec_id;
        reset_for_retry (self);
    } else if (!already_offered) {
        remove_released (self, exec_id);
    }
    memcpy (self->round, round, sizeof self->round);
    self->try = self->rule.error_count;
    self->unwritten = true;
}

struct team_member worker_describe (const struct team_worker *self, int64_t now_ms)
{
    const char *state = worker_is_late (self, now_ms) ? "timeout" : worker_state_names[self->state];
    return (struct team_member){.name = span_text (self->name),
                                .state = span_text (state),
                                .started_ms = self->started_ms,
                                .last_report_ms = self->last_report_ms,
                                .ended_ms = self->ended_ms,
                                .exec_id = self->exec_id,
                                .reason = self->reason,
                                .result = self->result,
                                .progress = self->progress};
}
