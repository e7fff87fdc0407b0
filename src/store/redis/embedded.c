// There are two locks: one for the station, and one that the redis-server inherits and holds as
// long as it lives. By the second lock a new station detects that the Redis of a killed station is
// still running.
#include "embedded.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "memory.h"
#include "process.h"

enum {
    ORPHAN_WAIT_US = 15000000,
    STOP_WAIT_US = 20000000,
    CHILD_WAIT_US = 1000000,
    STEP_US = 10000,
    LOCK_FD = 3
};

struct embedded {
    char *data;
    char socket[sizeof ((struct sockaddr_un *)0)->sun_path];
    char databases[24];
    int station_lock;
    int redis_lock;
    pid_t pid;       // 0 = not running
    bool failed;     // it ended on its own, with an error
    bool unreadable; // its log says that it could not read its files
};

// Lock a file of the folder, waiting for at most `wait_us`. `event` is logged if it waits; NULL =
// no event. Returns the lock, or -1 with a reason.
static int wait_for_lock (const struct embedded *self, const char *name, int64_t wait_us,
                          const char *event, struct reason *reason)
{
    char path[PATH_MAX];
    int64_t deadline = clock_mono_us () + wait_us;
    int lock;
    snprintf (path, sizeof path, "%s/%s", self->data, name);
    while ((lock = lock_file_open (path, reason)) < 0 && clock_mono_us () <= deadline) {
        if (event)
            log_event (LEVEL_INFO, event, "lock=%s", path);
        event = NULL;
        usleep (STEP_US);
    }
    return lock;
}

// Lock the folder for this station, then wait until the redis-server of a killed station has ended.
static int take_locks (struct embedded *self, struct reason *reason)
{
    // If a station is killed while it starts its Redis, the child keeps the lock until its exec.
    self->station_lock = wait_for_lock (self, "zpland.lock", CHILD_WAIT_US, NULL, reason);
    if (self->station_lock < 0)
        return reason_set (reason, "data: another station uses %s", self->data);
    self->redis_lock = wait_for_lock (self, "redis.lock", ORPHAN_WAIT_US, "redis.waiting", reason);
    return self->redis_lock < 0 ? -1 : 0;
}

struct embedded *embedded_new (const char *data, int64_t databases, bool *ret_damaged,
                               struct reason *reason)
{
    *ret_damaged = false;
    struct embedded *self = memory_new (sizeof *self);
    self->station_lock = self->redis_lock = -1;
    char real_path[PATH_MAX];
    if (private_folder_make (data, reason) == 0 && realpath (data, real_path)) {
        self->data = memory_text (real_path);
        snprintf (self->databases, sizeof self->databases, "%" PRId64,
                  databases > 16 ? databases : 16);
        int size = snprintf (self->socket, sizeof self->socket, "%s/redis.sock", real_path);
        if (size >= (int)sizeof self->socket)
            reason_set (reason, "data: the path is too long for a Unix socket (at most %zu bytes)",
                        sizeof self->socket - sizeof "/redis.sock");
        else if (take_locks (self, reason) == 0) {
            *ret_damaged = data_folder_check (real_path, reason) == DATA_DAMAGED;
            if (!*ret_damaged)
                return self;
        }
    }
    embedded_destroy (&self);
    return NULL;
}

// Runs in the child: only calls that are safe after a fork of a process with threads.
static void exec_redis (const struct embedded *self, char *const *argv, pid_t parent)
{
    process_reset_signals (HANGUP_RESET);
    // The kernel ends the redis-server when the station ends, even if it is killed.
    prctl (PR_SET_PDEATHSIG, SIGTERM);
    if (getppid () != parent)
        _exit (1);
    setpgid (0, 0); // a Ctrl-C at the terminal must reach the station only
    int null = open ("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2 (null, fd);
    if (dup2 (self->redis_lock, LOCK_FD) == LOCK_FD)
        fcntl (LOCK_FD, F_SETFD, 0);
    close_range (LOCK_FD + 1, ~0U, 0);
    execvp (argv[0], argv);
    // Debian's package redis-tools has the server only as redis-check-rdb: the program chooses its
    // role by argv[0].
    execvp ("redis-check-rdb", argv);
    _exit (127);
}

int embedded_start (struct embedded *self, struct reason *reason)
{
    char *argv[] = {"redis-server",
                    "--port",
                    "0",
                    "--unixsocket",
                    self->socket,
                    "--unixsocketperm",
                    "700",
                    "--dir",
                    self->data,
                    "--logfile",
                    "redis.log",
                    "--databases",
                    self->databases,
                    "--save",
                    "",
                    "--appendonly",
                    "yes",
                    "--appendfsync",
                    "always",
                    "--aof-load-truncated", // Redis' own truncation loses later writes: aof.h
                    "no",
                    "--maxmemory",
                    "0",
                    "--maxmemory-policy",
                    "noeviction",
                    "--daemonize",
                    "no",
                    "--client-output-buffer-limit", // several times the size of the largest answers
                    "normal",
                    "1gb",
                    "512mb",
                    "60",
                    "--hz", // background cycles per second, most of the work of an idle Redis
                    "4",
                    NULL};
    unlink (self->socket);
    pid_t parent = getpid ();
    pid_t pid = fork ();
    if (pid < 0)
        return reason_set (reason, "redis-server: %s", strerror (errno));
    if (pid == 0)
        exec_redis (self, argv, parent);
    self->pid = pid;
    log_event (LEVEL_INFO, "redis.started", "pid=%d socket=%s", (int)pid, self->socket);
    return 0;
}

bool embedded_ended (struct embedded *self, struct reason *reason)
{
    int status;
    if (!self->pid || waitpid (self->pid, &status, WNOHANG) != self->pid)
        return false;
    self->pid = 0;
    self->failed = self->unreadable = false;
    if (WIFEXITED (status) && WEXITSTATUS (status) == 127)
        reason_set (reason, "redis-server: cannot be started; is it installed?");
    else if (WIFSIGNALED (status))
        reason_set (reason, "redis-server: killed by signal %d", WTERMSIG (status));
    else {
        struct reason last;
        self->failed = WEXITSTATUS (status) != 0;
        self->unreadable = data_folder_last_message (self->data, &last) && self->failed;
        reason_set (reason, "redis-server: ended with %d, see %s/redis.log%s%s",
                    WEXITSTATUS (status), self->data, self->failed ? ": " : "",
                    self->failed ? last.text : "");
    }
    return true;
}

enum data_state embedded_repair (struct embedded *self, bool repair, struct reason *reason)
{
    enum data_state state =
        self->failed ? data_folder_repair (self->data, repair, reason) : DATA_WHOLE;
    return state == DATA_WHOLE && self->unreadable ? DATA_DAMAGED : state;
}

void embedded_up (const struct embedded *self)
{
    data_folder_mark (self->data);
}

// Whether the end of the log shows the error. It does not if there was no space to write it.
static bool log_has_disk_full (const struct embedded *self)
{
    enum { LOG_TAIL = 512 };
    char text[LOG_TAIL + 1];
    data_folder_log_tail (self->data, text, sizeof text);
    return strstr (text, strerror (ENOSPC)) || strstr (text, strerror (EDQUOT));
}

bool embedded_disk_full (const struct embedded *self, struct reason *reason)
{
    enum { LEAST_BYTES = 1 << 20 };
    struct statvfs disk;
    bool full = statvfs (self->data, &disk) == 0 && disk.f_bavail * disk.f_frsize < LEAST_BYTES;
    if (!full && !log_has_disk_full (self))
        return false;
    reason_set (reason, "the disk of %s is full: free some space", self->data);
    return true;
}

// Ask the redis-server to end, and kill it if it takes too long.
static void stop_process (struct embedded *self)
{
    struct reason reason;
    int64_t deadline = clock_mono_us () + STOP_WAIT_US;
    kill (self->pid, SIGTERM);
    while (!embedded_ended (self, &reason)) {
        if (clock_mono_us () > deadline) {
            kill (self->pid, SIGKILL);
            deadline = INT64_MAX;
        }
        usleep (STEP_US);
    }
    log_event (LEVEL_INFO, "redis.stopped", "how=\"%s\"", reason.text);
}

void embedded_destroy (struct embedded **self_p)
{
    struct embedded *self = *self_p;
    if (!self)
        return;
    if (self->pid)
        stop_process (self);
    if (self->redis_lock >= 0)
        close (self->redis_lock);
    if (self->station_lock >= 0)
        close (self->station_lock);
    free (self->data);
    free (self);
    *self_p = NULL;
}

const char *embedded_socket (const struct embedded *self)
{
    return self->socket;
}
