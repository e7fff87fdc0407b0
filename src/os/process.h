// Setup of every long-running program of zplan: a safe process, signals as events, its own folder
// and lock.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "reason.h"

// What to do with SIGHUP if the parent left it ignored. Parents may pass on such states: a shell
// starts background jobs with SIGINT ignored, nohup ignores SIGHUP, and some supervisors block
// signals.
enum hangup {
    HANGUP_RESET, // for programs that reload at SIGHUP: they outlive their terminal anyway
    HANGUP_KEPT,  // for programs that end at SIGHUP, unless nohup made it ignored
};

// Reset inherited signals to their default actions, and unblock all. Makes only async-signal-safe
// calls, so a child may call it between fork and exec.
void process_reset_signals (enum hangup hangup);

// Call first in main: resets signals as above, and opens any closed descriptor of 0 to 2 on
// /dev/null. Otherwise the next file or socket would get that number, and what is meant for stdout
// or stderr.
void process_begin (enum hangup hangup);

// Make the process safe; call before any thread or socket exists. SIGPIPE ignored; SIGTERM, SIGINT,
// SIGHUP and SIGCHLD blocked, to be read from the returned signalfd; umask 077; ZSYS_* unset, as
// czmq would change its behaviour by them; the C library's generator seeded from getrandom, since
// libzmq draws the automatic identities of a ROUTER from it and a peer that guesses one can abort
// the process. The descriptor is non-blocking and close-on-exec.
int process_prepare (void);

// Read the number of one pending signal from the signalfd; 0 when there is none.
int process_next_signal (int signal_fd);

uint64_t process_random (void);

// Return the resident memory in bytes; and return freed memory to the system.
int64_t process_memory (void);
void process_memory_trim (void);

// Switch to this user and its groups permanently. 0, or -1 with a reason. If the process is not
// root, this must be its own user.
int process_become (const char *user, struct reason *reason);

// Disable core files, which would contain keys and plans, and new privileges for started programs.
void process_confine (void);

// Create the folder, and its parents, with mode 0700. An existing folder must belong to this user
// and be inaccessible to others; an empty one is made so. 0, or -1 with a reason.
int folder_make (const char *path, struct reason *reason);

// Lock the file for the life of the returned descriptor (close-on-exec). -1 with a reason when
// another process holds the lock.
int lock_take (const char *path, struct reason *reason);
