#define _GNU_SOURCE 1 // pipe2, execvpe, close_range, memfd_create

#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "memory.h"
#include "process.h"

enum {
    BLOCK_SIZE = 64 << 10,
    BLOCKS_A_TURN = 16, // blocks read before the worker's heartbeat, at most
    PROGRESS_READS_A_TURN = 16,
    ORPHAN_WAIT_US = 1000000, // for outputs that the child's own children keep open
    EXIT_NOT_EXECUTED = 127
};

// -- the environment

void environment_free (char **environment)
{
    for (char **at = environment; at && *at; at++)
        free (*at);
    free (environment);
}

static bool is_overridden (const char *entry, const struct environment_variable *variables,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen (variables[i].name);
        if (strncmp (entry, variables[i].name, size) == 0 && entry[size] == '=')
            return true;
    }
    return false;
}

char **environment_new (const struct environment_variable *variables, size_t count,
                        struct reason *reason)
{
    size_t inherited = 0;
    while (environ[inherited])
        inherited++;
    char **environment = memory_new ((inherited + count + 1) * sizeof *environment);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        struct span value = variables[i].value;
        if (!value.data)
            continue;
        if (memchr (value.data, 0, value.size)) {
            reason_set (reason, "%s: a NUL byte cannot stand in the environment",
                        variables[i].name);
            environment_free (environment);
            return NULL;
        }
        if (asprintf (&environment[at++], "%s=%.*s", variables[i].name, (int)value.size,
                      (const char *)value.data) < 0)
            abort (); // only for lack of memory
    }
    for (size_t i = 0; i < inherited; i++)
        if (!is_overridden (environ[i], variables, count))
            environment[at++] = memory_text (environ[i]);
    return environment;
}

// -- start

// EXEC_ERROR: the child writes errno to it if the command cannot be executed.
enum { IN, OUT, ERR, PROGRESS, EXEC_ERROR, PIPES };

struct pipes {
    int ends[PIPES][2]; // read end, write end
    int context;        // a file in memory; -1 = there is none
};

static void close_fd (int *fd)
{
    if (*fd >= 0)
        close (*fd);
    *fd = -1;
}

static void pipes_close (struct pipes *self)
{
    for (size_t i = 0; i < PIPES; i++)
        for (size_t k = 0; k < 2; k++)
            close_fd (&self->ends[i][k]);
    close_fd (&self->context);
}

// Make a file in memory that holds the bytes, to be read from its start; -1 with errno.
static int memory_file (struct span bytes)
{
    int fd = memfd_create ("context", MFD_CLOEXEC);
    while (fd >= 0 && bytes.size > 0) {
        ssize_t size = write (fd, bytes.data, bytes.size);
        if (size < 0 && errno != EINTR) {
            close (fd);
            return -1;
        }
        if (size > 0)
            bytes = span_of (bytes.data + size, bytes.size - (size_t)size);
    }
    if (fd >= 0)
        lseek (fd, 0, SEEK_SET);
    return fd;
}

static int pipes_open (struct pipes *self, const struct child_command *command)
{
    for (size_t i = 0; i < PIPES; i++)
        self->ends[i][0] = self->ends[i][1] = -1;
    self->context = command->context.data ? memory_file (command->context) : -1;
    bool opened = self->context >= 0 || !command->context.data;
    for (size_t i = 0; i < PIPES && opened; i++)
        opened = pipe2 (self->ends[i], O_CLOEXEC) == 0;
    if (opened)
        return 0;
    int error = errno;
    pipes_close (self);
    errno = error;
    return -1;
}

// Become the command. This runs between fork and exec in a process with threads: only
// async-signal-safe calls are allowed.
static void exec_command (const struct child_command *command, const struct pipes *pipes)
{
    setpgid (0, 0);
    umask (command->umask);
    // Move these descriptors above those that the child uses for its progress and its context. dup2
    // clears close-on-exec, except if both numbers are equal.
    int error_fd = fcntl (pipes->ends[EXEC_ERROR][1], F_DUPFD_CLOEXEC, CHILD_CONTEXT_FD + 1);
    int progress = fcntl (pipes->ends[PROGRESS][1], F_DUPFD_CLOEXEC, CHILD_CONTEXT_FD + 1);
    int context =
        pipes->context < 0 ? -1 : fcntl (pipes->context, F_DUPFD_CLOEXEC, CHILD_CONTEXT_FD + 1);
    bool good = error_fd >= 0 && dup2 (pipes->ends[IN][0], STDIN_FILENO) >= 0 &&
                dup2 (pipes->ends[OUT][1], STDOUT_FILENO) >= 0 &&
                dup2 (pipes->ends[ERR][1], STDERR_FILENO) >= 0 &&
                dup2 (progress, CHILD_PROGRESS_FD) >= 0 &&
                (pipes->context < 0 || dup2 (context, CHILD_CONTEXT_FD) >= 0);
    // All descriptors that we opened are close-on-exec; this closes those that we inherited.
    unsigned rest = pipes->context < 0 ? CHILD_CONTEXT_FD : CHILD_CONTEXT_FD + 1;
    close_range (rest, ~0U, CLOSE_RANGE_CLOEXEC);
    process_reset_signals (HANGUP_KEPT);
    if (good)
        execvpe (command->argv[0], command->argv, command->environment);
    int error = errno;
    ssize_t size = write (error_fd, &error, sizeof error);
    (void)size; // a failure to report a failure is ignored
    _exit (EXIT_NOT_EXECUTED);
}

// Remove our end of a pipe from the set, so that pipes_close leaves it open, and make it
// non-blocking.
static int take_pipe_end (struct pipes *pipes, size_t pipe, size_t end)
{
    int fd = pipes->ends[pipe][end];
    pipes->ends[pipe][end] = -1;
    fcntl (fd, F_SETFL, O_NONBLOCK);
    return fd;
}

// Wait for exec, which closes the pipe. Returns 0, or the errno of its failure.
static int read_exec_error (struct pipes *pipes)
{
    int error = 0;
    ssize_t size;
    close_fd (&pipes->ends[EXEC_ERROR][1]);
    do
        size = read (pipes->ends[EXEC_ERROR][0], &error, sizeof error);
    while (size < 0 && errno == EINTR);
    return size == sizeof error ? error : 0;
}

void child_reset (struct child *self)
{
    *self = (struct child){.input = -1, .out.fd = -1, .err.fd = -1, .progress.fd = -1};
}

int child_start (struct child *self, const struct child_command *command, struct reason *reason)
{
    child_reset (self);
    struct pipes pipes;
    if (pipes_open (&pipes, command))
        return reason_set (reason, "cannot start %s: %s", command->argv[0], strerror (errno));
    pid_t pid = fork ();
    int error = pid < 0 ? errno : 0;
    if (pid == 0)
        exec_command (command, &pipes);
    if (pid > 0) {
        setpgid (pid, pid); // in the parent as well, as either process may run first
        error = read_exec_error (&pipes);
    }
    if (error) {
        if (pid > 0)
            waitpid (pid, NULL, 0);
        pipes_close (&pipes);
        return reason_set (reason, "cannot start %s: %s", command->argv[0], strerror (error));
    }
    self->pid = pid;
    self->left = command->input;
    self->input = take_pipe_end (&pipes, IN, 1);
    self->out.fd = take_pipe_end (&pipes, OUT, 0);
    self->err.fd = take_pipe_end (&pipes, ERR, 0);
    self->progress.fd = take_pipe_end (&pipes, PROGRESS, 0);
    pipes_close (&pipes);
    return 0;
}

// -- work

nfds_t child_poll_items (const struct child *self, struct pollfd items[CHILD_ITEMS])
{
    const struct pollfd all[CHILD_ITEMS] = {{.fd = self->input, .events = POLLOUT},
                                            {.fd = self->out.fd, .events = POLLIN},
                                            {.fd = self->err.fd, .events = POLLIN},
                                            {.fd = self->progress.fd, .events = POLLIN}};
    nfds_t count = 0;
    for (size_t i = 0; i < CHILD_ITEMS; i++)
        if (all[i].fd >= 0)
            items[count++] = all[i];
    return count;
}

static void write_input (struct child *self)
{
    while (self->input >= 0 && self->left.size > 0) {
        ssize_t size = write (self->input, self->left.data, self->left.size);
        if (size < 0 && errno == EAGAIN)
            return;
        if (size < 0 && errno != EINTR)
            break; // EPIPE: the child closed its input
        if (size > 0)
            self->left = span_of (self->left.data + size, self->left.size - (size_t)size);
    }
    close_fd (&self->input);
}

static void output_append (struct child_output *self, const uint8_t *bytes, size_t size)
{
    if (size > CHILD_OUTPUT_MAX - self->size) {
        self->cut = true;
        size = CHILD_OUTPUT_MAX - self->size;
    }
    if (self->size + size > self->room) {
        self->room = (self->size + size) * 2;
        self->bytes = memory_resize (self->bytes, self->room);
    }
    if (size)
        memcpy (self->bytes + self->size, bytes, size);
    self->size += size;
}

// Read what is available now, and close the pipe at its end. Returns the number of bytes; 0: none.
static size_t read_pipe (int *fd, void *block, size_t room)
{
    ssize_t size = *fd < 0 ? 0 : read (*fd, block, room);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
        close_fd (fd);
    return size > 0 ? (size_t)size : 0;
}

static void drain_output (struct child_output *self)
{
    uint8_t block[BLOCK_SIZE];
    size_t size;
    for (int i = 0; i < BLOCKS_A_TURN && (size = read_pipe (&self->fd, block, sizeof block)); i++)
        output_append (self, block, size);
}

static void add_byte (struct progress_reader *self, char byte)
{
    if (byte != '\n') {
        if (self->size < sizeof self->part - 1)
            self->part[self->size++] = byte;
        return;
    }
    memcpy (self->last, self->part, self->size);
    self->last[self->size] = '\0';
    self->size = 0;
    self->fresh = true;
}

static void read_progress (struct progress_reader *self)
{
    char block[4096];
    size_t size;
    for (int i = 0;
         i < PROGRESS_READS_A_TURN && (size = read_pipe (&self->fd, block, sizeof block)); i++)
        for (size_t at = 0; at < size; at++)
            add_byte (self, block[at]);
}

void child_serve (struct child *self)
{
    // Reap the child before reading: all that it wrote before its end is then available.
    if (!self->exited && waitpid (self->pid, &self->wait_status, WNOHANG) == self->pid) {
        self->exited = true;
        self->exited_us = clock_mono_us ();
    }
    write_input (self);
    drain_output (&self->out);
    drain_output (&self->err);
    read_progress (&self->progress);
}

const char *child_new_progress (struct child *self)
{
    bool fresh = self->progress.fresh;
    self->progress.fresh = false;
    return fresh ? self->progress.last : NULL;
}

bool child_has_ended (const struct child *self)
{
    bool complete = self->out.fd < 0 && self->err.fd < 0;
    return self->exited && (complete || clock_mono_us () - self->exited_us >= ORPHAN_WAIT_US);
}

void child_signal (const struct child *self, int number)
{
    if (self->pid > 0)
        kill (-self->pid, number);
}

bool child_group_has_ended (const struct child *self)
{
    return self->exited && kill (-self->pid, 0) < 0 && errno == ESRCH;
}

void child_free (struct child *self)
{
    if (self->pid > 0 && !self->exited) {
        child_signal (self, SIGKILL);
        waitpid (self->pid, NULL, 0);
    }
    close_fd (&self->input);
    close_fd (&self->out.fd);
    close_fd (&self->err.fd);
    close_fd (&self->progress.fd);
    free (self->out.bytes);
    free (self->err.bytes);
    child_reset (self);
}
