#include "workers.h"

#include <assert.h>
#include <stdlib.h>

#include "clock.h"
#include "codes.h"
#include "memory.h"
#include "process.h"
#include "station_name.h"

static struct worker *worker_of_ready_node (struct heap_node *node)
{
    return node ? (struct worker *)((uint8_t *)node - offsetof (struct worker, ready)) : NULL;
}

static struct worker *worker_of_life_node (struct heap_node *node)
{
    return node ? (struct worker *)((uint8_t *)node - offsetof (struct worker, life)) : NULL;
}

// The hash of an identity: FNV-1a, from a secret start.
static uint64_t hash_identity (const struct workers *self, struct span identity)
{
    uint64_t hash = self->seed;
    for (size_t i = 0; i < identity.size; i++)
        hash = (hash ^ identity.data[i]) * 0x100000001B3u;
    return table_hash_number (hash);
}

static struct span worker_identity (const struct worker *worker)
{
    return span_of (worker->identity, worker->identity_size);
}

void workers_start (struct workers *self, int64_t timeout_us)
{
    self->timeout_us = timeout_us;
    self->seed = process_random ();
}

void workers_clear (struct workers *self)
{
    for (struct worker *worker; (worker = workers_any (self));) {
        workers_remove (self, worker);
        worker_destroy (&worker);
    }
    heap_free (&self->ready);
    heap_free (&self->life);
    table_free (&self->known);
}

size_t workers_serving (const struct workers *self)
{
    return self->count - self->draining;
}

struct worker *workers_at (const struct workers *self, size_t i)
{
    return worker_of_life_node (self->life.nodes[i]);
}

int workers_compare (const void *left, const void *right)
{
    const struct worker *a = *(struct worker *const *)left;
    const struct worker *b = *(struct worker *const *)right;
    int order = strcmp (a->name, b->name);
    return order ? order : (a->joined > b->joined) - (a->joined < b->joined);
}

struct worker *workers_find (const struct workers *self, struct span identity)
{
    struct table_node *node = table_find (&self->known, hash_identity (self, identity));
    for (; node; node = table_next (node)) {
        struct worker *worker = (struct worker *)((uint8_t *)node - offsetof (struct worker, node));
        if (span_equal (worker_identity (worker), identity))
            return worker;
    }
    return NULL;
}

struct worker *workers_join (struct workers *self, struct span identity, struct span name,
                             size_t jobs_max)
{
    assert (identity.size <= WORKER_IDENTITY_MAX && name.size < WORKER_NAME_SIZE);
    assert (jobs_max >= 1 && jobs_max <= WORKER_JOBS_MAX);
    struct worker *worker = memory_new (sizeof *worker + jobs_max * sizeof *worker->jobs);
    worker->jobs_max = jobs_max;
    memcpy (worker->identity, identity.data, identity.size);
    worker->identity_size = identity.size;
    memcpy (worker->name, name.data, name.size);
    worker->joined = worker->used = ++self->turn;
    worker->joined_s = clock_wall_us () / 1000000;
    TAILQ_INIT (&worker->voters);
    table_add (&self->known, &worker->node, hash_identity (self, identity));
    self->count++;
    workers_restart_timeout (self, worker);
    return worker;
}

// -- commands

bool workers_set_commands (struct workers *self, struct worker *worker, struct span names)
{
    if (!command_names_valid (names))
        return false;
    self->limited += !worker->commands;
    free (worker->commands);
    worker->commands = memory_copy (names.data, names.size);
    return true;
}

static bool worker_takes (const struct worker *worker, struct span command)
{
    if (!worker->commands)
        return true;
    struct span rest = span_text (worker->commands), name;
    while (span_take_item (&rest, &name))
        if (span_equal (name, command))
            return true;
    return false;
}

bool workers_any_takes (const struct workers *self, struct span command)
{
    if (!self->limited)
        return workers_serving (self) > 0;
    for (size_t i = 0; i < self->count; i++) {
        const struct worker *worker = workers_at (self, i);
        if (!worker->draining && worker_takes (worker, command))
            return true;
    }
    return false;
}

void workers_restart_timeout (struct workers *self, struct worker *worker)
{
    heap_set (&self->life, &worker->life, clock_mono_us () + self->timeout_us);
}

// Put a free worker into the heap `ready`, or remove one that is not free.
static void update_ready_heap (struct workers *self, struct worker *worker)
{
    if (worker_is_free (worker))
        heap_set (&self->ready, &worker->ready, worker->used);
    else
        heap_remove (&self->ready, &worker->ready);
}

void workers_drain (struct workers *self, struct worker *worker)
{
    self->draining += !worker->draining;
    worker->draining = true;
    workers_clear_credit (self, worker);
}

void workers_credit (struct workers *self, struct worker *worker)
{
    if (worker->credit < worker->jobs_max && !worker->draining)
        worker->credit++;
    update_ready_heap (self, worker);
}

void workers_clear_credit (struct workers *self, struct worker *worker)
{
    worker->credit = 0;
    update_ready_heap (self, worker);
}

bool worker_is_free (const struct worker *worker)
{
    return worker->credit > 0 && worker->job_count < worker->jobs_max;
}

bool worker_has (const struct worker *worker, const struct job *job)
{
    for (size_t i = 0; i < worker->job_count; i++)
        if (worker->jobs[i] == job)
            return true;
    return false;
}

struct job *worker_job_of (const struct worker *worker, const struct message *answer)
{
    struct job *oldest = NULL;
    struct span run = message_last_frame (answer, ZERO_FRAME_LOCAL_ID, NULL);
    for (size_t i = 0; i < worker->job_count; i++) {
        struct job *job = worker->jobs[i];
        if (!span_equal (job->mailbox, answer->sender))
            continue;
        if (span_equal (message_last_frame (&job->message, ZERO_FRAME_LOCAL_ID, NULL), run))
            return job;
        if (!oldest)
            oldest = job;
    }
    return oldest;
}

struct worker *workers_next (const struct workers *self)
{
    return worker_of_ready_node (heap_first (&self->ready));
}

struct worker *workers_next_for (const struct workers *self, struct span command)
{
    struct worker *found = workers_next (self);
    if (!found || worker_takes (found, command))
        return found;
    found = NULL;
    for (size_t i = 0; i < self->ready.count; i++) {
        struct worker *worker = worker_of_ready_node (self->ready.nodes[i]);
        if (worker_takes (worker, command) && (!found || worker->used < found->used))
            found = worker;
    }
    return found;
}

void workers_assign_job (struct workers *self, struct worker *worker, struct job *job)
{
    assert (worker_is_free (worker));
    worker->credit--;
    worker->jobs[worker->job_count++] = job;
    self->jobs++;
    worker->used = ++self->turn;
    update_ready_heap (self, worker);
}

void workers_release_job (struct workers *self, struct worker *worker, const struct job *job)
{
    size_t at = 0;
    while (worker->jobs[at] != job)
        at++;
    worker->job_count--;
    self->jobs--;
    for (; at < worker->job_count; at++)
        worker->jobs[at] = worker->jobs[at + 1];
    update_ready_heap (self, worker);
}

struct worker *workers_unresponsive (const struct workers *self)
{
    struct heap_node *first = heap_first (&self->life);
    return first && first->at <= clock_mono_us () ? worker_of_life_node (first) : NULL;
}

struct worker *workers_any (const struct workers *self)
{
    return worker_of_life_node (heap_first (&self->life));
}

void workers_remove (struct workers *self, struct worker *worker)
{
    heap_remove (&self->ready, &worker->ready);
    heap_remove (&self->life, &worker->life);
    table_remove (&self->known, &worker->node);
    self->count--;
    self->draining -= worker->draining;
    self->limited -= worker->commands != NULL;
    self->jobs -= worker->job_count;
}

void worker_destroy (struct worker **self)
{
    if (*self)
        free ((*self)->commands);
    free (*self);
    *self = NULL;
}
