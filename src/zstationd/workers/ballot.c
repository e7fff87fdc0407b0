#include "ballot.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "memory.h"

size_t ballot_size (const struct job *job, size_t voters)
{
    return sizeof (struct worker_ballot) + voters * sizeof (struct ballot_worker) + job->size;
}

// -- voters

const char *voter_name (const struct ballot_worker *voter, char out[VOTER_NAME_SIZE])
{
    const char *name = voter->worker->name;
    if (voter->number == 1)
        snprintf (out, VOTER_NAME_SIZE, "%s", name);
    else
        snprintf (out, VOTER_NAME_SIZE, "%s#%zu", name, voter->number);
    return out;
}

bool voter_has_ballot (const struct ballot_worker *voter)
{
    return worker_has (voter->worker, voter->ballot->job);
}

void voter_restart_timeout (struct ballots *self, struct ballot_worker *voter)
{
    heap_set (&self->deadlines, &voter->deadline, clock_mono_us () + self->timeout_us);
}

void voter_remove (struct ballots *self, struct ballot_worker *voter)
{
    assert (voter->worker && !voter_has_ballot (voter));
    heap_remove (&self->deadlines, &voter->deadline);
    TAILQ_REMOVE (&voter->worker->voters, voter, place);
    voter->worker = NULL;
    voter->ballot->expected--;
}

struct ballot_worker *voter_overdue (const struct ballots *self)
{
    struct heap_node *first = heap_first (&self->deadlines);
    if (!first || first->at > clock_mono_us ())
        return NULL;
    return (struct ballot_worker *)((uint8_t *)first - offsetof (struct ballot_worker, deadline));
}

// -- opening and closing

static void add_voters (struct ballots *self, struct worker_ballot *ballot,
                        const struct workers *workers)
{
    struct worker **sorted = memory_new ((ballot->count + 1) * sizeof (struct worker *));
    for (size_t i = 0, at = 0; i < workers->count; i++)
        if (!workers_at (workers, i)->draining)
            sorted[at++] = workers_at (workers, i);
    qsort (sorted, ballot->count, sizeof *sorted, workers_compare);
    for (size_t i = 0; i < ballot->count; i++) {
        struct ballot_worker *voter = &ballot->voters[i];
        bool namesake = i > 0 && strcmp (sorted[i - 1]->name, sorted[i]->name) == 0;
        voter->number = namesake ? ballot->voters[i - 1].number + 1 : 1;
        voter->ballot = ballot;
        voter->worker = sorted[i];
        TAILQ_INSERT_TAIL (&voter->worker->voters, voter, place);
        voter_restart_timeout (self, voter);
    }
    free (sorted);
}

struct worker_ballot *ballots_open (struct ballots *self, const struct workers *workers,
                                    struct job *job)
{
    size_t count = workers_serving (workers);
    struct worker_ballot *ballot =
        memory_new (sizeof *ballot + count * sizeof (struct ballot_worker));
    ballot->job = job;
    ballot->size = ballot_size (job, count);
    ballot->expected = ballot->count = count;
    LIST_INSERT_HEAD (&self->open, ballot, place);
    self->count++;
    self->bytes += ballot->size;
    add_voters (self, ballot, workers);
    return ballot;
}

void ballots_close (struct ballots *self, struct worker_ballot *ballot)
{
    assert (ballot->expected == 0);
    LIST_REMOVE (ballot, place);
    self->count--;
    self->bytes -= ballot->size;
    job_destroy (&ballot->job);
    free (ballot);
}
