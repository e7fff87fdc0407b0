#include "archive_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive_read.h"
#include "civil.h"
#include "memory.h"
#include "outcomes.h"
#include "print.h"

enum { NAME_SIZE = 40 };

struct archive {
    const char *path; // as the user gave it
    int folder;       // locked; -1: a file was named
    int fd;           // the file that is open, locked; -1: none
    char name[NAME_SIZE];
    off_t size;
    struct outcome_key *keys; // outcomes in the file when it was opened, sorted
    size_t count, room;
};

static int set_archive_error (const char *path, struct reason *reason)
{
    return reason_set (reason, "%s: %s", path,
                       errno == EWOULDBLOCK ? "another archive is at work there"
                                            : strerror (errno));
}

static struct archive *archive_new (const char *path)
{
    struct archive *self = memory_new (sizeof *self);
    *self = (struct archive){.path = path, .folder = -1, .fd = -1};
    return self;
}

// Make a folder, durably: a new one still exists after a crash.
static int make_folder (const char *path)
{
    if (mkdir (path, 0700))
        return errno == EEXIST ? 0 : -1;
    int folder = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int above = folder < 0 ? -1 : openat (folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int done = above < 0 ? -1 : fsync (above);
    if (above >= 0)
        close (above);
    if (folder >= 0)
        close (folder);
    return done;
}

struct archive *archive_open_folder (const char *folder, struct reason *reason)
{
    struct archive *self = archive_new (folder);
    if (make_folder (folder) == 0)
        self->folder = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self->folder < 0 || flock (self->folder, LOCK_EX | LOCK_NB)) {
        set_archive_error (folder, reason);
        archive_close (&self);
    }
    return self;
}

static void close_file (struct archive *self)
{
    if (self->fd >= 0)
        close (self->fd);
    self->fd = -1;
    self->count = 0;
}

void archive_close (struct archive **self)
{
    if (!*self)
        return;
    close_file (*self);
    if ((*self)->folder >= 0)
        close ((*self)->folder);
    free ((*self)->keys);
    free (*self);
    *self = NULL;
}

// -- existing outcomes

static void add_key (struct archive *self, const struct outcome_key *key)
{
    self->keys = memory_grow (self->keys, self->count, &self->room, sizeof *self->keys);
    self->keys[self->count++] = *key;
}

static bool is_outcome (struct span line, struct outcome_key *ret)
{
    json_t *run = outcome_read (line, ret);
    json_decref (run);
    return run;
}

// Remove a last line that a crash truncated: its outcome is still in the history. A complete line
// that only lacks its newline gets one.
static int repair_line (struct archive *self, const struct archive_lines *lines, struct span line)
{
    struct outcome_key key;
    if (is_outcome (line, &key)) {
        add_key (self, &key);
        self->size++;
        return pwrite (self->fd, "\n", 1, lines->next) == 1 ? 0 : -1;
    }
    self->size = lines->at;
    fprintf (stderr, "zplan: %s: line %" PRId64 " was cut by a crash: removed\n", self->name,
             lines->number);
    return ftruncate (self->fd, lines->at);
}

// Read the file. If its first line is not an outcome, it is not an archive, and is not changed.
static int read_lines (struct archive *self, FILE *file, struct reason *reason)
{
    struct archive_lines *lines = archive_lines_new (file);
    struct outcome_key key;
    struct span text;
    enum archive_line line;
    int done = 0;
    while (done == 0 && (line = archive_lines_next (lines, &text)) != ARCHIVE_END) {
        bool begins = text.size && text.data[0] == '{';
        if (line == ARCHIVE_WHOLE && is_outcome (text, &key)) {
            self->size = lines->next;
            add_key (self, &key);
        } else if (lines->number == 1 && !(line == ARCHIVE_TORN && begins)) {
            reason_set (reason, "%s: is no archive: its first line is no outcome", self->path);
            done = -1;
        } else if (line == ARCHIVE_TORN) {
            self->size = lines->next;
            done = repair_line (self, lines, text) ? set_archive_error (self->path, reason) : 0;
        } else {
            self->size = lines->next;
        }
    }
    if (done == 0 && ferror (file))
        done = set_archive_error (self->path, reason);
    free (lines);
    return done;
}

static int read_file (struct archive *self, struct reason *reason)
{
    int copy = fcntl (self->fd, F_DUPFD_CLOEXEC, 0);
    FILE *file = copy < 0 ? NULL : fdopen (copy, "r");
    if (!file) {
        if (copy >= 0)
            close (copy);
        return set_archive_error (self->path, reason);
    }
    self->size = 0;
    int done = read_lines (self, file, reason);
    fclose (file);
    if (self->count)
        qsort (self->keys, self->count, sizeof *self->keys, outcome_key_compare);
    return done;
}

// -- the file

// Lock and read the file. Outcomes that an earlier archive wrote may not be on disk yet, but are
// removed from the history now: so sync the file first.
static int lock_and_read_file (struct archive *self, struct reason *reason)
{
    struct stat about;
    if (self->fd < 0 || fstat (self->fd, &about) || flock (self->fd, LOCK_EX | LOCK_NB))
        return set_archive_error (self->path, reason);
    if (!S_ISREG (about.st_mode))
        return reason_set (reason, "%s: is not a file", self->path);
    if (read_file (self, reason))
        return -1;
    if (fsync (self->fd) || (self->folder >= 0 && fsync (self->folder)))
        return set_archive_error (self->path, reason);
    return 0;
}

enum { OPEN_FLAGS = O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

// Sync the folder of a named file, so that the file exists after a crash.
static int sync_folder_of (const char *file)
{
    char *path = memory_text (file), *slash = strrchr (path, '/');
    if (slash)
        slash[slash == path] = '\0';
    int folder = open (slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int done = folder < 0 ? -1 : fsync (folder);
    if (folder >= 0)
        close (folder);
    free (path);
    return done;
}

struct archive *archive_open_file (const char *file, struct reason *reason)
{
    struct archive *self = archive_new (file);
    snprintf (self->name, sizeof self->name, "%.*s", NAME_SIZE - 1, basename (file));
    self->fd = open (file, OPEN_FLAGS, 0600);
    int rc = lock_and_read_file (self, reason);
    if (rc == 0 && sync_folder_of (file))
        rc = set_archive_error (file, reason);
    if (rc)
        archive_close (&self);
    return self;
}

static void month_file_name (int64_t ended_ms, char out[NAME_SIZE])
{
    struct civil_date date = civil_date (civil_day_of (ended_ms / 1000));
    snprintf (out, NAME_SIZE, "history-%04d-%02d.ndjson", (int)date.year, date.month);
}

bool archive_file_covers (const struct archive *self, int64_t ended_ms)
{
    char name[NAME_SIZE];
    if (self->folder < 0)
        return true;
    month_file_name (ended_ms, name);
    return self->fd >= 0 && strcmp (name, self->name) == 0;
}

int archive_open_month (struct archive *self, int64_t ended_ms, struct reason *reason)
{
    close_file (self);
    month_file_name (ended_ms, self->name);
    self->fd = openat (self->folder, self->name, OPEN_FLAGS | O_NOFOLLOW, 0600);
    struct reason why;
    if (lock_and_read_file (self, &why) == 0)
        return 0;
    reason_set (reason, "%s in %s", self->name, why.text);
    close_file (self);
    return -1;
}

bool archive_has (const struct archive *self, const struct outcome_key *key)
{
    return self->count &&
           bsearch (key, self->keys, self->count, sizeof *self->keys, outcome_key_compare);
}

int archive_append (struct archive *self, struct span lines, struct reason *reason)
{
    size_t done = 0;
    while (done < lines.size) {
        ssize_t size =
            pwrite (self->fd, lines.data + done, lines.size - done, self->size + (off_t)done);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            break;
        done += (size_t)size;
    }
    if (done == lines.size && fsync (self->fd) == 0) {
        self->size += (off_t)lines.size;
        return 0;
    }
    set_archive_error (self->path, reason);
    if (ftruncate (self->fd, self->size))
        complain (self->name, span_text ("its last line may be cut"));
    return -1;
}

const char *archive_name (const struct archive *self)
{
    return self->name;
}
