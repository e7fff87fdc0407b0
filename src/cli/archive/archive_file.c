#include "archive_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "civil.h"
#include "memory.h"
#include "print.h"

static int set_archive_error (const char *path, struct reason *reason)
{
    return reason_set (reason, "%s: %s", path,
                       errno == EWOULDBLOCK ? "another archive is at work there"
                                            : strerror (errno));
}

// -- the lines of a file

enum archive_line {
    ARCHIVE_END,
    ARCHIVE_WHOLE,
    ARCHIVE_LONG, // too long to be an outcome; its text is not returned
    ARCHIVE_TORN  // the last line, without a newline
};

struct archive_lines {
    FILE *file;     // borrowed
    int64_t number; // of this line, from 1
    off_t at, next; // file offsets of this line and of the next one
    char text[ARCHIVE_LINE_MAX];
};

// Return the next line, without its newline. The text is valid until the next call.
static enum archive_line archive_lines_next (struct archive_lines *self, struct span *ret)
{
    size_t size = 0;
    int byte;
    while ((byte = getc_unlocked (self->file)) != EOF && byte != '\n') {
        if (size < sizeof self->text)
            self->text[size] = (char)byte;
        size++;
    }
    if (byte == EOF && (size == 0 || ferror (self->file))) // a line that cannot be read is not torn
        return ARCHIVE_END;
    self->number++;
    self->at = self->next;
    self->next += (off_t)size + (byte == '\n');
    *ret = size <= sizeof self->text ? span_of (self->text, size) : (struct span){0};
    if (byte == EOF)
        return ARCHIVE_TORN;
    return size <= sizeof self->text ? ARCHIVE_WHOLE : ARCHIVE_LONG;
}

// -- to read outcomes back

// The position of a wanted outcome.
struct archive_place {
    struct outcome_key key; // first, for outcome_key_compare
    off_t at;
    size_t size;
};

struct places {
    struct archive_place *rows;
    size_t count, room;
};

// Find the wanted outcomes. A last line without a newline is broken, unless another process is just
// writing it.
static void find_places (struct archive_reader *self, FILE *file, const char *name,
                         struct places *places)
{
    struct archive_lines lines = {.file = file};
    struct span text;
    enum archive_line line;
    while ((line = archive_lines_next (&lines, &text)) != ARCHIVE_END) {
        struct archive_place place = {.at = lines.at, .size = text.size};
        json_t *run = line == ARCHIVE_LONG ? NULL : outcome_read (text, &place.key);
        bool is_written =
            !run && line == ARCHIVE_TORN && flock (fileno (file), LOCK_SH | LOCK_NB) != 0;
        if (run && self->wants (self->owner, run)) {
            places->rows =
                memory_grow (places->rows, places->count, &places->room, sizeof *places->rows);
            places->rows[places->count++] = place;
        } else if (!run && !is_written) {
            self->broken++;
            if (!self->quiet)
                fprintf (stderr, "zplan: %s: line %" PRId64 " is no outcome: skipped\n", name,
                         lines.number);
        }
        json_decref (run);
    }
}

// Call `take` for the outcome at each place. False: `take` wants no more.
static bool take_outcomes (struct archive_reader *self, int fd, const struct places *places)
{
    bool more = true;
    uint8_t *text = memory_new (ARCHIVE_LINE_MAX);
    for (size_t i = 0; i < places->count && more; i++) {
        const struct archive_place *place = &places->rows[self->newest ? places->count - 1 - i : i];
        struct outcome_key key;
        ssize_t size = pread (fd, text, place->size, place->at);
        json_t *run = size < 0 ? NULL : outcome_read (span_of (text, (size_t)size), &key);
        more = !run || self->take (self->owner, run);
        json_decref (run);
    }
    free (text);
    return more;
}

// Read one file. 1: continue, 0: `take` wants no more, -1 with a reason.
static int read_file (struct archive_reader *self, int fd, const char *name, struct reason *reason)
{
    struct places places = {0};
    struct stat about;
    FILE *file = fd < 0 || fstat (fd, &about) ? NULL : fdopen (fd, "r");
    if (!file)
        return set_archive_error (name, reason);
    if (!S_ISREG (about.st_mode)) {
        errno = EINVAL;
        fclose (file);
        return set_archive_error (name, reason);
    }
    find_places (self, file, name, &places);
    bool read = !ferror (file);
    if (places.count)
        qsort (places.rows, places.count, sizeof *places.rows, outcome_key_compare);
    bool more = take_outcomes (self, fd, &places);
    free (places.rows);
    fclose (file);
    return !read ? set_archive_error (name, reason) : more;
}

static int is_month_file (const struct dirent *entry)
{
    static const char form[] = "history-[0-9][0-9][0-9][0-9]-[0-9][0-9].ndjson";
    return fnmatch (form, entry->d_name, 0) == 0;
}

static int read_folder (struct archive_reader *self, struct reason *reason)
{
    struct dirent **months;
    int count = scandir (self->path, &months, is_month_file, alphasort);
    int folder = count < 0 ? -1 : open (self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int more = folder < 0 ? set_archive_error (self->path, reason) : 1;
    for (int i = 0; i < count; i++) {
        const char *name = months[self->newest ? count - 1 - i : i]->d_name;
        if (more > 0)
            more = read_file (self, openat (folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK), name,
                              reason);
    }
    for (int i = 0; i < count; i++)
        free (months[i]);
    if (count >= 0)
        free (months);
    if (folder >= 0)
        close (folder);
    return more < 0 ? -1 : 0;
}

int archive_read (struct archive_reader *self, struct reason *reason)
{
    struct stat about;
    if (stat (self->path, &about))
        return set_archive_error (self->path, reason);
    if (S_ISDIR (about.st_mode))
        return read_folder (self, reason);
    int fd = open (self->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return read_file (self, fd, self->path, reason) < 0 ? -1 : 0;
}

// -- to append

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

static struct archive *archive_new (const char *path)
{
    struct archive *self = memory_new (sizeof *self);
    *self = (struct archive){.path = path, .folder = -1, .fd = -1};
    return self;
}

static int sync_folder (const char *path)
{
    int folder = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int done = folder < 0 ? -1 : fsync (folder);
    if (folder >= 0)
        close (folder);
    return done;
}

// Make a folder, durably: a new one still exists after a crash.
static int make_folder (const char *path)
{
    char *above;
    if (mkdir (path, 0700))
        return errno == EEXIST ? 0 : -1;
    if (asprintf (&above, "%s/..", path) < 0)
        abort (); // only for lack of memory
    int done = sync_folder (above);
    free (above);
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

// Read the keys of a file. If its first line is not an outcome, it is not an archive, and is not
// changed.
static int read_lines (struct archive *self, FILE *file, struct reason *reason)
{
    struct archive_lines lines = {.file = file};
    struct outcome_key key;
    struct span text;
    enum archive_line line;
    int done = 0;
    rewind (file);
    while (done == 0 && (line = archive_lines_next (&lines, &text)) != ARCHIVE_END) {
        bool begins = text.size && text.data[0] == '{';
        self->size = lines.next;
        if (line == ARCHIVE_WHOLE && is_outcome (text, &key))
            add_key (self, &key);
        else if (lines.number == 1 && !(line == ARCHIVE_TORN && begins))
            done =
                reason_set (reason, "%s: is no archive: its first line is no outcome", self->path);
        else if (line == ARCHIVE_TORN && repair_line (self, &lines, text))
            done = set_archive_error (self->path, reason);
    }
    if (done == 0 && ferror (file))
        done = set_archive_error (self->path, reason);
    return done;
}

static int read_keys (struct archive *self, struct reason *reason)
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

// Lock, sync and read the file. It is synced because outcomes that an interrupted archive wrote may
// not be on disk yet, and will now be removed from the history.
static int lock_and_read_file (struct archive *self, struct reason *reason)
{
    struct stat about;
    if (self->fd < 0 || fstat (self->fd, &about) || flock (self->fd, LOCK_EX | LOCK_NB))
        return set_archive_error (self->path, reason);
    if (!S_ISREG (about.st_mode))
        return reason_set (reason, "%s: is not a file", self->path);
    if (read_keys (self, reason))
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
    int done = sync_folder (slash ? path : ".");
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
