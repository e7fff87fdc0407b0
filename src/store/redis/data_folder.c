// Redis 7: appendonlydir contains a manifest, which names a base file (a snapshot with its own
// checksum) and one or two incremental files. A crash can only tear the end of the last one.
#include "data_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aof.h"
#include "clock.h"
#include "log.h"

#define AOF_FOLDER "appendonlydir"
#define MANIFEST   AOF_FOLDER "/appendonly.aof.manifest"
#define OLD_FILE   "appendonly.aof" // the file of Redis 6, which Redis 7 converts
#define MARK       "appendonlydir.expected"

static const char mark_text[] =
    "The plans are in appendonlydir. While this file is here, zpland does not start without it.\n";

enum { NAME_SIZE = 256, LOG_END_MAX = 4096 };

// Make the path of a file in the folder. Returns `out`.
static const char *make_path (const char *folder, const char *name, char out[PATH_MAX])
{
    snprintf (out, PATH_MAX, "%s/%s", folder, name);
    return out;
}

static bool file_exists (const char *folder, const char *name)
{
    char path[PATH_MAX];
    return access (make_path (folder, name, path), F_OK) == 0;
}

// Check that the file exists and, unless it is incremental (type i), is not empty: Redis would load
// an empty snapshot as an empty database.
static int check_file (const char *folder, const char *name, char type, struct reason *reason)
{
    char path[PATH_MAX];
    struct stat entry;
    bool exists = stat (make_path (folder, name, path), &entry) == 0;
    if (exists && (type == 'i' || entry.st_size > 0))
        return 0;
    return reason_set (reason, "%s is %s", path, exists ? "empty" : "missing");
}

// -- the manifest: one line "file NAME seq N type b" per file

// Check that each file that the manifest names exists. `ret_last` is the name of its last file,
// empty if that is not incremental.
static int read_manifest (const char *folder, char ret_last[NAME_SIZE], struct reason *reason)
{
    char path[PATH_MAX], line[1024], name[NAME_SIZE], type;
    FILE *file = fopen (make_path (folder, MANIFEST, path), "re");
    int rc = file ? 0 : -1;
    if (!file)
        reason_set (reason, "%s: %s", path, strerror (errno));
    ret_last[0] = '\0';
    int number = 1;
    for (; rc == 0 && fgets (line, sizeof line, file); number++) {
        char aof_path[NAME_SIZE + sizeof AOF_FOLDER];
        if (line[0] == '#')
            continue;
        if (sscanf (line, "file %255s seq %*d type %c", name, &type) != 2) {
            reason_set (reason, "%s: line %d is damaged", path, number);
            rc = -1;
        } else if (type != 'h') { // type history: Redis was about to remove the file
            snprintf (aof_path, sizeof aof_path, AOF_FOLDER "/%s", name);
            snprintf (ret_last, NAME_SIZE, "%s", type == 'i' ? name : "");
            rc = check_file (folder, aof_path, type, reason);
        }
    }
    if (file)
        fclose (file);
    if (rc == 0 && number == 1) {
        reason_set (reason, "%s is empty", path);
        rc = -1;
    }
    return rc;
}

// -- before Redis starts

// Whether the folder has an incremental file that is not empty.
static bool has_increments (const char *folder)
{
    char path[PATH_MAX];
    bool found = false;
    DIR *entries = opendir (make_path (folder, AOF_FOLDER, path));
    for (struct dirent *entry; entries && !found && (entry = readdir (entries));) {
        struct stat file;
        found = strstr (entry->d_name, ".incr.aof") &&
                fstatat (dirfd (entries), entry->d_name, &file, 0) == 0 && file.st_size > 0;
    }
    if (entries)
        closedir (entries);
    return found;
}

enum data_state data_folder_check (const char *folder, struct reason *reason)
{
    char last[NAME_SIZE];
    struct reason why;
    if (file_exists (folder, MANIFEST)) {
        data_folder_mark (folder);
        if (read_manifest (folder, last, &why) == 0)
            return DATA_WHOLE;
        reason_set (reason, "data: restore a backup: %s", why.text);
        return DATA_DAMAGED;
    }
    const char *sign = file_exists (folder, MARK)         ? MARK
                       : file_exists (folder, "dump.rdb") ? "dump.rdb"
                       : has_increments (folder)          ? AOF_FOLDER
                                                          : NULL;
    if (!sign || file_exists (folder, OLD_FILE))
        return DATA_WHOLE;
    reason_set (reason,
                "data: %s is missing, but %s shows that there were plans; restore a backup, or "
                "remove the latter to begin without plans: in %s",
                file_exists (folder, AOF_FOLDER) ? MANIFEST : AOF_FOLDER, sign, folder);
    return DATA_DAMAGED;
}

void data_folder_mark (const char *folder)
{
    char path[PATH_MAX];
    int fd = open (make_path (folder, MARK, path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return; // usually because it exists already
    if (write (fd, mark_text, sizeof mark_text - 1) < 0 || fsync (fd))
        log_event (LEVEL_WARN, "data.mark_failed", "path=%s reason=\"%s\"", path, strerror (errno));
    close (fd);
}

// -- the end of the last file

static int write_and_sync (int fd, struct span bytes)
{
    while (bytes.size) {
        ssize_t size = TEMP_FAILURE_RETRY (write (fd, bytes.data, bytes.size));
        if (size < 0)
            return -1;
        bytes = span_of (bytes.data + size, bytes.size - (size_t)size);
    }
    return fsync (fd);
}

// Save the part that will be cut off to a new file in the folder. -1 with a reason.
static int save_cut_part (const char *folder, const char *name, struct span cut, size_t at,
                          char ret_path[PATH_MAX], struct reason *reason)
{
    snprintf (ret_path, PATH_MAX, "%s/cut-%" PRId64 "-%s-%zu", folder, clock_wall_us () / 1000000,
              name, at);
    int fd = open (ret_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int rc = fd < 0 ? -1 : write_and_sync (fd, cut);
    if (rc) {
        reason_set (reason, "data: the part to cut off cannot be copied to %s: %s", ret_path,
                    strerror (errno));
        unlink (ret_path);
    }
    if (fd >= 0)
        close (fd);
    return rc;
}

// The last append-only file.
struct tail {
    const char *folder, *name;
    int fd;
    struct span file; // its bytes
    size_t good;      // size of the valid part
};

// Save the invalid end of the file, and cut it off.
static enum data_state cut_tail (const struct tail *self, enum aof_state state,
                                 struct reason *reason)
{
    char path[PATH_MAX];
    size_t size = self->file.size - self->good;
    struct span bytes = span_of (self->file.data + self->good, size);
    if (save_cut_part (self->folder, self->name, bytes, self->good, path, reason))
        return DATA_FAILED;
    if (ftruncate (self->fd, (off_t)self->good) || fsync (self->fd)) {
        reason_set (reason, "data: %s cannot be truncated: %s", self->name, strerror (errno));
        return DATA_FAILED;
    }
    if (state == AOF_TORN)
        log_event (LEVEL_WARN, "data.tail_cut",
                   "file=%s offset=%zu bytes=%zu copy=%s text=\"the last command was "
                   "incomplete; nothing acknowledged is lost\"",
                   self->name, self->good, size, path);
    else
        log_event (LEVEL_ERROR, "data.repaired",
                   "file=%s offset=%zu bytes=%zu copy=%s text=\"writes after the damage are lost, "
                   "including acknowledged ones\"",
                   self->name, self->good, size, path);
    return DATA_CUT;
}

// Check the file, and cut off its end if that was not acknowledged or `repair` allows it.
static enum data_state check_tail (struct tail *self, bool repair, struct reason *reason)
{
    enum aof_state state = aof_scan (self->file, &self->good);
    if (state == AOF_WHOLE)
        return DATA_WHOLE;
    if (state == AOF_TORN || repair)
        return cut_tail (self, state, reason);
    reason_set (reason,
                "data: damaged at byte %zu of %zu; restore a backup, or start once with --repair, "
                "which cuts it off there: %s/" AOF_FOLDER "/%s",
                self->good, self->file.size, self->folder, self->name);
    log_event (LEVEL_ERROR, "data.damaged",
               "file=%s/" AOF_FOLDER "/%s offset=%zu bytes=%zu text=\"--repair cuts off all "
               "after the offset, including acknowledged writes, and keeps a copy\"",
               self->folder, self->name, self->good, self->file.size);
    return DATA_DAMAGED;
}

enum data_state data_folder_repair (const char *folder, bool repair, struct reason *reason)
{
    char name[NAME_SIZE], path[PATH_MAX];
    struct stat entry;
    if (!file_exists (folder, MANIFEST))
        return DATA_WHOLE;
    if (read_manifest (folder, name, reason))
        return DATA_DAMAGED;
    snprintf (path, sizeof path, "%s/" AOF_FOLDER "/%s", folder, name);
    int fd = name[0] ? open (path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return DATA_WHOLE;
    enum data_state state = DATA_WHOLE;
    size_t size = fstat (fd, &entry) == 0 ? (size_t)entry.st_size : 0;
    void *bytes = size ? mmap (NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (bytes != MAP_FAILED) {
        struct tail tail = {folder, name, fd, span_of (bytes, size), 0};
        state = check_tail (&tail, repair, reason);
        munmap (bytes, size);
    }
    close (fd);
    return state;
}

// -- the log of Redis

void data_folder_log_tail (const char *folder, char *ret, size_t size)
{
    char path[PATH_MAX];
    int fd = open (make_path (folder, "redis.log", path), O_RDONLY | O_CLOEXEC);
    off_t most = (off_t)size - 1, end = fd < 0 ? 0 : lseek (fd, 0, SEEK_END);
    ssize_t got = fd < 0 ? 0 : pread (fd, ret, size - 1, end > most ? end - most : 0);
    if (fd >= 0)
        close (fd);
    ret[got > 0 ? got : 0] = '\0';
}

bool data_folder_last_message (const char *folder, struct reason *ret)
{
    static const char *const unreadable[] = {
        "Bad file format reading", "Unexpected end of file reading", "Unrecoverable error",
        "Unknown command",         "Internal error in RDB",          "rdb file reading failure"};
    char text[LOG_END_MAX + 1];
    data_folder_log_tail (folder, text, sizeof text);
    for (size_t size = strlen (text); size && text[size - 1] == '\n'; size--)
        text[size - 1] = '\0';
    const char *line = strrchr (text, '\n');
    line = line ? line + 1 : text;
    // A line is "PID:M DAY MONTH YEAR TIME # message"; # marks a warning.
    const char *message = strstr (line, " # ");
    reason_set (ret, "%s", message ? message + 3 : line);
    for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++)
        if (strstr (line, unreadable[i]))
            return true;
    return false;
}
