// Each connection has one request and one answer, and is closed: read the head, write the answer,
// wait until the peer has read it. A connection past its deadline is cut.
#include "metrics_http.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "listen_address.h"
#include "memory.h"
#include "socket.h"
#include "span.h"
#include "verbs.h"

enum { CONNECTIONS_MAX = 32, HEAD_MAX = 8192, DEADLINE_US = 10000000, FRESH_US = 1000000 };

struct metrics_connection {
    int fd;
    int64_t end_us; // deadline, monotonic
    size_t size;    // bytes of the head so far
    char head[HEAD_MAX];
    char *answer; // NULL: still reading the head
    size_t answer_size, sent;
};

struct metrics_server {
    int listener;
    metrics_make_fn *make;
    void *owner;
    char *text; // made at `made_us`; NULL: none yet
    int64_t made_us;
    struct metrics_connection connections[CONNECTIONS_MAX];
    size_t count;
};

// -- the socket

int metrics_bind (const char *address, enum metrics_reach reach, int *ret_listener, int *ret_port,
                  struct reason *reason)
{
    char endpoint[128];
    struct addrinfo *found = listen_address_find (address);
    snprintf (endpoint, sizeof endpoint, "tcp://%s", address);
    if (!found) {
        reason_set (reason, "--listen: want ADDRESS:PORT, as 127.0.0.1:9924, got %s",
                    quoted (span_text (address)));
        return EXIT_USAGE;
    }
    if (reach == METRICS_LOCAL && !endpoint_is_local (endpoint)) {
        freeaddrinfo (found);
        reason_set (reason, "--listen: %s is not loopback: set --insecure",
                    quoted (span_text (address)));
        return EXIT_USAGE;
    }
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } bound = {0};
    socklen_t size = sizeof bound;
    int on = 1, fd = socket (found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool listens = fd >= 0 && setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                   bind (fd, found->ai_addr, found->ai_addrlen) == 0 &&
                   listen (fd, CONNECTIONS_MAX) == 0 && getsockname (fd, &bound.any, &size) == 0;
    if (!listens) {
        reason_set (reason, "--listen: %s: %s", quoted (span_text (address)), strerror (errno));
        if (fd >= 0)
            close (fd);
    }
    freeaddrinfo (found);
    if (!listens)
        return EXIT_REFUSED;
    *ret_listener = fd;
    *ret_port = ntohs (bound.any.sa_family == AF_INET6 ? bound.in6.sin6_port : bound.in.sin_port);
    return EXIT_DONE;
}

// -- a request

// Make the answer; `body` is omitted for a HEAD request.
static void make_answer (struct metrics_connection *self, const char *status, const char *header,
                         bool body, const char *text)
{
    int size = asprintf (&self->answer,
                         "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; "
                         "charset=utf-8\r\nContent-Length: %zu\r\n%sConnection: close\r\n\r\n%s",
                         status, strlen (text), header, body ? text : "");
    if (size < 0)
        abort (); // only for lack of memory
    self->answer_size = (size_t)size;
}

static void answer_error (struct metrics_connection *self, const char *status, const char *header)
{
    char text[64];
    snprintf (text, sizeof text, "%s\n", status);
    make_answer (self, status, header, true, text);
}

// Answer a request whose head is complete.
static void answer_http_request (struct metrics_server *server, struct metrics_connection *self)
{
    char method[8] = "", path[64] = "", version[16] = "", end = '\0';
    int parts =
        sscanf (self->head, "%7[A-Z] %63[^ \r\n] %15[^ \r\n]%c", method, path, version, &end);
    bool get = strcmp (method, "GET") == 0;
    if (parts != 4 || end != '\r' || strncmp (version, "HTTP/1.", 7) != 0) {
        answer_error (self, "400 Bad Request", "");
    } else if (strcmp (path, "/metrics") != 0) {
        answer_error (self, "404 Not Found", "");
    } else if (!get && strcmp (method, "HEAD") != 0) {
        answer_error (self, "405 Method Not Allowed", "Allow: GET, HEAD\r\n");
    } else {
        if (!server->text || clock_mono_us () - server->made_us >= FRESH_US) {
            free (server->text);
            server->text = server->make (server->owner);
            server->made_us = clock_mono_us ();
        }
        make_answer (self, "200 OK", "", get, server->text);
    }
}

// Read the head of a request. False: the connection has ended.
static bool read_head (struct metrics_server *server, struct metrics_connection *self)
{
    ssize_t size = recv (self->fd, self->head + self->size, HEAD_MAX - 1 - self->size, 0);
    if (size <= 0)
        return size < 0 && (errno == EAGAIN || errno == EINTR);
    self->size += (size_t)size;
    self->head[self->size] = '\0';
    if (memchr (self->head, '\0', self->size))
        answer_error (self, "400 Bad Request", "");
    else if (strstr (self->head, "\r\n\r\n"))
        answer_http_request (server, self);
    else if (self->size == HEAD_MAX - 1)
        answer_error (self, "431 Request Header Fields Too Large", "");
    return true;
}

// Write the answer. After all was sent, read until the peer closes: closing with unread data would
// reset the connection, and might truncate the answer. False: the connection has ended.
static bool write_answer (struct metrics_connection *self)
{
    if (self->sent == self->answer_size) {
        char rest[HEAD_MAX];
        ssize_t size = recv (self->fd, rest, sizeof rest, 0);
        return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
    }
    ssize_t size =
        send (self->fd, self->answer + self->sent, self->answer_size - self->sent, MSG_NOSIGNAL);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR;
    self->sent += (size_t)size;
    if (self->sent == self->answer_size)
        shutdown (self->fd, SHUT_WR);
    return true;
}

// -- the loop

static void close_connection (struct metrics_server *self, size_t at)
{
    close (self->connections[at].fd);
    free (self->connections[at].answer);
    self->connections[at] = self->connections[--self->count];
}

static void accept_connection (struct metrics_server *self)
{
    int fd = accept4 (self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct metrics_connection *fresh = &self->connections[self->count++];
    fresh->fd = fd;
    fresh->end_us = clock_mono_us () + DEADLINE_US;
    fresh->size = fresh->sent = fresh->answer_size = 0;
    fresh->answer = NULL;
}

// The time until the next deadline, in milliseconds; -1 = none.
static int poll_timeout_ms (const struct metrics_server *self)
{
    int64_t first_us = INT64_MAX, now_us = clock_mono_us ();
    for (size_t i = 0; i < self->count; i++)
        if (self->connections[i].end_us < first_us)
            first_us = self->connections[i].end_us;
    if (first_us == INT64_MAX)
        return -1;
    return first_us > now_us ? (int)((first_us - now_us + 999) / 1000) : 0;
}

void metrics_serve (int listener, int stop_fd, metrics_make_fn *make, void *owner)
{
    struct metrics_server *self = memory_new (sizeof *self);
    self->listener = listener;
    self->make = make;
    self->owner = owner;
    for (;;) {
        struct pollfd items[2 + CONNECTIONS_MAX] = {{.fd = stop_fd, .events = POLLIN}};
        // While all connections are in use, further ones wait in the kernel.
        items[1].fd = self->count < CONNECTIONS_MAX ? listener : -1;
        items[1].events = POLLIN;
        for (size_t i = 0; i < self->count; i++) {
            const struct metrics_connection *one = &self->connections[i];
            items[2 + i].fd = one->fd;
            items[2 + i].events = one->answer && one->sent < one->answer_size ? POLLOUT : POLLIN;
        }
        if (poll (items, 2 + self->count, poll_timeout_ms (self)) < 0 && errno != EINTR)
            break;
        if (items[0].revents)
            break;
        // Iterate backwards: a closed connection is replaced by the last one.
        for (size_t i = self->count; i-- > 0;) {
            struct metrics_connection *one = &self->connections[i];
            bool continues = clock_mono_us () < one->end_us;
            if (continues && items[2 + i].revents)
                continues = one->answer ? write_answer (one) : read_head (self, one);
            if (!continues)
                close_connection (self, i);
        }
        if (items[1].revents)
            accept_connection (self);
    }
    while (self->count)
        close_connection (self, self->count - 1);
    free (self->text);
    free (self);
}
