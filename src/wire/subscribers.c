// Invariant: a connection is identified by its descriptor and the inode of its socket, as
// descriptors are reused. A descriptor is shut down only while it is a connection of this endpoint.
#include "subscribers.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "log.h"
#include "memory.h"
#include "packet.h"
#include "socket.h"

enum {
    SUBSCRIBED = 1,
    TURN_MESSAGES = 64,
    // libzmq processes everything that is queued in one go, and while a peer keeps sending this
    // ends only when the queue runs empty. The user name of an authenticated peer occupies one
    // entry permanently: with a queue of 1 such a peer would never be read.
    QUEUED_MAX = 2,
    RECEIVED_BYTES = 64 << 10, // receive buffer in the kernel, per connection
    DRAIN_TURNS = 64
};

struct subscriber {
    ino_t inode; // 0: no connection is counted
    size_t messages, bytes;
    bool cut;
};

struct subscribers {
    char *endpoint;
    struct subscriber *at; // indexed by descriptor
    size_t count;
    size_t bytes; // bytes of topics of all connections
    bool any;
};

struct subscribers *subscribers_new (const char *endpoint)
{
    struct subscribers *self = memory_new (sizeof *self);
    self->endpoint = memory_text (endpoint);
    return self;
}

void subscribers_destroy (struct subscribers **self_p)
{
    struct subscribers *self = *self_p;
    if (!self)
        return;
    free (self->at);
    free (self->endpoint);
    free (self);
    *self_p = NULL;
}

void subscribers_prepare (void *socket)
{
    wire_set (socket, ZMQ_XPUB_VERBOSER, 1);
    wire_set (socket, ZMQ_RCVHWM, QUEUED_MAX);
    wire_set (socket, ZMQ_RCVBUF, RECEIVED_BYTES);
    wire_limit (socket, SUBSCRIBER_TOPIC_BYTES_MAX);
}

bool subscribers_any (const struct subscribers *self)
{
    return self->any;
}

// -- connections

static ino_t inode_of (int fd)
{
    struct stat stat;
    return fstat (fd, &stat) == 0 && S_ISSOCK (stat.st_mode) ? stat.st_ino : 0;
}

static bool is_connection_of (int fd, const char *endpoint)
{
    union {
        struct sockaddr any;
        struct sockaddr_un un;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } name = {0};
    socklen_t size = sizeof name - 1; // a path may fill it without a NUL
    int listens;
    socklen_t listens_size = sizeof listens;
    const char *port = strrchr (endpoint, ':');
    if (getsockname (fd, &name.any, &size) ||
        getsockopt (fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) || listens)
        return false;
    if (name.any.sa_family == AF_UNIX)
        return strncmp (endpoint, "ipc://", 6) == 0 && strcmp (name.un.sun_path, endpoint + 6) == 0;
    in_port_t number = name.any.sa_family == AF_INET    ? name.in.sin_port
                       : name.any.sa_family == AF_INET6 ? name.in6.sin6_port
                                                        : 0;
    return number && port && ntohs (number) == strtol (port + 1, NULL, 10);
}

static void forget_subscriber (struct subscribers *self, struct subscriber *subscriber)
{
    self->bytes -= subscriber->bytes;
    *subscriber = (struct subscriber){0};
}

// The current connection of this descriptor. NULL: closed already, or not of this endpoint.
static struct subscriber *find_subscriber (struct subscribers *self, int fd)
{
    size_t at = (size_t)fd;
    ino_t inode = inode_of (fd);
    if (!inode)
        return NULL;
    if (at >= self->count) {
        size_t count = at * 2 + 64;
        self->at = memory_resize (self->at, count * sizeof *self->at);
        memset (self->at + self->count, 0, (count - self->count) * sizeof *self->at);
        self->count = count;
    }
    if (self->at[at].inode != inode) {
        forget_subscriber (self, &self->at[at]);
        if (!is_connection_of (fd, self->endpoint))
            return NULL;
        self->at[at].inode = inode;
    }
    return &self->at[at];
}

// -- limits

// Shut a subscriber's connection down. Also drain the kernel's buffer, or libzmq processes it
// before it notices the close.
static void disconnect_subscriber (struct subscribers *self, int fd, const char *reason)
{
    static char discarded[16 << 10];
    struct subscriber *subscriber = &self->at[fd];
    log_event (LEVEL_WARN, "subscriber.cut", "endpoint=%s messages=%zu bytes=%zu reason=\"%s\"",
               self->endpoint, subscriber->messages, subscriber->bytes, reason);
    self->bytes -= subscriber->bytes;
    subscriber->bytes = 0;
    subscriber->cut = true;
    shutdown (fd, SHUT_RDWR);
    for (int i = 0; i < DRAIN_TURNS; i++)
        if (recv (fd, discarded, sizeof discarded, MSG_DONTWAIT) <= 0)
            break;
}

// The descriptor of the largest subscriber that is still connected; -1: there is none.
static int find_largest (struct subscribers *self)
{
    int found = -1;
    for (size_t i = 0; i < self->count; i++) {
        struct subscriber *subscriber = &self->at[i];
        if (!subscriber->bytes)
            continue;
        if (inode_of ((int)i) != subscriber->inode)
            forget_subscriber (self, subscriber);
        else if (found < 0 || subscriber->bytes > self->at[found].bytes)
            found = (int)i;
    }
    return found;
}

static void count_message (struct subscribers *self, int fd, size_t size)
{
    struct subscriber *subscriber = find_subscriber (self, fd);
    if (!subscriber || subscriber->cut)
        return;
    subscriber->messages++;
    subscriber->bytes += size;
    self->bytes += size;
    if (subscriber->messages > SUBSCRIBER_MESSAGES_MAX)
        disconnect_subscriber (self, fd, "too many subscriptions");
    else if (subscriber->bytes > SUBSCRIBER_BYTES_MAX)
        disconnect_subscriber (self, fd, "too many bytes of topics");
    else if (self->bytes > SUBSCRIBERS_BYTES_MAX && (fd = find_largest (self)) >= 0 &&
             self->bytes > SUBSCRIBERS_BYTES_MAX)
        disconnect_subscriber (self, fd, "too many bytes of topics of all subscribers");
}

// -- reading

bool subscribers_read (struct subscribers *self, void *socket)
{
    for (int i = 0; i < TURN_MESSAGES; i++) {
        zmq_msg_t part;
        if (!packet_recv_part (&part, socket))
            return false;
        // Messages that libzmq itself adds for a closed connection have no descriptor.
        int fd = zmq_msg_get (&part, ZMQ_SRCFD);
        size_t size = zmq_msg_size (&part);
        self->any |= size > 0 && *(const uint8_t *)zmq_msg_data (&part) == SUBSCRIBED;
        if (fd >= 0)
            count_message (self, fd, size);
        zmq_msg_close (&part);
    }
    return true;
}
