// zplan-bench-beanstalk: the same load for beanstalkd, by its own protocol.
//   intake: puts with a far delay, a window of them unanswered
//   drain:  puts that are due at about one instant; reserve and delete of all of them. beanstalkd
//           counts in whole seconds from each put, so it is stopped until all of them are due.
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "figures.h"
#include "memory.h"
#include "options.h"
#include "traffic.h"

enum { BUFFER_SIZE = 1 << 18, LINE_MAX_SIZE = 256, TIME_TO_RUN_S = 600, RESERVED_AT_ONCE = 256 };

struct stalk {
    const struct options *options;
    int fd;
    char in[BUFFER_SIZE], *out, *body;
    size_t in_from, in_to, out_size, out_room;
    struct samples answered;
};

// -- the connection

static void open_connection (struct stalk *self)
{
    char port[8];
    int one = 1;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    snprintf (port, sizeof port, "%d", (int)self->options->port);
    if (getaddrinfo ("127.0.0.1", port, &hints, &found))
        fail ("no address");
    self->fd = socket (found->ai_family, found->ai_socktype, 0);
    if (self->fd < 0 || connect (self->fd, found->ai_addr, found->ai_addrlen))
        fail ("cannot connect to beanstalkd: %s", strerror (errno));
    setsockopt (self->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    freeaddrinfo (found);
}

static void put_bytes (struct stalk *self, const char *bytes, size_t size)
{
    if (self->out_size + size > self->out_room) {
        self->out_room = (self->out_size + size) * 2;
        self->out = memory_resize (self->out, self->out_room);
    }
    memcpy (self->out + self->out_size, bytes, size);
    self->out_size += size;
}

static void flush (struct stalk *self)
{
    size_t done = 0;
    while (done < self->out_size) {
        ssize_t size = write (self->fd, self->out + done, self->out_size - done);
        if (size < 0 && errno != EINTR)
            fail ("beanstalkd: %s", strerror (errno));
        done += size > 0 ? (size_t)size : 0;
    }
    self->out_size = 0;
}

// Read more behind what is there.
static void fill (struct stalk *self)
{
    if (self->in_from) {
        memmove (self->in, self->in + self->in_from, self->in_to - self->in_from);
        self->in_to -= self->in_from;
        self->in_from = 0;
    }
    ssize_t size = read (self->fd, self->in + self->in_to, sizeof self->in - self->in_to);
    if (size == 0 || (size < 0 && errno != EINTR))
        fail ("beanstalkd has closed the connection");
    self->in_to += size > 0 ? (size_t)size : 0;
}

// The next line, if it is there without waiting for more; NULL otherwise. Without its CR LF.
static char *ready_line (struct stalk *self)
{
    char *from = self->in + self->in_from;
    char *end = memmem (from, self->in_to - self->in_from, "\r\n", 2);
    if (!end)
        return NULL;
    *end = '\0';
    self->in_from = (size_t)(end + 2 - self->in);
    return from;
}

static char *next_line (struct stalk *self)
{
    for (;;) {
        char *line = ready_line (self);
        if (line)
            return line;
        fill (self);
    }
}

static void skip_bytes (struct stalk *self, size_t size)
{
    while (self->in_to - self->in_from < size)
        fill (self);
    self->in_from += size;
}

// -- puts

static void put_job (struct stalk *self)
{
    char head[LINE_MAX_SIZE];
    size_t size = (size_t)self->options->argument;
    int head_size = snprintf (head, sizeof head, "put 0 %" PRId64 " %d %zu\r\n",
                              self->options->due_in_s, TIME_TO_RUN_S, size);
    put_bytes (self, head, (size_t)head_size);
    put_bytes (self, self->body, size);
    put_bytes (self, "\r\n", 2);
}

static void expect (const char *line, const char *word)
{
    if (strncmp (line, word, strlen (word)) != 0)
        fail ("beanstalkd answers '%s'", line);
}

static void put_all (struct stalk *self)
{
    int64_t window = self->options->window, sent = 0, answered = 0;
    int64_t *sent_us = memory_new ((size_t)window * sizeof *sent_us);
    while (answered < self->options->plans) {
        int64_t now = clock_mono_us ();
        for (; sent < self->options->plans && sent - answered < window; sent++) {
            sent_us[sent % window] = now;
            put_job (self);
        }
        flush (self);
        // All that is there, at least one.
        for (char *line = next_line (self); line; line = ready_line (self)) {
            expect (line, "INSERTED ");
            samples_add (&self->answered, clock_mono_us () - sent_us[answered++ % window]);
        }
    }
    free (sent_us);
}

static int intake (struct stalk *self)
{
    int64_t begin_us = clock_wall_us ();
    put_all (self);
    int64_t end_us = clock_wall_us ();
    result_begin ("beanstalk_intake");
    result_integer ("accepted", self->options->plans);
    result_integer ("begin_us", begin_us);
    result_integer ("end_us", end_us);
    result_real ("plans_per_s", rate_of (self->options->plans, end_us - begin_us));
    result_samples ("acknowledged_ms", &self->answered);
    result_end ();
    return 0;
}

// -- drain

static void hold_until_due (struct stalk *self)
{
    pid_t pid = (pid_t)self->options->pid;
    if (!pid)
        fail ("drain wants --pid of beanstalkd");
    kill (pid, SIGSTOP);
    poll (NULL, 0, (int)(self->options->due_in_s + 1) * 1000);
    kill (pid, SIGCONT);
}

static void reserve (struct stalk *self, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        put_bytes (self, "reserve\r\n", 9);
}

// Reserve a batch, then delete it and reserve the next one in the same write.
static void take_all (struct stalk *self, int64_t *ret_first_us)
{
    int64_t left = self->options->plans, batch = left < RESERVED_AT_ONCE ? left : RESERVED_AT_ONCE;
    int64_t deleting = 0;
    reserve (self, batch);
    flush (self);
    while (batch || deleting) {
        for (; deleting; deleting--)
            expect (next_line (self), "DELETED");
        for (int64_t i = 0; i < batch; i++) {
            char *line = next_line (self), text[LINE_MAX_SIZE];
            unsigned long long id;
            size_t size;
            if (sscanf (line, "RESERVED %llu %zu", &id, &size) != 2)
                fail ("beanstalkd answers '%s'", line);
            skip_bytes (self, size + 2);
            if (!*ret_first_us)
                *ret_first_us = clock_mono_us ();
            int text_size = snprintf (text, sizeof text, "delete %llu\r\n", id);
            put_bytes (self, text, (size_t)text_size);
        }
        left -= batch;
        deleting = batch;
        batch = left < RESERVED_AT_ONCE ? left : RESERVED_AT_ONCE;
        reserve (self, batch);
        flush (self);
    }
}

static int drain (struct stalk *self)
{
    int64_t first_us = 0;
    put_all (self);
    hold_until_due (self);
    take_all (self, &first_us);
    int64_t us = clock_mono_us () - first_us;
    result_begin ("beanstalk_drain");
    result_integer ("done", self->options->plans);
    result_real ("runs_per_s", rate_of (self->options->plans, us));
    result_end ();
    return 0;
}

// -- the program

static const char *const intake_names[] = {"port", "plans", "window", "argument", "in", NULL};
static const char *const drain_names[] = {"port",   "plans", "window", "argument",
                                          "due_in", "pid",   NULL};

int main (int argc, char **argv)
{
    struct options options;
    struct reason reason;
    bool drains = argc > 1 && strcmp (argv[1], "drain") == 0;
    const char *const *names = drains ? drain_names : intake_names;
    if (argc < 2 || (!drains && strcmp (argv[1], "intake") != 0)) {
        fputs ("zplan-bench-beanstalk: intake or drain (try intake --help)\n", stderr);
        return 2;
    }
    switch (options_read (names, argc - 2, argv + 2, &options, &reason)) {
    case OPTIONS_READ:
        break;
    case OPTIONS_HELP:
        options_print (names);
        return 0;
    case OPTIONS_WRONG:
        fprintf (stderr, "zplan-bench-beanstalk: %s\n", reason.text);
        return 2;
    }
    struct stalk *self = memory_new (sizeof *self);
    self->options = &options;
    self->body = memory_new ((size_t)options.argument);
    memset (self->body, 'x', (size_t)options.argument);
    open_connection (self);
    int status = drains ? drain (self) : intake (self);
    close (self->fd);
    samples_free (&self->answered);
    free (self->out);
    free (self->body);
    free (self);
    return status;
}
