// Handlers, and the functions that run them.
#include <stdlib.h>

#include "clock.h"
#include "codes.h"
#include "worker_private.h"

// -- the table, under the lock

static bool commands_equal (const char *a, const char *b)
{
    return a && b ? strcmp (a, b) == 0 : a == b;
}

static int add_handler (struct zplan_worker *self, const char *command, zplan_handler_fn *call,
                        void *context)
{
    for (size_t i = 0; i < self->handler_count; i++) {
        if (!commands_equal (self->handlers[i].command, command))
            continue;
        self->handlers[i].call = call;
        self->handlers[i].context = context;
        return ZPLAN_OK;
    }
    struct handler *more =
        realloc (self->handlers, (self->handler_count + 1) * sizeof *self->handlers);
    if (more)
        self->handlers = more;
    char *copy = more && command ? strdup (command) : NULL;
    if (!more || (command && !copy))
        return ZPLAN_ERROR_MEMORY;
    more[self->handler_count++] = (struct handler){copy, call, context};
    return ZPLAN_OK;
}

static struct handler find_handler (struct zplan_worker *self, const struct zplan_frame *command)
{
    struct handler fallback = {0};
    for (size_t i = 0; i < self->handler_count; i++) {
        const struct handler *handler = &self->handlers[i];
        if (!handler->command)
            fallback = *handler;
        else if (handler->call && command &&
                 span_is (span_of (command->data, command->size), handler->command))
            return *handler;
    }
    return fallback;
}

int zplan_worker_handle (struct zplan_worker *self, const char *command, zplan_handler_fn *handler,
                         void *context)
{
    if (!self)
        return ZPLAN_ERROR_ARGUMENT;
    pthread_mutex_lock (&self->lock);
    int rc = add_handler (self, command, handler, context);
    pthread_mutex_unlock (&self->lock);
    return rc;
}

int zplan_worker_on_cancel (struct zplan_worker *self, zplan_cancel_fn *fn, void *context)
{
    if (!self)
        return ZPLAN_ERROR_ARGUMENT;
    pthread_mutex_lock (&self->lock);
    self->on_cancel = fn;
    self->cancel_context = context;
    pthread_mutex_unlock (&self->lock);
    return ZPLAN_OK;
}

// -- one job

static void reject_command (struct zplan_job *job)
{
    struct reason reason;
    const struct zplan_frame *command = job->command;
    reason_set (&reason, "no handler for the command %s",
                command ? quoted (span_of (command->data, command->size)) : "of a job without one");
    struct zplan_answer answer = {.status = ZERO_STATUS_NOT_SUPPORT_ID, .reason = reason.text};
    zplan_job_answer (job, &answer); // without content it needs no memory
}

static void run_handler (struct zplan_job *job, const struct handler *handler)
{
    struct zplan_answer answer = {0};
    int status = handler->call (job, &answer, handler->context);
    if (status == ZPLAN_JOB_KEPT)
        return;
    answer.status = status > 0 && status <= UINT8_MAX ? (uint8_t)status : 0;
    int rc = zplan_job_answer (job, &answer);
    if (rc == ZPLAN_OK)
        return;
    zplan_job_fail (job, rc == ZPLAN_ERROR_MEMORY
                             ? zplan_error_text (rc)
                             : "the handler's answer is not valid, or too large");
    if (answer.release)
        answer.release ((void *)(uintptr_t)answer.content);
}

static void do_job (struct zplan_worker *self, struct zplan_job *job)
{
    pthread_mutex_lock (&self->lock);
    struct handler handler = find_handler (self, job->command);
    pthread_mutex_unlock (&self->lock);
    if (handler.call)
        run_handler (job, &handler);
    else
        reject_command (job);
}

// -- all jobs

int zplan_worker_run (struct zplan_worker *self, int64_t timeout_ms)
{
    if (!self)
        return ZPLAN_ERROR_ARGUMENT;
    int64_t start_us = clock_mono_us ();
    for (;;) {
        int64_t left_ms = -1;
        if (timeout_ms >= 0) {
            left_ms = timeout_ms - (clock_mono_us () - start_us) / 1000;
            left_ms = left_ms > 0 ? left_ms : 0;
        }
        struct zplan_job *job = zplan_worker_take (self, left_ms);
        if (job)
            do_job (self, job);
        else if (zplan_worker_left (self))
            return ZPLAN_OK;
        if (left_ms == 0)
            return ZPLAN_ERROR_NO_ANSWER;
    }
}

int zplan_worker_process (struct zplan_worker *self)
{
    if (!self)
        return ZPLAN_ERROR_ARGUMENT;
    int count = 0;
    for (struct zplan_job *job; count < ZPLAN_CREDIT_MAX && (job = zplan_worker_take (self, 0));
         count++)
        do_job (self, job);
    return count;
}
