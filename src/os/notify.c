// Implemented without libsystemd: the protocol is a single datagram, and the station must run on
// systems without that library.
#include "notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"

enum { LINES_MAX = 512 };

// One manager per process, as there is one environment.
static struct {
    int fd; // 0 = there is none
    struct sockaddr_un address;
    socklen_t size;
    int64_t interval_us;  // time between two watchdog pings; 0 = the manager wants none
    int64_t last_ping_us; // monotonic; when the last watchdog ping was sent
} manager;

static void send_lines (const char *lines)
{
    if (manager.fd)
        (void)!sendto (manager.fd, lines, strlen (lines), MSG_DONTWAIT | MSG_NOSIGNAL,
                       (struct sockaddr *)&manager.address, manager.size);
}

// Set the manager's address. The name is a path, or '@' and a name in the abstract namespace; the
// '@' stands for a NUL. -1: invalid.
static int parse_socket_name (const char *name)
{
    size_t size = strlen (name);
    if ((name[0] != '/' && name[0] != '@') || size < 2 || size >= sizeof manager.address.sun_path)
        return -1;
    manager.address.sun_family = AF_UNIX;
    memcpy (manager.address.sun_path, name, size);
    if (name[0] == '@')
        manager.address.sun_path[0] = '\0';
    manager.size = (socklen_t)(offsetof (struct sockaddr_un, sun_path) + size);
    return 0;
}

static int64_t watchdog_interval_us (void)
{
    const char *timeout = getenv ("WATCHDOG_USEC");
    const char *pid = getenv ("WATCHDOG_PID");
    if (!timeout || (pid && strtoll (pid, NULL, 10) != getpid ()))
        return 0;
    return strtoll (timeout, NULL, 10) / 2;
}

void notify_start (void)
{
    const char *name = getenv ("NOTIFY_SOCKET");
    if (name && parse_socket_name (name) == 0) {
        int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        manager.fd = fd > 0 ? fd : 0;
        manager.interval_us = watchdog_interval_us ();
    }
    unsetenv ("NOTIFY_SOCKET");
    unsetenv ("WATCHDOG_USEC");
    unsetenv ("WATCHDOG_PID");
}

void notify_ready (void)
{
    send_lines ("READY=1");
}

void notify_reloading (void)
{
    char lines[LINES_MAX];
    snprintf (lines, sizeof lines, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_mono_us ());
    send_lines (lines);
}

void notify_stopping (void)
{
    send_lines ("STOPPING=1");
}

void notify_status (const char *words)
{
    char lines[LINES_MAX];
    snprintf (lines, sizeof lines, "STATUS=%.*s", (int)strcspn (words, "\n"), words);
    send_lines (lines);
}

void notify_alive (int64_t now_us)
{
    if (manager.interval_us <= 0 || now_us - manager.last_ping_us < manager.interval_us)
        return;
    manager.last_ping_us = now_us;
    send_lines ("WATCHDOG=1");
}
