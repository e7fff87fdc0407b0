// One descriptor that is readable while there is something to do: for poll, select, epoll or any
// loop. Level-triggered, although ZMQ_FD is not: each user of the sockets calls readiness_update
// after use, and pending input makes the timer expire at once.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { READINESS_SOCKETS_MAX = 16 };

struct readiness {
    int epoll_fd; // the descriptor to wait on; -1 = not open
    int timer_fd; // a timer that epoll_fd watches
    size_t count; // number of entries used in `places`
    struct {
        void *socket; // borrowed; NULL = none
        int fd;       // its ZMQ_FD, which epoll_fd watches
    } places[READINESS_SOCKETS_MAX];
    int64_t at_us; // what the timer is set to
};

#define READINESS_NEVER INT64_MAX

// 0, or -1 with errno: descriptors have run out. Close it in any case.
int readiness_open (struct readiness *self);
void readiness_close (struct readiness *self);

// Watch this socket instead of the one at `place`; NULL: none. Call it before a watched socket is
// closed. 0, or -1 with errno.
int readiness_watch (struct readiness *self, size_t place, void *socket);

// Make the descriptor also readable while `fd` is, until `fd` is closed. 0, or -1 with errno.
int readiness_add (struct readiness *self, int fd);

// Call this after each use of the sockets, before anything waits. The descriptor becomes readable
// at `at_us` (monotonic); with `listens`, at once if a socket has a message to receive.
void readiness_update (struct readiness *self, int64_t at_us, bool listens);

enum readiness_event {
    READINESS_READY,    // the descriptor is readable, or the wait timed out
    READINESS_SIGNAL,   // a signal was caught
    READINESS_INTERRUPT // `interrupt_fd` is readable, and nothing else
};

// Wait, at most this long; READINESS_NEVER is forever. `interrupt_fd` may be -1: none.
enum readiness_event readiness_wait (const struct readiness *self, int interrupt_fd,
                                     int64_t timeout_ms);
