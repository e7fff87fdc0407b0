#include "secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

// Read the password: the first line of the file, which only its owner may read.
static int read_password_file (const char *path, char *out, size_t room, struct reason *reason)
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
    if (entry.st_mode & 077)
        return reason_set (reason, "redis_password_file: %s can be read by others; chmod 600 it",
                           path);
    if (size < 0)
        return reason_set (reason, "redis_password_file: %s is not a file", path);
    out[size] = '\0';
    size_t length = strcspn (out, "\r\n");
    if (length == 0 || length == room - 1)
        return reason_set (reason, "redis_password_file: %s: want one line of 1..%zu bytes", path,
                           room - 2);
    out[length] = '\0';
    return 0;
}

static int copy_secret (const char *text, const char *name, char *out, size_t room,
                        struct reason *reason)
{
    size_t size = strlen (text);
    if (size >= room)
        return reason_set (reason, "%s: at most %zu bytes", name, room - 1);
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
        return read_password_file (settings->redis_password_file, ret->password,
                                   sizeof ret->password, reason);
    return given ? copy_secret (given, "ZPLAN_REDIS_PASSWORD", ret->password, sizeof ret->password,
                                reason)
                 : 0;
}

// Take a copy of the variable and remove it, so that children do not inherit it, and overwrite it,
// as /proc/PID/environ shows the initial environment of the process.
static char *take_from_environment (const char *name)
{
    char *value = getenv (name);
    if (!value)
        return NULL;
    char *copy = memory_text (value);
    explicit_bzero (value, strlen (value));
    unsetenv (name);
    return copy;
}

int secrets_read (const struct station_settings *settings, struct link_config *ret,
                  struct reason *reason)
{
    // Kept because a fenced station is created again, as a standby.
    static struct {
        bool taken;
        char *user, *password;
    } environment;
    if (!environment.taken) {
        environment.taken = true;
        environment.user = take_from_environment ("ZPLAN_REDIS_USER");
        environment.password = take_from_environment ("ZPLAN_REDIS_PASSWORD");
    }
    if (ret->address.kind == ADDRESS_EMBEDDED) // it has neither
        return 0;
    const char *user = settings->redis_user[0] ? settings->redis_user : environment.user;
    if (user && copy_secret (user, "redis_user", ret->user, sizeof ret->user, reason))
        return -1;
    return read_password (settings, environment.password, ret, reason);
}
