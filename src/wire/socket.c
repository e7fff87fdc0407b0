#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "packet.h"
#include "settings.h"

enum {
    QUEUE_MAX = 1000,
    HEARTBEAT_MS = 1000,
    HEARTBEAT_TIMEOUT_MS = 3000,
    HANDSHAKE_MS = 3000,
    KEEPALIVE_IDLE_S = 5, // then three probes, a second apart
    KEEPALIVE_INTERVAL_S = 1,
    KEEPALIVE_COUNT = 3,
    UNACKNOWLEDGED_MS =
        10000,       // how long sent data may stay unacknowledged; then the connection is closed
    DESCRIPTORS = 16 // needed by a context with one socket and its connection, with some to spare
};

// -- contexts

// Whether enough descriptors are free for a context: libzmq aborts the process if it cannot get
// them.
static bool has_descriptors (void)
{
    int fds[DESCRIPTORS];
    int count = 0;
    while (count < DESCRIPTORS && (fds[count] = eventfd (0, EFD_CLOEXEC)) >= 0)
        count++;
    int error = errno;
    for (int i = 0; i < count; i++)
        close (fds[i]);
    errno = error;
    return count == DESCRIPTORS;
}

void *wire_context_new (void)
{
    return has_descriptors () ? zmq_ctx_new () : NULL;
}

void wire_context_destroy (void **context)
{
    int error = errno;
    if (*context)
        TEMP_FAILURE_RETRY (zmq_ctx_term (*context));
    *context = NULL;
    errno = error;
}

// -- sockets

void wire_set (void *socket, int option, int value)
{
    zmq_setsockopt (socket, option, &value, sizeof value);
}

void wire_limit (void *socket, size_t frame_bytes)
{
    int64_t most = (int64_t)frame_bytes;
    zmq_setsockopt (socket, ZMQ_MAXMSGSIZE, &most, sizeof most);
}

void *wire_socket_in (void *context, int type)
{
    void *socket = zmq_socket (context, type);
    if (!socket)
        return NULL;
    wire_limit (socket, packet_of_stations.frame_bytes);
    wire_set (socket, ZMQ_SNDHWM, QUEUE_MAX);
    wire_set (socket, ZMQ_RCVHWM, QUEUE_MAX);
    wire_set (socket, ZMQ_LINGER, 0);
    wire_set (socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS);
    wire_set (socket, ZMQ_TCP_KEEPALIVE, 1);
    wire_set (socket, ZMQ_TCP_KEEPALIVE_IDLE, KEEPALIVE_IDLE_S);
    wire_set (socket, ZMQ_TCP_KEEPALIVE_INTVL, KEEPALIVE_INTERVAL_S);
    wire_set (socket, ZMQ_TCP_KEEPALIVE_CNT, KEEPALIVE_COUNT);
    wire_set (socket, ZMQ_TCP_MAXRT, UNACKNOWLEDGED_MS);
    return socket;
}

// libzmq 4.3.4 stops reading a connection whose queue is full, and when the peer then closes it the
// next heartbeat aborts the process ("!_io_error"): any peer could crash this process. An unlimited
// queue is never full.
void wire_heartbeat (void *socket)
{
    wire_set (socket, ZMQ_RCVHWM, 0);
    wire_set (socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS);
    wire_set (socket, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS);
}

static int check_port (const char *endpoint, const char *port, struct reason *reason)
{
    int64_t number;
    if (number_parse (port, &number) && number >= 1 && number <= 65535)
        return 0;
    return reason_set (reason, "%s: want a port 1..65535", quoted (span_text (endpoint)));
}

int endpoint_check (const char *endpoint, struct reason *reason)
{
    if (strncmp (endpoint, "tcp://", 6) == 0) {
        const char *colon = strrchr (endpoint + 6, ':');
        if (colon && colon > endpoint + 6)
            return check_port (endpoint, colon + 1, reason);
    } else if (strncmp (endpoint, "ipc://", 6) == 0) {
        size_t size = strlen (endpoint + 6);
        if (size > 0 && size < sizeof ((struct sockaddr_un *)0)->sun_path)
            return 0;
    }
    return reason_set (reason, "%s: want tcp://HOST:PORT or ipc://PATH",
                       quoted (span_text (endpoint)));
}

bool endpoint_is_local (const char *endpoint)
{
    char host[INET6_ADDRSTRLEN + 2] = "";
    struct in_addr v4;
    const char *colon = strrchr (endpoint, ':');
    if (strncmp (endpoint, "tcp://", 6) != 0)
        return true;
    size_t size = colon > endpoint + 6 ? (size_t)(colon - endpoint - 6) : 0;
    if (size == 0 || size >= sizeof host)
        return false;
    memcpy (host, endpoint + 6, size);
    if (inet_pton (AF_INET, host, &v4) == 1)
        return ntohl (v4.s_addr) >> 24 == 127;
    static const char *const names[] = {"localhost", "lo", "[::1]", "::1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp (host, names[i]) == 0)
            return true;
    return false;
}
