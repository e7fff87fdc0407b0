#include "secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The first line of the file.
static int read_file (const char *path, char *out, size_t room, struct reason *reason)
{
    struct stat entry;
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat (fd, &entry)) {
        reason_set (reason, "redis_password_file: %s: %s", path, strerror (errno));
        if (fd >= 0)
            close (fd);
        return -1;
    }
    ssize_t size = S_ISREG (entry.st_mode) ? read (fd, out, room - 1) : -1;
    close (fd);
    if (entry.st_mode & 077) {
        reason_set (reason, "redis_password_file: %s can be read by others; chmod 600 it", path);
        return -1;
    }
    if (size < 0) {
        reason_set (reason, "redis_password_file: %s is not a file", path);
        return -1;
    }
    out[size] = '\0';
    size_t length = strcspn (out, "\r\n");
    if (length == 0 || length == room - 1) {
        reason_set (reason, "redis_password_file: %s: want one line of 1..%zu bytes", path,
                    room - 2);
        return -1;
    }
    out[length] = '\0';
    return 0;
}

static int copy_text (const char *text, const char *name, char *out, size_t room,
                      struct reason *reason)
{
    size_t size = strlen (text);
    if (size >= room) {
        reason_set (reason, "%s: at most %zu bytes", name, room - 1);
        return -1;
    }
    memcpy (out, text, size + 1);
    return 0;
}

// The password of redis_addr, else of redis_password_file, else that of the environment; empty when
// there is none.
static int read_password (const struct station_settings *settings, const char *given,
                          struct link_config *ret, struct reason *reason)
{
    if (ret->address.password[0])
        given = ret->address.password;
    else if (settings->redis_password_file[0])
        return read_file (settings->redis_password_file, ret->password, sizeof ret->password,
                          reason);
    return given ? copy_text (given, "ZPLAN_REDIS_PASSWORD", ret->password, sizeof ret->password,
                              reason)
                 : 0;
}

// Children do not get it, and /proc/PID/environ, which shows the memory that the process was
// started with, holds it no more.
static void forget_environment (const char *name)
{
    char *value = getenv (name);
    if (!value)
        return;
    explicit_bzero (value, strlen (value));
    unsetenv (name);
}

int secrets_read (const struct station_settings *settings, struct link_config *ret,
                  struct reason *reason)
{
    static const char user_name[] = "ZPLAN_REDIS_USER", password_name[] = "ZPLAN_REDIS_PASSWORD";
    const char *user = settings->redis_user[0] ? settings->redis_user : getenv (user_name);
    bool given = ret->address.kind != ADDRESS_EMBEDDED; // that one has neither
    int rc =
        given && user ? copy_text (user, "redis_user", ret->user, sizeof ret->user, reason) : 0;
    if (given && rc == 0)
        rc = read_password (settings, getenv (password_name), ret, reason);
    forget_environment (user_name);
    forget_environment (password_name);
    return rc;
}
