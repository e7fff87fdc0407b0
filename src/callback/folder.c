#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 8192 };

static ssize_t read_private_file (const char *folder, const char *name, char out[FILE_MAX],
                                  struct reason *reason)
{
    char path[4096];
    struct stat entry;
    if (!folder[0])
        return reason_set (reason, "no folder is set");
    snprintf (path, sizeof path, "%s/%s", folder, name);
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat (fd, &entry)) {
        reason_set (reason, "%s: %s", path, strerror (errno));
        if (fd >= 0)
            close (fd);
        return -1;
    }
    ssize_t size = -1;
    if (!S_ISREG (entry.st_mode) || entry.st_uid != geteuid () || (entry.st_mode & 077))
        reason_set (reason, "%s: want a file of this user with mode 0600", path);
    else if ((size = read (fd, out, FILE_MAX)) < 0 || size == FILE_MAX)
        reason_set (reason, "%s: want less than %d bytes", path, FILE_MAX);
    close (fd);
    return size == FILE_MAX ? -1 : size;
}

int folder_read (const char *folder, const char *name, folder_parse_fn *parse, void *ret,
                 struct reason *reason)
{
    char text[FILE_MAX];
    struct reason why;
    ssize_t size = read_private_file (folder, name, text, reason);
    if (size < 0)
        return -1;
    int rc = parse (span_of (text, (size_t)size), ret, &why);
    sodium_memzero (text, sizeof text);
    if (rc)
        reason_set (reason, "%s: %s", name, why.text);
    return rc;
}
