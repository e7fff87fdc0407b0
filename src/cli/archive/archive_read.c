#include "archive_read.h"

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

#include "memory.h"
#include "outcomes.h"

// -- the lines of a file

struct archive_lines *archive_lines_new (FILE *file)
{
    struct archive_lines *self = memory_new (sizeof *self);
    rewind (file);
    self->file = file;
    return self;
}

enum archive_line archive_lines_next (struct archive_lines *self, struct span *ret)
{
    size_t size = 0;
    int byte;
    while ((byte = getc_unlocked (self->file)) != EOF && byte != '\n') {
        if (size < sizeof self->text)
            self->text[size] = (char)byte;
        size++;
    }
    if (byte == EOF && size == 0)
        return ARCHIVE_END;
    self->number++;
    self->at = self->next;
    self->next += (off_t)size + (byte == '\n');
    *ret = size <= sizeof self->text ? span_of (self->text, size) : (struct span){0};
    if (byte == EOF)
        return ARCHIVE_TORN;
    return size <= sizeof self->text ? ARCHIVE_WHOLE : ARCHIVE_LONG;
}

// -- the outcomes of a file

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

static int set_read_error (const char *path, struct reason *reason)
{
    return reason_set (reason, "%s: %s", path, strerror (errno));
}

// Find the wanted outcomes. A last line without a newline is broken, unless another process is just
// writing it.
static void find_places (struct archive_reading *self, FILE *file, const char *name,
                         struct places *places)
{
    struct archive_lines *lines = archive_lines_new (file);
    struct span text;
    enum archive_line line;
    while ((line = archive_lines_next (lines, &text)) != ARCHIVE_END) {
        struct archive_place place = {.at = lines->at, .size = text.size};
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
                         lines->number);
        }
        json_decref (run);
    }
    free (lines);
}

// Call `take` for the outcome at each place. False: `take` wants no more.
static bool take_places (struct archive_reading *self, int fd, const struct places *places)
{
    bool going = true;
    uint8_t *text = memory_new (ARCHIVE_LINE_MAX);
    for (size_t i = 0; i < places->count && going; i++) {
        const struct archive_place *place = &places->rows[self->newest ? places->count - 1 - i : i];
        struct outcome_key key;
        ssize_t size = pread (fd, text, place->size, place->at);
        json_t *run = size < 0 ? NULL : outcome_read (span_of (text, (size_t)size), &key);
        going = !run || self->take (self->owner, run);
        json_decref (run);
    }
    free (text);
    return going;
}

// Read one file. 1: continue, 0: `take` wants no more, -1 with a reason.
static int read_file (struct archive_reading *self, int fd, const char *name, struct reason *reason)
{
    struct places places = {0};
    struct stat about;
    FILE *file = fd < 0 || fstat (fd, &about) ? NULL : fdopen (fd, "r");
    if (!file)
        return set_read_error (name, reason);
    if (!S_ISREG (about.st_mode)) {
        errno = EINVAL;
        fclose (file);
        return set_read_error (name, reason);
    }
    find_places (self, file, name, &places);
    bool read = !ferror (file);
    if (places.count)
        qsort (places.rows, places.count, sizeof *places.rows, outcome_key_compare);
    bool going = take_places (self, fd, &places);
    free (places.rows);
    fclose (file);
    return !read ? set_read_error (name, reason) : going;
}

static int is_month_file (const struct dirent *entry)
{
    static const char form[] = "history-[0-9][0-9][0-9][0-9]-[0-9][0-9].ndjson";
    return fnmatch (form, entry->d_name, 0) == 0;
}

static int read_folder (struct archive_reading *self, struct reason *reason)
{
    struct dirent **months;
    int count = scandir (self->path, &months, is_month_file, alphasort);
    int folder = count < 0 ? -1 : open (self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int going = folder < 0 ? set_read_error (self->path, reason) : 1;
    for (int i = 0; i < count; i++) {
        const char *name = months[self->newest ? count - 1 - i : i]->d_name;
        if (going > 0)
            going = read_file (self, openat (folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK), name,
                               reason);
    }
    for (int i = 0; i < count; i++)
        free (months[i]);
    if (count >= 0)
        free (months);
    if (folder >= 0)
        close (folder);
    return going < 0 ? -1 : 0;
}

int archive_read (struct archive_reading *self, struct reason *reason)
{
    struct stat about;
    if (stat (self->path, &about))
        return set_read_error (self->path, reason);
    if (S_ISDIR (about.st_mode))
        return read_folder (self, reason);
    int fd = open (self->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return read_file (self, fd, self->path, reason) < 0 ? -1 : 0;
}
