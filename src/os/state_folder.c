#include "state_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "log.h"
#include "process.h"
#include "reason.h"

// The lock of the folder is a lock on its file with the token.
int state_folder_open (const char *folder)
{
    char path[4200];
    struct reason reason;
    if (private_folder_make (folder, &reason))
        return -1;
    snprintf (path, sizeof path, "%s/owner", folder);
    int lock = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock >= 0 && flock (lock, LOCK_EX | LOCK_NB)) {
        close (lock);
        return -1;
    }
    return lock;
}

void state_folder_read_token (int lock, char *ret, size_t room)
{
    ssize_t size = lock < 0 ? 0 : pread (lock, ret, room - 1, 0);
    ret[size > 0 ? size : 0] = '\0';
    ret[strcspn (ret, "\n")] = '\0';
}

void state_folder_store_token (int lock, const char *token)
{
    char line[64];
    if (lock < 0)
        return;
    int size = snprintf (line, sizeof line, "%s\n", token);
    // A partly written token is harmless: it differs from the one in Redis.
    if (pwrite (lock, line, (size_t)size, 0) != size || ftruncate (lock, size) || fdatasync (lock))
        log_event (LEVEL_WARN, "owner.not_kept", "reason=%s",
                   quoted (span_text (strerror (errno))));
}

void state_folder_close (int *lock)
{
    if (*lock >= 0)
        close (*lock);
    *lock = -1;
}
