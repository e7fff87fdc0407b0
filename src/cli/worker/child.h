// A command that is run for a job: a child process in a group of its own, fed on standard input,
// read on standard output, error and its progress pipe, never waited for.
#pragma once

#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include "lines.h"
#include "reason.h"

enum {
    CHILD_OUTPUT_MAX = (1 << 20) - 4096, // a frame's limit, less what else a result holds
    CHILD_ITEMS_MAX = 4,
    CHILD_PROGRESS_FD = 3, // where the child writes lines of its progress
    CHILD_CONTEXT_FD = 4   // where the child reads its context
};

// What the child wrote to one of its outputs.
struct child_output {
    int fd; // -1 when it is closed
    uint8_t *bytes;
    size_t size;
    size_t room;
    bool cut; // there was more than CHILD_OUTPUT_MAX; the rest was read and thrown away
};

struct child {
    pid_t pid;        // of the process and its group; 0 = never started
    int input;        // our end of its standard input; -1 when all is written or it does not read
    struct span left; // of the input
    struct child_output out;
    struct child_output err;
    struct line_reader progress;
    bool exited;
    int wait_status;   // as waitpid returns it, once exited
    int64_t exited_us; // monotonic
};

// Start the command, found by $PATH as a shell finds it. `input` is borrowed until child_free. Only
// standard input, output, error, CHILD_PROGRESS_FD and, with a context, CHILD_CONTEXT_FD, a file
// that may be read again, reach the child; its signals and its umask
// are as they were before this program changed them. 0, or -1 with the reason why it cannot be
// started.
struct child_command {
    char *const *argv;
    char *const *environment;
    struct span input;
    bool has_context;
    struct span context; // copied
    mode_t umask;
};
int child_start (struct child *self, const struct child_command *command, struct reason *reason);

// What to wait for besides SIGCHLD. Returns the number of items written.
size_t child_poll_items (const struct child *self, struct pollfd items[CHILD_ITEMS_MAX]);

// Write, read and reap what can be done without waiting.
void child_serve (struct child *self);

// Whether the child has ended and its outputs are complete. A grandchild that keeps an output open
// is waited for at most one second longer.
bool child_done (const struct child *self);

// A child that is not running, to be given to child_free or started.
void child_reset (struct child *self);

// Send a signal to the child's whole group.
void child_signal (const struct child *self, int number);

// Whether the child has ended, and nobody of its group is left: such a group gets no signals, as
// its number may be another one's by then.
bool child_group_gone (const struct child *self);

// Close and free; a child that still runs is killed with its group.
void child_free (struct child *self);
