// What every long-running program of zplan does first and holds for its life: a safe process,
// signals as events, a folder and a lock of its own.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "reason.h"

// What a parent may leave to its child: a shell starts a job in the background with SIGINT ignored,
// nohup ignores SIGHUP, and some supervisors block signals.
enum hangup {
    HANGUP_RESET, // for who reloads its settings at SIGHUP: it outlives its terminal anyway
    HANGUP_KEPT,  // for who ends at SIGHUP, unless nohup has it ignored
};

// Give every inherited signal its default action, and block none. In a child between fork and exec:
// only async-signal-safe calls.
void process_reset_signals (enum hangup hangup);

// First in main: the same; and any of the descriptors 0 to 2 that is closed is opened on /dev/null,
// since the next file or socket would have its number, and get what is meant for stdout or stderr.
void process_begin (enum hangup hangup);

// Make the process safe before any thread and any socket: SIGPIPE ignored; SIGTERM, SIGINT, SIGHUP
// and SIGCHLD blocked, to be read from the returned signalfd; umask 077; ZSYS_* unset, as czmq
// would change its behaviour by them; the C library's generator seeded from getrandom, since libzmq
// draws the automatic identities of a ROUTER from it and a peer that guesses one can abort the
// process. The descriptor is non-blocking and close-on-exec.
int process_prepare (void);

// Read one pending signal number from the signalfd; 0 when there is none.
int process_next_signal (int signal_fd);

uint64_t process_random (void);

// Resident memory in bytes; and give back to the system what was freed.
int64_t process_memory (void);
void process_memory_trim (void);

// Become this user, with its groups, for good. 0, or -1 with a reason; not root: only if it is the
// same user.
int process_become (const char *user, struct reason *reason);

// No core files: they would hold keys and plans. And no new rights for programs that are started.
void process_confine (void);

// Make the folder, and its parents, with mode 0700. An existing one must belong to this user, and
// either be closed to others or be empty: then it is closed. 0, or -1 with a reason.
int folder_make (const char *path, struct reason *reason);

// Take the lock file for the life of the returned descriptor (close-on-exec). -1 with a reason when
// another process holds it.
int lock_take (const char *path, struct reason *reason);
