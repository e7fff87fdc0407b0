#include "reactor.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "clock.h"
#include "memory.h"

enum { READY_MAX = 64, WAIT_MAX_MS = 60000 };

struct reactor {
    int epoll_fd;
    bool stopped;
    struct heap timers;
    TAILQ_HEAD (, task) tasks;
    uint64_t turn;
    struct epoll_event ready[READY_MAX]; // events of this turn; data.ptr NULL: the source was ended
    int ready_count;
};

// -- descriptors

void source_set (struct source *self, struct reactor *reactor, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = self};
    int how = self->reactor ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl (reactor->epoll_fd, how, fd, &event))
        abort (); // out of memory, or an invalid descriptor
    self->reactor = reactor;
    self->fd = fd;
}

void source_end (struct source *self)
{
    struct reactor *reactor = self->reactor;
    if (!reactor)
        return;
    epoll_ctl (reactor->epoll_fd, EPOLL_CTL_DEL, self->fd, NULL);
    for (int i = 0; i < reactor->ready_count; i++)
        if (reactor->ready[i].data.ptr == self)
            reactor->ready[i].data.ptr = NULL;
    self->reactor = NULL;
}

// -- timers

void timer_set (struct timer *self, struct reactor *reactor, int64_t ms)
{
    self->reactor = reactor;
    // + 1: a timer of 0 ms set in a timer callback must not be called in the same turn.
    heap_set (&reactor->timers, &self->node, clock_mono_us () + ms * 1000 + 1);
}

void timer_end (struct timer *self)
{
    if (self->reactor)
        heap_remove (&self->reactor->timers, &self->node);
    self->reactor = NULL;
}

bool timer_is_set (const struct timer *self)
{
    return self->reactor != NULL;
}

static struct timer *first_timer (const struct reactor *self)
{
    struct heap_node *node = heap_first (&self->timers);
    return node ? (struct timer *)((uint8_t *)node - offsetof (struct timer, node)) : NULL;
}

// -- tasks

void task_set (struct task *self, struct reactor *reactor)
{
    if (self->reactor)
        return;
    TAILQ_INSERT_TAIL (&reactor->tasks, self, place);
    self->reactor = reactor;
    self->turn = reactor->turn;
}

void task_end (struct task *self)
{
    if (self->reactor)
        TAILQ_REMOVE (&self->reactor->tasks, self, place);
    self->reactor = NULL;
}

// -- the loop

// Call due timers, then tasks, then sources. A task that a timer sets is called in this turn, one
// that a task or source sets in the next.
static void reactor_turn (struct reactor *self)
{
    int64_t now_us = clock_mono_us ();
    struct timer *timer;
    while (!self->stopped && (timer = first_timer (self)) && timer->node.at <= now_us) {
        timer_end (timer);
        timer->call (timer->owner);
    }
    self->turn++;
    struct task *task;
    while (!self->stopped && (task = TAILQ_FIRST (&self->tasks)) && task->turn != self->turn) {
        task_end (task);
        task->call (task->owner);
    }
    if (self->stopped)
        return;
    int wait_ms = TAILQ_EMPTY (&self->tasks) ? WAIT_MAX_MS : 0;
    if (wait_ms && (timer = first_timer (self))) {
        int64_t left_us = timer->node.at - clock_mono_us ();
        if (left_us < WAIT_MAX_MS * INT64_C (1000))
            // A timer of 0 ms that was just set must not wait for a millisecond.
            wait_ms = left_us > 1 ? (int)((left_us + 999) / 1000) : 0;
    }
    int count = epoll_wait (self->epoll_fd, self->ready, READY_MAX, wait_ms);
    self->ready_count = count > 0 ? count : 0; // -1: a signal
    for (int i = 0; i < self->ready_count && !self->stopped; i++) {
        struct source *source = self->ready[i].data.ptr;
        if (source)
            source->call (source->owner, self->ready[i].events);
    }
    self->ready_count = 0;
}

void reactor_run (struct reactor *self)
{
    self->stopped = false;
    while (!self->stopped)
        reactor_turn (self);
}

void reactor_stop (struct reactor *self)
{
    self->stopped = true;
}

struct reactor *reactor_new (void)
{
    int fd = epoll_create1 (EPOLL_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct reactor *self = memory_new (sizeof *self);
    self->epoll_fd = fd;
    TAILQ_INIT (&self->tasks);
    return self;
}

void reactor_destroy (struct reactor **self_p)
{
    struct reactor *self = *self_p;
    if (!self)
        return;
    close (self->epoll_fd);
    heap_free (&self->timers);
    free (self);
    *self_p = NULL;
}
