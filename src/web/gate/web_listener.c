#include "web_listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "listen_address.h"

enum { BACKLOG = 512, FILE_MODE = 0660 };

const char *web_listener_path (const char *listen_at)
{
    return strncmp (listen_at, "unix:", 5) == 0 ? listen_at + 5 : NULL;
}

static int close_and_fail (struct web_listener *self, const char *listen_at, struct reason *reason)
{
    reason_set (reason, "listen: %s: %s", quoted (span_text (listen_at)), strerror (errno));
    if (self->fd >= 0)
        close (self->fd);
    self->fd = -1;
    return -1;
}

int web_listener_check (const char *listen_at, struct reason *reason)
{
    const char *path = web_listener_path (listen_at);
    struct addrinfo *found = path ? NULL : listen_address_find (listen_at);
    if (found)
        freeaddrinfo (found);
    if (found || (path && path[0] && strlen (path) < LISTENER_PATH_SIZE))
        return 0;
    if (path)
        reason_set (reason, "listen: want unix:PATH with a path of 1..107 bytes");
    else
        reason_set (reason, "listen: want ADDRESS:PORT, as 127.0.0.1:7924, or unix:PATH, got %s",
                    quoted (span_text (listen_at)));
    return -1;
}

static int open_tcp (struct web_listener *self, const char *listen_at, struct reason *reason)
{
    struct addrinfo *found = listen_address_find (listen_at);
    if (!found)
        return -1; // cannot happen: web_listener_check has accepted it
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } bound = {0};
    socklen_t bound_size = sizeof bound;
    int on = 1;
    self->fd = socket (found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool listens =
        self->fd >= 0 && setsockopt (self->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind (self->fd, found->ai_addr, found->ai_addrlen) == 0 &&
        listen (self->fd, BACKLOG) == 0 && getsockname (self->fd, &bound.any, &bound_size) == 0;
    freeaddrinfo (found);
    if (!listens)
        return close_and_fail (self, listen_at, reason);
    self->port = ntohs (bound.any.sa_family == AF_INET6 ? bound.in6.sin6_port : bound.in.sin_port);
    return 0;
}

// Remove a socket with this path that has no listener. 0, also if there is none; -1 with errno:
// another file or a live socket has the path.
static int remove_stale_socket (const struct sockaddr_un *address)
{
    struct stat entry;
    if (lstat (address->sun_path, &entry))
        return errno == ENOENT ? 0 : -1;
    errno = EEXIST;
    if (!S_ISSOCK (entry.st_mode))
        return -1;
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int refused = connect (fd, (const struct sockaddr *)(const void *)address, sizeof *address) &&
                  errno == ECONNREFUSED;
    close (fd);
    errno = EADDRINUSE;
    return refused ? unlink (address->sun_path) : -1;
}

static int open_unix (struct web_listener *self, const char *path, struct reason *reason)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat entry;
    size_t size = strlen (path);
    memcpy (address.sun_path, path, size + 1);
    if (remove_stale_socket (&address))
        return close_and_fail (self, path, reason);
    self->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->fd < 0 ||
        bind (self->fd, (const struct sockaddr *)(const void *)&address, sizeof address))
        return close_and_fail (self, path, reason);
    // No connection is possible before listen, so the mode applies to all.
    if (stat (path, &entry) || chmod (path, FILE_MODE) || listen (self->fd, BACKLOG)) {
        close_and_fail (self, path, reason);
        unlink (path);
        return -1;
    }
    memcpy (self->path, path, size + 1);
    self->device = entry.st_dev;
    self->node = entry.st_ino;
    return 0;
}

int web_listener_open (struct web_listener *self, const char *listen_at, struct reason *reason)
{
    const char *path = web_listener_path (listen_at);
    *self = (struct web_listener){.fd = -1};
    if (web_listener_check (listen_at, reason))
        return -1;
    return path ? open_unix (self, path, reason) : open_tcp (self, listen_at, reason);
}

int web_listener_accept (const struct web_listener *self, struct sockaddr_storage *ret_address,
                         socklen_t *ret_size)
{
    *ret_size = sizeof *ret_address;
    int fd = accept4 (self->fd, (struct sockaddr *)(void *)ret_address, ret_size,
                      SOCK_NONBLOCK | SOCK_CLOEXEC);
    // The name of a peer in the file system may be longer than what the library keeps.
    if (fd >= 0 && ret_address->ss_family == AF_UNIX)
        *ret_size = sizeof ret_address->ss_family;
    return fd;
}

void web_listener_close (struct web_listener *self)
{
    struct stat entry;
    if (self->fd < 0)
        return;
    close (self->fd);
    self->fd = -1;
    if (self->path[0] && lstat (self->path, &entry) == 0 && entry.st_dev == self->device &&
        entry.st_ino == self->node)
        unlink (self->path);
}
