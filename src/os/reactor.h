// One thread waits for descriptors and timers, and calls their owners. An owner embeds its source,
// timer or task, keeps the memory until it has ended it, and may end it, or free itself, in any
// call.
//
// A ZeroMQ socket is none of these: see wire/watch.h. zloop of czmq does the same with zmq_poll,
// which asks every socket twice a turn, with three system calls each: more than all that the
// station itself does for a lone plan.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "heap.h"

struct reactor;

// -- a descriptor

// Is called in each turn in which the descriptor is ready: EPOLLIN, EPOLLOUT, EPOLLERR and EPOLLHUP
// of epoll(7).
typedef void source_fn (void *owner, uint32_t events);

struct source {
    struct reactor *reactor; // NULL while it is not watched
    source_fn *call;
    void *owner;
    int fd;
};

// Watch a descriptor for EPOLLIN, EPOLLOUT or both; one that is watched: for these from the next
// turn on. End it before the descriptor is closed.
void source_set (struct source *self, struct reactor *reactor, int fd, uint32_t events);

// Nothing happens when it is not watched.
void source_end (struct source *self);

// -- a time

typedef void timer_fn (void *owner);

struct timer {
    struct heap_node node; // in monotonic microseconds
    struct reactor *reactor;
    timer_fn *call;
    void *owner;
};

// Call once, in `ms` milliseconds (0 or more) and not at the time that was set before; in a turn to
// come.
void timer_set (struct timer *self, struct reactor *reactor, int64_t ms);

// Nothing happens when it is not set.
void timer_end (struct timer *self);

bool timer_is_set (const struct timer *self);

// -- soon

typedef void task_fn (void *owner);

struct task {
    struct task *next, **place; // place: what points to it, NULL while it is not to be called
    struct reactor *reactor;
    uint64_t turn; // in which task_set was called
    task_fn *call;
    void *owner;
};

// Call once, in the next turn, and before anything is waited for.
void task_set (struct task *self, struct reactor *reactor);

// Nothing happens when it is not to be called.
void task_end (struct task *self);

// -- all of it

// NULL and errno when descriptors have run out.
struct reactor *reactor_new (void);

// Nothing may be watched, set or to be called any more. The pointer becomes NULL, and NULL is fine.
void reactor_destroy (struct reactor **self);

// Wait and call, until reactor_stop. Signals are no reason to end: they are to come by a
// descriptor.
void reactor_run (struct reactor *self);

// In a call: the one that is running is the last.
void reactor_stop (struct reactor *self);
