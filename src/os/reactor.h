// The event loop: one thread waits for descriptors and timers, and calls their owners. An owner
// embeds its source, timer or task, and keeps the memory until it has called source_end, timer_end
// or task_end. In any callback the owner may end its source, timer or task, or free itself.
//
// For ZeroMQ sockets see wire/watch.h. zloop of czmq would do the same with zmq_poll, but that
// checks every socket twice per turn, with three system calls each: more than all the work of the
// station for a single plan.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "heap.h"

struct reactor;

// -- a descriptor

// Called in each turn in which the descriptor is ready. `events` is a mask of EPOLLIN, EPOLLOUT,
// EPOLLERR and EPOLLHUP (epoll(7)).
typedef void source_fn (void *owner, uint32_t events);

struct source {
    struct reactor *reactor; // NULL while it is not watched
    source_fn *call;
    void *owner;
    int fd;
};

// Watch a descriptor for EPOLLIN, EPOLLOUT or both. If it is watched already, the new events apply
// from the next turn on. Call source_end before closing the descriptor.
void source_set (struct source *self, struct reactor *reactor, int fd, uint32_t events);

// Stop watching the descriptor. Does nothing if it is not watched.
void source_end (struct source *self);

// -- timers

typedef void timer_fn (void *owner);

struct timer {
    struct heap_node node; // its key is the deadline, monotonic microseconds
    struct reactor *reactor;
    timer_fn *call;
    void *owner;
};

// Call the timer once, in `ms` milliseconds (0 or more), in a later turn. If it is set already, the
// new time replaces the former one.
void timer_set (struct timer *self, struct reactor *reactor, int64_t ms);

// Cancel the timer. Does nothing if it is not set.
void timer_end (struct timer *self);

bool timer_is_set (const struct timer *self);

// -- tasks

typedef void task_fn (void *owner);

struct task {
    TAILQ_ENTRY (task) place;
    struct reactor *reactor; // NULL while it is not set
    uint64_t turn;           // turn in which task_set was called
    task_fn *call;
    void *owner;
};

// Call the task once, in this turn if a timer sets it, else in the next, which then begins without
// waiting. Does nothing if it is set.
void task_set (struct task *self, struct reactor *reactor);

// Cancel the task. Does nothing if it is not set.
void task_end (struct task *self);

// -- the loop

// Returns NULL with errno when no descriptors are left.
struct reactor *reactor_new (void);

// No source, timer or task may be active any more. Sets the pointer to NULL; NULL is accepted.
void reactor_destroy (struct reactor **self);

// Run the loop until reactor_stop. Signals do not end it: receive them through a descriptor.
void reactor_run (struct reactor *self);

// End reactor_run. Call within a callback: no other callback follows it.
void reactor_stop (struct reactor *self);
