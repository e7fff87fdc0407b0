// One descriptor that is readable while there is something to do: for poll, select, epoll or any
// loop. Level-triggered, although ZMQ_FD is not: whoever has used the socket tells what is left
// (readiness_update), and what is left makes the timer run out at once.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct readiness {
    int epoll_fd;  // the one; -1 = not open
    int timer_fd;  // in the epoll
    int zmq_fd;    // the same; -1 = no socket
    void *socket;  // of zmq_fd; borrowed
    int64_t at_us; // what the timer is set to
};

#define READINESS_NEVER INT64_MAX

// 0, or -1 with errno: descriptors have run out. Close it in any case.
int readiness_open (struct readiness *self);
void readiness_close (struct readiness *self);

// Watch this socket in the place of the one before; NULL: none. Call it before the socket that is
// watched is closed. 0, or -1 with errno.
int readiness_watch (struct readiness *self, void *socket);

// Be readable when this descriptor is, too; for good.
int readiness_add (struct readiness *self, int fd);

// To be called after each use of the socket, before anybody waits: readable at `at_us` (monotonic),
// or, if it `listens`, at once when the socket has something to receive.
void readiness_update (struct readiness *self, int64_t at_us, bool listens);

enum readiness_event {
    READINESS_READY,    // or the time is over
    READINESS_SIGNAL,   // one was caught
    READINESS_INTERRUPT // `interrupt_fd` is readable, and nothing else
};

// Wait, at most so long; READINESS_NEVER is for ever. `interrupt_fd` may be -1: none.
enum readiness_event readiness_wait (const struct readiness *self, int interrupt_fd,
                                     int64_t timeout_ms);
