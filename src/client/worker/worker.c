// The worker's lifecycle and its public functions. Its thread is in worker_thread.c.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "socket.h"
#include "station_name.h"
#include "worker_private.h"

// -- creation

static bool options_valid (const struct zplan_worker_options *options)
{
    return options && options->endpoint && options->name &&
           station_name_valid (span_text (options->name)) && options->credit >= 0 &&
           options->credit <= ZPLAN_CREDIT_MAX &&
           (!options->pull ||
            (station_name_valid (span_text (options->pull)) && !options->commands)) &&
           (!options->commands || command_names_valid (span_text (options->commands)));
}

static struct zplan_worker *worker_allocate (size_t credit)
{
    struct zplan_worker *self = calloc (1, sizeof *self + (credit + 1) * sizeof *self->jobs);
    if (!self)
        return NULL;
    self->credit = credit;
    self->job_count = credit + 1;
    self->wake_fd = self->show_fd = -1;
    for (size_t i = 0; i < self->job_count; i++)
        self->jobs[i].worker = self;
    pthread_mutex_init (&self->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init (&monotonic);
    pthread_condattr_setclock (&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init (&self->changed, &monotonic);
    pthread_condattr_destroy (&monotonic);
    return self;
}

// Free everything once the thread has ended, or if it was never started.
static void release_worker (struct zplan_worker *self)
{
    for (size_t i = 0; i < self->job_count; i++)
        job_clear (&self->jobs[i]);
    for (size_t i = 0; i < self->handler_count; i++)
        free (self->handlers[i].command);
    free (self->handlers);
    wire_context_destroy (&self->context);
    if (self->wake_fd >= 0)
        close (self->wake_fd);
    if (self->show_fd >= 0)
        close (self->show_fd);
    pthread_cond_destroy (&self->changed);
    pthread_mutex_destroy (&self->lock);
    explicit_bzero (&self->keys, sizeof self->keys);
    endpoints_clear (&self->endpoints);
    free (self->endpoint);
    free (self->pull);
    free (self->commands);
    free (self);
}

// Start a thread that receives no signals: the program handles them.
static int start_thread (struct zplan_worker *self)
{
    sigset_t all, before;
    sigfillset (&all);
    pthread_sigmask (SIG_SETMASK, &all, &before);
    int error = pthread_create (&self->thread, NULL, worker_serve, self);
    pthread_sigmask (SIG_SETMASK, &before, NULL);
    errno = error;
    return error;
}

static int start_worker (struct zplan_worker *self, const struct zplan_worker_options *options)
{
    if (keys_read_endpoints (&self->keys, options->endpoint, &self->endpoints))
        return -1;
    self->endpoint = strdup (options->endpoint);
    memcpy (self->name, options->name, strlen (options->name) + 1);
    self->pull = options->pull ? strdup (options->pull) : NULL;
    if (options->commands && asprintf (&self->commands, "commands=%s", options->commands) < 0)
        self->commands = NULL;
    if (!self->endpoint || (options->pull && !self->pull) || (options->commands && !self->commands))
        return -1;
    self->dialog = self->pull ? &dialog_fetch : &dialog_port;
    self->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    self->show_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->wake_fd < 0 || self->show_fd < 0)
        return -1;
    if (self->dialog->open (self))
        return -1;
    if (start_thread (self) == 0)
        return 0;
    int error = errno;
    self->dialog->end (self);
    errno = error;
    return -1;
}

struct zplan_worker *zplan_worker_new (const struct zplan_worker_options *options)
{
    struct keys keys = {0};
    if (!options_valid (options)) {
        errno = EINVAL;
        return NULL;
    }
    if (options->curve && keys_copy (&keys, options->curve))
        return NULL;
    struct zplan_worker *self = worker_allocate (options->credit ? (size_t)options->credit : 1);
    if (!self)
        return NULL;
    self->keys = keys;
    if (start_worker (self, options)) {
        int error = errno;
        release_worker (self);
        errno = error;
        return NULL;
    }
    return self;
}

void zplan_worker_destroy (struct zplan_worker **worker)
{
    struct zplan_worker *self = worker ? *worker : NULL;
    if (!self)
        return;
    *worker = NULL; // first, as a signal handler may still call zplan_worker_leave with it
    zplan_worker_leave (self);
    atomic_store (&self->stop, true);
    worker_wake (self);
    pthread_join (self->thread, NULL);
    release_worker (self);
}

// -- leaving, and the worker's state

void zplan_worker_leave (struct zplan_worker *self)
{
    if (!self)
        return;
    atomic_store (&self->leave, true);
    worker_wake (self);
}

bool zplan_worker_left (struct zplan_worker *self)
{
    if (!self)
        return true;
    pthread_mutex_lock (&self->lock);
    bool left = worker_has_left (self);
    pthread_mutex_unlock (&self->lock);
    return left;
}

bool zplan_worker_drained (struct zplan_worker *self)
{
    if (!self)
        return false;
    pthread_mutex_lock (&self->lock);
    bool drained = self->drained;
    pthread_mutex_unlock (&self->lock);
    return drained;
}

// Note that the user has seen all changes. Called under the lock.
static void mark_changes_seen (struct zplan_worker *self)
{
    self->unseen_change = false;
    worker_update_fd (self);
}

unsigned zplan_worker_joined (struct zplan_worker *self)
{
    if (!self)
        return 0;
    pthread_mutex_lock (&self->lock);
    unsigned joined = self->joined ? self->joins : 0;
    mark_changes_seen (self);
    pthread_mutex_unlock (&self->lock);
    return joined;
}

int zplan_worker_refusal (struct zplan_worker *self, char *out, size_t size)
{
    if (!self || !out || size == 0)
        return ZPLAN_ERROR_ARGUMENT;
    pthread_mutex_lock (&self->lock);
    snprintf (out, size, "%s", self->refusal.text);
    pthread_mutex_unlock (&self->lock);
    return ZPLAN_OK;
}

int zplan_worker_fd (struct zplan_worker *self)
{
    return self ? self->show_fd : ZPLAN_ERROR_ARGUMENT;
}

// -- taking jobs

// Wait for `changed` until `until_us` (monotonic; below 0: without limit). False: that time has
// passed.
static bool wait_for_change (struct zplan_worker *self, int64_t until_us)
{
    if (until_us < 0) {
        pthread_cond_wait (&self->changed, &self->lock);
        return true;
    }
    if (clock_mono_us () >= until_us)
        return false;
    struct timespec until = {.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
    pthread_cond_timedwait (&self->changed, &self->lock, &until);
    return true;
}

struct zplan_job *zplan_worker_take (struct zplan_worker *self, int64_t timeout_ms)
{
    if (!self)
        return NULL;
    bool for_ever = timeout_ms < 0 || timeout_ms > INT64_MAX / 2000;
    int64_t until_us = for_ever ? -1 : clock_mono_us () + timeout_ms * 1000;
    struct client_job *job;
    pthread_mutex_lock (&self->lock);
    while (!(job = worker_first (self, JOB_WAITING)) && !worker_has_left (self) &&
           wait_for_change (self, until_us)) {
    }
    if (job)
        job->state = JOB_TAKEN;
    mark_changes_seen (self);
    pthread_mutex_unlock (&self->lock);
    return job ? &job->shown : NULL;
}
