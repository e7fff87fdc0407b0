#include "process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

// Signals that are ignored: they have no meaning here, and would end the process.
static const int ignored[] = {SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM};

static bool signal_is_ignored (int number)
{
    struct sigaction action;
    return sigaction (number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void fill_handled_signals (sigset_t *set)
{
    sigemptyset (set);
    sigaddset (set, SIGTERM);
    sigaddset (set, SIGINT);
    sigaddset (set, SIGCHLD);
    if (!signal_is_ignored (SIGHUP)) // see HANGUP_KEPT
        sigaddset (set, SIGHUP);
}

// Unset the environment variables of czmq, which change its behaviour.
static void unset_zsys_variables (void)
{
    // unsetenv moves the entries, so restart after each match.
    for (char **entry = environ; entry && *entry;) {
        const char *equals = strchr (*entry, '=');
        char name[64];
        if (strncmp (*entry, "ZSYS_", 5) == 0 && equals &&
            (size_t)(equals - *entry) < sizeof name) {
            snprintf (name, sizeof name, "%.*s", (int)(equals - *entry), *entry);
            unsetenv (name);
            entry = environ;
        } else {
            entry++;
        }
    }
}

// Random numbers are fetched in batches, as each plan needs several.
uint64_t process_random (void)
{
    static uint64_t numbers[32]; // getrandom returns up to 256 bytes in full
    static size_t left;
    if (left == 0) {
        while (getrandom (numbers, sizeof numbers, 0) != sizeof numbers) {
        }
        left = sizeof numbers / sizeof *numbers;
    }
    uint64_t number = numbers[--left];
    numbers[left] = 0; // never returned twice
    return number;
}

int64_t process_memory (void)
{
    static int fd = -1;
    char text[64] = "";
    if (fd < 0)
        fd = open ("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    // The second number: resident pages.
    if (fd < 0 || pread (fd, text, sizeof text - 1, 0) <= 0 || !strchr (text, ' '))
        return 0;
    return strtoll (strchr (text, ' '), NULL, 10) * sysconf (_SC_PAGESIZE);
}

int process_become (const char *user, struct reason *reason)
{
    const struct passwd *entry = getpwnam (user);
    if (!entry)
        return reason_set (reason, "user: there is no user %s", quoted (span_text (user)));
    if (entry->pw_uid == geteuid ())
        return 0;
    if (initgroups (user, entry->pw_gid) || setgid (entry->pw_gid) || setuid (entry->pw_uid))
        return reason_set (reason, "user: cannot become %s: %s", quoted (span_text (user)),
                           strerror (errno));
    return 0;
}

void process_confine (void)
{
    // 1 byte: with 0 the kernel would still dump to a core_pattern that is a pipe.
    const struct rlimit none = {1, 1};
    setrlimit (RLIMIT_CORE, &none);
    prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

void process_reset_signals (enum hangup hangup)
{
    sigset_t none;
    sigemptyset (&none);
    // This fails for SIGKILL, SIGSTOP and two signals of the C library, which is harmless.
    for (int number = 1; number <= SIGRTMAX; number++)
        if (signal_is_ignored (number) && !(number == SIGHUP && hangup == HANGUP_KEPT))
            signal (number, SIG_DFL);
    sigprocmask (SIG_SETMASK, &none, NULL);
}

void process_begin (enum hangup hangup)
{
    int fd;
    do
        fd = open ("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close (fd);
    process_reset_signals (hangup);
}

int process_prepare (void)
{
    umask (077);
    unset_zsys_variables ();
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal (ignored[i], SIG_IGN);
    sigset_t set;
    fill_handled_signals (&set);
    sigprocmask (SIG_BLOCK, &set, NULL);
    srandom ((unsigned)process_random ());
    return signalfd (-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int process_next_signal (int signal_fd)
{
    struct signalfd_siginfo info;
    ssize_t size = read (signal_fd, &info, sizeof info);
    return size == sizeof info ? (int)info.ssi_signo : 0;
}

static bool folder_is_empty (const char *path)
{
    DIR *folder = opendir (path);
    bool empty = folder != NULL;
    for (struct dirent *entry; empty && (entry = readdir (folder));)
        empty = strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0;
    if (folder)
        closedir (folder);
    return empty;
}

// Check that the folder belongs to this user and is private; an empty one is made private.
static int folder_check (const char *path, struct reason *reason)
{
    struct stat entry;
    if (stat (path, &entry) || !S_ISDIR (entry.st_mode))
        return reason_set (reason, "data: %s is not a folder", path);
    if (entry.st_uid != geteuid ())
        return reason_set (reason, "data: %s belongs to another user", path);
    if (!(entry.st_mode & 077))
        return 0;
    // Others may use its files on purpose, so only the mode of an empty folder is changed.
    if (!folder_is_empty (path))
        return reason_set (reason, "data: other users may enter it (mode %04o): chmod 700 %s",
                           entry.st_mode & 07777, path);
    if (chmod (path, 0700))
        return reason_set (reason, "data: %s: %s", path, strerror (errno));
    return 0;
}

int private_folder_make (const char *path, struct reason *reason)
{
    char part[4096];
    size_t size = strlen (path);
    if (size == 0 || size >= sizeof part)
        return reason_set (reason, "data: the path is empty or too long");
    for (size_t i = 1; i <= size; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy (part, path, i);
        part[i] = '\0';
        if (mkdir (part, 0700) && errno != EEXIST)
            return reason_set (reason, "data: %s: %s", part, strerror (errno));
    }
    return folder_check (path, reason);
}

int lock_file_open (const char *path, struct reason *reason)
{
    int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return reason_set (reason, "%s: %s", path, strerror (errno));
    if (flock (fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    reason_set (reason, "%s: held by another process", path);
    close (fd);
    return -1;
}
