#include "user_load.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 8192 };

int user_load (const char *path, struct user_file *ret, struct reason *reason)
{
    char text[FILE_MAX];
    struct stat entry;
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat (fd, &entry)) {
        reason_set (reason, "%s", strerror (errno));
        if (fd >= 0)
            close (fd);
        return -1;
    }
    bool fits = S_ISREG (entry.st_mode) && entry.st_uid == geteuid () && !(entry.st_mode & 077);
    ssize_t size = fits ? read (fd, text, sizeof text) : -1;
    close (fd);
    if (size < 0 || size == sizeof text)
        return reason_set (reason, "want a file of this user with mode 0600, below %d bytes",
                           FILE_MAX);
    return user_file_read (span_of (text, (size_t)size), ret, reason);
}
