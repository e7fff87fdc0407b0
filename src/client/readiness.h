// One descriptor that is readable while there is something to do: for poll, select, epoll or any
// loop. Level-triggered, although ZMQ_FD is not: each user of the socket reports what is left
// (readiness_update), and what is left makes the timer expire at once.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { READINESS_SOCKETS_MAX = 16 };

struct readiness {
    int epoll_fd; // the one; -1 = not open
    int timer_fd; // in the epoll
    size_t count; // of the places below that were used
    struct {
        void *socket; // borrowed; NULL = none
        int fd;       // of it, in the epoll
    } places[READINESS_SOCKETS_MAX];
    int64_t at_us; // what the timer is set to
};

#define READINESS_NEVER INT64_MAX

// 0, or -1 with errno: descriptors have run out. Close it in any case.
int readiness_open (struct readiness *self);
void readiness_close (struct readiness *self);

// Watch this socket in the place of the one that was watched there; NULL: none. Call it before the
// socket that is watched is closed. 0, or -1 with errno.
int readiness_watch (struct readiness *self, size_t place, void *socket);

// Be readable when this descriptor is, too; for good.
int readiness_add (struct readiness *self, int fd);

// To be called after each use of the sockets, before anybody waits: readable at `at_us`
// (monotonic), or, if it `listens`, at once when one of the sockets has something to receive.
void readiness_update (struct readiness *self, int64_t at_us, bool listens);

enum readiness_event {
    READINESS_READY,    // or it timed out
    READINESS_SIGNAL,   // one was caught
    READINESS_INTERRUPT // `interrupt_fd` is readable, and nothing else
};

// Wait, at most this long; READINESS_NEVER is forever. `interrupt_fd` may be -1: none.
enum readiness_event readiness_wait (const struct readiness *self, int interrupt_fd,
                                     int64_t timeout_ms);
