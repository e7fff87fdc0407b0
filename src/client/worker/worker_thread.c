// A worker's thread. Each turn of its loop holds the lock, as nothing in a turn waits. The lock is
// released only while the user is notified of a cancelled job; that job's entry is not reused
// meanwhile, as only this thread reuses entries.
#include <errno.h>
#include <sys/eventfd.h>

#include "clock.h"
#include "worker_private.h"

// -- what the user sees

void worker_wake (struct zplan_worker *self)
{
    int error = errno; // a signal handler must not change errno
    eventfd_write (self->wake_fd, 1);
    errno = error;
}

struct client_job *worker_first (struct zplan_worker *self, enum job_state state)
{
    struct client_job *first = NULL;
    for (size_t i = 0; i < self->job_count; i++) {
        struct client_job *job = &self->jobs[i];
        if (job->state == state && (!first || job->turn < first->turn))
            first = job;
    }
    return first;
}

size_t worker_used_jobs (const struct zplan_worker *self)
{
    size_t count = 0;
    for (size_t i = 0; i < self->job_count; i++)
        count += self->jobs[i].state != JOB_FREE;
    return count;
}

bool worker_has_left (const struct zplan_worker *self)
{
    return self->leaving && !self->taking && worker_used_jobs (self) == 0;
}

void worker_update_fd (struct zplan_worker *self)
{
    bool show = self->unseen_change || worker_first (self, JOB_WAITING) || worker_has_left (self);
    eventfd_t count;
    if (show && !self->shown)
        eventfd_write (self->show_fd, 1);
    else if (!show && self->shown)
        eventfd_read (self->show_fd, &count);
    self->shown = show;
}

// -- shared by the dialogs

bool worker_start_leaving (struct zplan_worker *self)
{
    bool first = !self->leaving && atomic_load (&self->leave);
    self->leaving = self->leaving || first;
    return first;
}

void worker_store_refusal (struct zplan_worker *self, struct span words)
{
    reason_set (&self->refusal, "%.*s", (int)words.size,
                words.size ? (const char *)words.data : "");
    self->unseen_change = true;
}

void worker_cancel (struct zplan_worker *self, struct client_job *job, struct span words)
{
    reason_set (&job->cancel_words, "%.*s", (int)words.size,
                words.size ? (const char *)words.data : "");
    job->cancelled = true;
    if (job->state != JOB_TAKEN)
        return;
    zplan_cancel_fn *call = self->on_cancel;
    void *context = self->cancel_context;
    self->unseen_change = true;
    if (!call || atomic_load (&self->stop)) // a worker that is being destroyed abandons all jobs
        return;
    pthread_mutex_unlock (&self->lock);
    call (&job->shown, job->cancel_words.text, context);
    pthread_mutex_lock (&self->lock);
}

// -- the loop

static void worker_turn (struct zplan_worker *self)
{
    eventfd_t count;
    eventfd_read (self->wake_fd, &count);
    self->dialog->turn (self);
    worker_update_fd (self);
    if (worker_first (self, JOB_WAITING) || worker_has_left (self))
        pthread_cond_broadcast (&self->changed);
}

void *worker_serve (void *worker)
{
    struct zplan_worker *self = worker;
    for (;;) {
        pthread_mutex_lock (&self->lock);
        worker_turn (self);
        int64_t left_us = self->dialog->due_us (self) - clock_mono_us ();
        long ms = left_us > 0 ? (long)((left_us + 999) / 1000) : 0;
        pthread_mutex_unlock (&self->lock);
        if (atomic_load (&self->stop))
            break;
        zmq_pollitem_t items[] = {{NULL, self->wake_fd, ZMQ_POLLIN, 0}, {0}};
        zmq_poll (items, self->dialog->poll_item (self, &items[1]) ? 2 : 1, ms);
    }
    pthread_mutex_lock (&self->lock);
    self->dialog->end (self);
    pthread_mutex_unlock (&self->lock);
    return NULL;
}
