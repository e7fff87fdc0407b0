#include "readiness.h"

#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <zmq.h>

int readiness_add (struct readiness *self, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl (self->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int readiness_open (struct readiness *self)
{
    *self = (struct readiness){.timer_fd = -1, .at_us = READINESS_NEVER};
    self->epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
    if (self->epoll_fd >= 0)
        self->timer_fd = timerfd_create (CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    return self->timer_fd < 0 ? -1 : readiness_add (self, self->timer_fd);
}

void readiness_close (struct readiness *self)
{
    if (self->timer_fd >= 0)
        close (self->timer_fd);
    if (self->epoll_fd >= 0)
        close (self->epoll_fd);
    self->timer_fd = self->epoll_fd = -1;
    self->count = 0;
}

int readiness_watch (struct readiness *self, size_t place, void *socket)
{
    int fd;
    size_t size = sizeof fd;
    if (place < self->count && self->places[place].socket)
        epoll_ctl (self->epoll_fd, EPOLL_CTL_DEL, self->places[place].fd, NULL);
    if (place < self->count)
        self->places[place].socket = NULL;
    if (!socket)
        return 0;
    if (zmq_getsockopt (socket, ZMQ_FD, &fd, &size) || readiness_add (self, fd))
        return -1;
    for (; self->count <= place; self->count++)
        self->places[self->count].socket = NULL;
    self->places[place].socket = socket;
    self->places[place].fd = fd;
    return 0;
}

// Whether the socket has a message to receive. Reading ZMQ_EVENTS also makes ZMQ_FD unreadable
// until something new happens.
static bool has_input (void *socket)
{
    int events = 0;
    size_t size = sizeof events;
    return socket && zmq_getsockopt (socket, ZMQ_EVENTS, &events, &size) == 0 &&
           (events & ZMQ_POLLIN);
}

void readiness_update (struct readiness *self, int64_t at_us, bool listens)
{
    bool input = false;
    for (size_t i = 0; i < self->count; i++)
        input = has_input (self->places[i].socket) || input; // every socket must be queried
    if ((listens && input) || at_us < 0)
        at_us = 0;
    if (at_us == self->at_us)
        return;
    self->at_us = at_us;
    struct itimerspec when = {0}; // all 0: the timer is off
    if (at_us != READINESS_NEVER) {
        when.it_value.tv_sec = at_us / 1000000;
        when.it_value.tv_nsec = at_us % 1000000 * 1000 + (at_us == 0); // 1 ns: expires at once
    }
    timerfd_settime (self->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

enum readiness_event readiness_wait (const struct readiness *self, int interrupt_fd,
                                     int64_t timeout_ms)
{
    struct pollfd items[] = {{.fd = self->epoll_fd, .events = POLLIN},
                             {.fd = interrupt_fd, .events = POLLIN}};
    int wait_ms = timeout_ms == READINESS_NEVER ? -1
                  : timeout_ms < INT_MAX        ? (int)timeout_ms
                                                : INT_MAX;
    if (poll (items, 2, wait_ms) < 0) // poll skips a descriptor below 0
        return READINESS_SIGNAL;
    return items[0].revents || !items[1].revents ? READINESS_READY : READINESS_INTERRUPT;
}
