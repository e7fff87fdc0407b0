// The command of a job: a child process in its own process group. Its standard input is written,
// and its standard output, standard error and progress pipe are read, without blocking.
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "reason.h"
#include "span.h"

enum {
    CHILD_OUTPUT_MAX = (1 << 20) - 4096, // the limit of a frame, less the other parts of a result
    CHILD_ITEMS = 4,
    CHILD_PROGRESS_FD = 3, // where the child writes its progress lines
    CHILD_CONTEXT_FD = 4   // where the child reads its context
};

// The bytes that the child wrote to one of its outputs.
struct child_output {
    int fd; // -1 when it is closed
    uint8_t *bytes;
    size_t size;
    size_t room;
    bool cut; // it exceeded CHILD_OUTPUT_MAX; the rest was read and discarded
};

enum { PROGRESS_LINE_SIZE = 512 };

// Keeps the last complete line that the child wrote to its progress pipe. Older lines, and the rest
// of lines that are too long, are dropped.
struct progress_reader {
    int fd; // non-blocking; -1 when it is closed
    size_t size;
    char part[PROGRESS_LINE_SIZE]; // the incomplete line so far
    bool fresh;                    // `last` was not returned yet
    char last[PROGRESS_LINE_SIZE]; // with a NUL, without a newline
};

struct child {
    pid_t pid;        // number of the process and its group; 0 = never started
    int input;        // our end of its standard input; -1 after all was written or it was closed
    struct span left; // input that is not written yet
    struct child_output out;
    struct child_output err;
    struct progress_reader progress;
    bool exited;
    int wait_status;   // as waitpid returns it, once exited
    int64_t exited_us; // monotonic
};

// -- the environment of a command: our own variables, and those that this program inherited

struct environment_variable {
    const char *name;
    struct span value; // without data: the variable is unset, and not inherited
};

// Make the environment. Free it with environment_free, which accepts NULL. NULL with a reason.
char **environment_new (const struct environment_variable *variables, size_t count,
                        struct reason *reason);
void environment_free (char **environment);

// -- the command

// Start the command, found in $PATH as by a shell. `input` is borrowed until child_free. The child
// inherits only standard input, output, error, CHILD_PROGRESS_FD and, with a context,
// CHILD_CONTEXT_FD, a seekable file. Its signals and its umask are those from before this program
// changed them. 0, or -1 with the reason why it cannot be started.
struct child_command {
    char *const *argv;
    char *const *environment;
    struct span input;
    struct span context; // copied; without data = there is none
    mode_t umask;
};
int child_start (struct child *self, const struct child_command *command, struct reason *reason);

// Get the open descriptors to poll, besides waiting for SIGCHLD. Returns their number. Closed ones
// are omitted, because poll limits the number of items to RLIMIT_NOFILE.
nfds_t child_poll_items (const struct child *self, struct pollfd items[CHILD_ITEMS]);

// Write, read and reap what can be done without waiting.
void child_serve (struct child *self);

// The last progress line that arrived since the previous call; NULL: none did.
const char *child_new_progress (struct child *self);

// Whether the child has ended and its outputs are complete. If a grandchild keeps an output open,
// this waits for at most one more second.
bool child_has_ended (const struct child *self);

// Initialize as a child that is not running; then child_start and child_free are allowed.
void child_reset (struct child *self);

// Send a signal to the child's whole group.
void child_signal (const struct child *self, int number);

// Whether the child has ended and its process group is empty: such a group is not signalled, as its
// number may have been reused.
bool child_group_has_ended (const struct child *self);

// Close and free; a running child is killed with its process group.
void child_free (struct child *self);
