// Setup of every long-running program of zplan: process limits, signals as events, a private folder
// and a lock file.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "reason.h"

// A process inherits which signals are ignored and blocked: a shell starts background jobs with
// SIGINT ignored, nohup ignores SIGHUP, and some supervisors block signals. What to do with SIGHUP
// if it was inherited as ignored:
enum hangup {
    HANGUP_RESET, // reset it: for programs that reload at SIGHUP, and so do not end with a terminal
    HANGUP_KEPT,  // keep it ignored: for programs that end at SIGHUP, except under nohup
};

// Reset inherited signals to their default actions, and unblock all. Makes only async-signal-safe
// calls, so a child may call it between fork and exec.
void process_reset_signals (enum hangup hangup);

// Call first in main: resets signals (process_reset_signals), and opens those of the descriptors 0
// to 2 that are closed on /dev/null. Otherwise the next file or socket would get such a number, and
// output for stdout or stderr would be written to it.
void process_begin (enum hangup hangup);

// Set up the process; call before any thread or socket exists. It ignores SIGPIPE; blocks SIGTERM,
// SIGINT, SIGHUP and SIGCHLD, to be read from the returned signalfd (non-blocking, close-on-exec);
// sets umask 077; unsets the variables ZSYS_*, which change the behaviour of czmq; and seeds the C
// library's generator from getrandom: libzmq draws the automatic identities of a ROUTER from it,
// and a peer that guesses one can abort the process. Returns the signalfd, or -1.
int process_prepare (void);

// Read the number of one pending signal from the signalfd; 0 when there is none.
int process_next_signal (int signal_fd);

// A random number from the kernel. Only for one thread, and not after a fork: see random.h.
uint64_t process_random (void);

// The resident memory of this process in bytes, 0 = unknown.
int64_t process_memory (void);

// Switch to this user and its groups permanently. 0, or -1 with a reason. If the process is not
// root, this must be its own user.
int process_become (const char *user, struct reason *reason);

// Disable core files, which would contain keys and plans, and set no_new_privs, so that programs
// that this process starts gain no privileges.
void process_confine (void);

// Create the folder, and its parents, with mode 0700. An existing folder must belong to this user
// and be inaccessible to others; if it is empty, its mode is set to 0700. 0, or -1 with a reason.
int private_folder_make (const char *path, struct reason *reason);

// Create and lock the file for the life of the returned descriptor (close-on-exec). -1 with a
// reason: another process holds the lock, or the file cannot be opened.
int lock_file_open (const char *path, struct reason *reason);
