// zplan metrics: prints the station's numbers in the format of Prometheus, or serves them over
// HTTP.
//
// Each connection has one request and one answer, and is closed: read the head, write the answer,
// wait until the peer has read it. A connection past its deadline is cut.
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "call.h"
#include "clock.h"
#include "listen_address.h"
#include "memory.h"
#include "metrics_text.h"
#include "options.h"
#include "print.h"
#include "socket.h"

enum {
    TARGETS_DEFAULT = 64,
    REQUEST_MS = 400, // timeout of each of two requests, so that a scrape takes below 1 s
    CONNECTIONS_MAX = 32,
    HEAD_MAX = 8192,
    DEADLINE_US = 10000000,
    FRESH_US = 1000000
};

struct metrics_connection {
    int fd;
    int64_t end_us; // deadline, monotonic
    size_t size;    // bytes of the head so far
    char head[HEAD_MAX];
    char *answer; // NULL: still reading the head
    size_t answer_size, sent;
};

struct metrics {
    const struct cli *cli;
    // Options.
    const char *listen;
    bool insecure;
    int64_t targets;
    // State.
    struct zplan_client *client;
    struct verdict health; // the result of its last request
    // With --listen:
    int listener;
    char port[8];
    char *text; // made at `made_us`, monotonic; NULL: none yet
    int64_t made_us;
    struct metrics_connection *connections; // at most CONNECTIONS_MAX
    size_t count;
};

static const struct option rows[] = {
    TEXT_OPTION (struct metrics, listen, "--listen", "ADDRESS:PORT",
                 "serve GET /metrics there until a signal: 127.0.0.1:9924;\n"
                 "port 0 takes a free one"),
    FLAG_OPTION (struct metrics, insecure, "--insecure",
                 "also on an address that other machines reach: whoever\n"
                 "reaches it reads the metrics"),
    NUMBER_OPTION (struct metrics, targets, "--targets", "N", 1, METRIC_TARGETS_MAX,
                   "targets with series of their own; the others are one,\n"
                   "\"other\"; default 64"),
};

static const char about[] =
    "Print the station's numbers in the text format of Prometheus: plans, runs by target and\n"
    "outcome, histograms of lateness and duration, Redis. With --listen serve them instead; each\n"
    "scrape is answered within a second, from numbers that are at most a second old. If the\n"
    "station does not answer, zplan_up is 0. Needs the role observe.\n\n"
    "  zplan metrics\n"
    "  zplan metrics --listen 127.0.0.1:9924\n\n"
    "docker/monitoring has rules of alerts, and a dashboard of Grafana. Exit status without\n"
    "--listen: 3 if the station does not answer.\n";

static char *make_metrics (struct metrics *self)
{
    struct verdict ignored; // if Redis is away, `health` reports it
    char *text;
    size_t size;
    FILE *out = text_open (&text, &size);
    json_t *health = call_with_filter (self->cli, self->client, "health", NULL, &self->health);
    json_t *stats =
        health ? call_with_filter (self->cli, self->client, "stats", NULL, &ignored) : NULL;
    metrics_write (out, health, stats, (size_t)self->targets);
    fclose (out);
    json_decref (health);
    json_decref (stats);
    return text;
}

static int print_metrics (struct metrics *self)
{
    char *text = make_metrics (self);
    fputs (text, stdout);
    free (text);
    return verdict_print (&self->health, NULL);
}

// -- the socket

// Listen at the address. Returns an exit code; errors are reported.
static int open_listener (struct metrics *self)
{
    char endpoint[128];
    struct reason reason;
    const char *address = self->listen;
    struct addrinfo *found = listen_address_find (address);
    snprintf (endpoint, sizeof endpoint, "tcp://%s", address);
    if (!found) {
        reason_set (&reason, "--listen: want ADDRESS:PORT, as 127.0.0.1:9924, got %s",
                    quoted (span_text (address)));
        return usage_error (self->cli->argv[0], &reason);
    }
    if (!self->insecure && !endpoint_is_local (endpoint)) {
        freeaddrinfo (found);
        reason_set (&reason, "--listen: %s is not loopback: set --insecure",
                    quoted (span_text (address)));
        return usage_error (self->cli->argv[0], &reason);
    }
    struct sockaddr_storage bound;
    struct sockaddr *any = (struct sockaddr *)&bound;
    socklen_t size = sizeof bound;
    int on = 1, fd = socket (found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool listens = fd >= 0 && setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                   bind (fd, found->ai_addr, found->ai_addrlen) == 0 &&
                   listen (fd, CONNECTIONS_MAX) == 0 && getsockname (fd, any, &size) == 0;
    if (!listens)
        reason_set (&reason, "--listen: %s: %s", quoted (span_text (address)), strerror (errno));
    freeaddrinfo (found);
    if (!listens && fd >= 0)
        close (fd);
    if (!listens)
        return complain (NULL, span_text (reason.text));
    self->listener = fd;
    getnameinfo (any, size, NULL, 0, self->port, sizeof self->port, NI_NUMERICSERV);
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
static void answer_http_request (struct metrics *metrics, struct metrics_connection *self)
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
        if (!metrics->text || clock_mono_us () - metrics->made_us >= FRESH_US) {
            free (metrics->text);
            metrics->text = make_metrics (metrics);
            metrics->made_us = clock_mono_us ();
        }
        make_answer (self, "200 OK", "", get, metrics->text);
    }
}

// Read the head of a request. False: the connection has ended.
static bool read_head (struct metrics *metrics, struct metrics_connection *self)
{
    ssize_t size = recv (self->fd, self->head + self->size, HEAD_MAX - 1 - self->size, 0);
    if (size <= 0)
        return size < 0 && (errno == EAGAIN || errno == EINTR);
    self->size += (size_t)size;
    self->head[self->size] = '\0';
    if (memchr (self->head, '\0', self->size))
        answer_error (self, "400 Bad Request", "");
    else if (strstr (self->head, "\r\n\r\n"))
        answer_http_request (metrics, self);
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

static void close_connection (struct metrics *self, size_t at)
{
    close (self->connections[at].fd);
    free (self->connections[at].answer);
    self->connections[at] = self->connections[--self->count];
}

static void accept_connection (struct metrics *self)
{
    int fd = accept4 (self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        self->connections[self->count++] =
            (struct metrics_connection){.fd = fd, .end_us = clock_mono_us () + DEADLINE_US};
}

// The time until the next deadline, in milliseconds; -1 = none.
static int poll_timeout_ms (const struct metrics *self)
{
    int64_t first_us = INT64_MAX, now_us = clock_mono_us ();
    for (size_t i = 0; i < self->count; i++)
        if (self->connections[i].end_us < first_us)
            first_us = self->connections[i].end_us;
    if (first_us == INT64_MAX)
        return -1;
    return first_us > now_us ? (int)((first_us - now_us + 999) / 1000) : 0;
}

// Serve until `stop_fd` is readable.
static void serve_connections (struct metrics *self, int stop_fd)
{
    self->connections = memory_new (CONNECTIONS_MAX * sizeof *self->connections);
    for (;;) {
        struct pollfd items[2 + CONNECTIONS_MAX] = {{.fd = stop_fd, .events = POLLIN}};
        // While all connections are in use, further ones wait in the kernel.
        items[1].fd = self->count < CONNECTIONS_MAX ? self->listener : -1;
        items[1].events = POLLIN;
        for (size_t i = 0; i < self->count; i++) {
            const struct metrics_connection *connection = &self->connections[i];
            items[2 + i].fd = connection->fd;
            items[2 + i].events =
                connection->answer && connection->sent < connection->answer_size ? POLLOUT : POLLIN;
        }
        if (poll (items, 2 + self->count, poll_timeout_ms (self)) < 0 && errno != EINTR)
            break;
        if (items[0].revents)
            break;
        // Iterate backwards: a closed connection is replaced by the last one.
        for (size_t i = self->count; i-- > 0;) {
            struct metrics_connection *connection = &self->connections[i];
            bool continues = clock_mono_us () < connection->end_us;
            if (continues && items[2 + i].revents)
                continues =
                    connection->answer ? write_answer (connection) : read_head (self, connection);
            if (!continues)
                close_connection (self, i);
        }
        if (items[1].revents)
            accept_connection (self);
    }
    while (self->count)
        close_connection (self, self->count - 1);
    free (self->connections);
    free (self->text);
}

static int serve_metrics (struct metrics *self)
{
    int code = open_listener (self);
    const char *address = self->listen;
    if (code != EXIT_DONE)
        return code;
    sigset_t set;
    sigemptyset (&set);
    sigaddset (&set, SIGTERM);
    sigaddset (&set, SIGINT);
    sigprocmask (SIG_BLOCK, &set, NULL);
    int stop_fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    printf ("http://%.*s:%s/metrics\n", (int)(strrchr (address, ':') - address), address,
            self->port);
    fflush (stdout);
    zplan_client_set_timeout (self->client, REQUEST_MS);
    zplan_client_set_interrupt (self->client, stop_fd);
    serve_connections (self, stop_fd);
    close (stop_fd);
    close (self->listener);
    return EXIT_DONE;
}

int verb_metrics (const struct cli *cli)
{
    struct metrics self = {.cli = cli, .targets = TARGETS_DEFAULT};
    const struct usage usage = {
        .synopsis = "zplan metrics [--listen ADDRESS:PORT]",
        .about = about,
        .groups = {OPTION_GROUP ("Metrics", rows, &self)},
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    if (cli->json) {
        struct reason reason;
        reason_set (&reason, "--json: the metrics are text; zplan stats --json has the numbers");
        return usage_error (cli->argv[0], &reason);
    }
    self.client = call_open (cli, &code);
    if (self.client)
        code = self.listen ? serve_metrics (&self) : print_metrics (&self);
    zplan_client_destroy (&self.client);
    return code;
}
