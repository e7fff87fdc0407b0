// Each file is judged by itself: one that is wrong lets its own key not in, and whoever was taken
// off is out, whatever stands in the others. Only when the folder cannot be read at all the old
// list stays.
//
// A file may be written in place, which its folder does not show: the mark is made of every file.
// What changed just now may change again within the same tick of the clock: it is read once more
// later.
#include "access_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "access.h"
#include "clock.h"
#include "log.h"

enum {
    LOOK_US = 1000000,
    LOOK_SHARE = 50, // a pause is so many times a look, between LOOK_US and LOOK_MAX_US
    LOOK_MAX_US = 4000000,
    RETRY_US = 8000000,
    CLOCK_TICK_US = 50000
};

// Files that let nobody in.
struct wrong {
    size_t count;
    struct reason first; // of the first by name
};

// -- reading it

static bool ends_with (const char *text, const char *end)
{
    size_t size = strlen (text), end_size = strlen (end);
    return size >= end_size && strcmp (text + size - end_size, end) == 0;
}

static int counts (const struct dirent *entry)
{
    return entry->d_name[0] != '.' && !ends_with (entry->d_name, "_secret");
}

// In the order of bytes, whatever the locale is: of two files with one key the first counts.
static int by_name (const struct dirent **one, const struct dirent **other)
{
    return strcmp ((*one)->d_name, (*other)->d_name);
}

static int add_file (struct access *list, const char *path, struct reason *reason)
{
    struct curve_cert cert;
    struct reason why;
    struct stat entry;
    if (stat (path, &entry) == 0 && !S_ISREG (entry.st_mode))
        return 0;
    if (curve_cert_load (path, CURVE_PUBLIC, &cert, reason))
        return -1;
    if (access_add (list, &cert, &why) == 0)
        return 0;
    reason_set (reason, "%s: %s", path, why.text);
    return -1;
}

static struct access *read_folder (const char *folder, struct wrong *ret_wrong,
                                   struct reason *reason)
{
    char path[CURVE_PATH_SIZE];
    struct wrong wrong = {0};
    struct dirent **entries;
    int count = scandir (folder, &entries, counts, by_name);
    if (count < 0) {
        reason_set (reason, "allow: %s: %s", folder, strerror (errno));
        return NULL;
    }
    struct access *list = access_new ();
    for (int i = 0; i < count; i++) {
        struct reason why;
        snprintf (path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (add_file (list, path, &why) && wrong.count++ == 0)
            wrong.first = why;
        free (entries[i]);
    }
    free (entries);
    *ret_wrong = wrong;
    return list;
}

// -- has it changed?

// FNV-1a.
static uint64_t hash_text (uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001B3;
    return hash;
}

static uint64_t hash_number (uint64_t hash, int64_t number)
{
    for (unsigned bits = 0; bits < 64; bits += 8)
        hash = (hash ^ ((uint64_t)number >> bits & 0xFF)) * 0x100000001B3;
    return hash;
}

static int64_t ns_of (const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static uint64_t mark_of_file (int folder, const char *name, int64_t *newest_ns)
{
    struct stat entry;
    uint64_t hash = hash_text (0xCBF29CE484222325, name);
    if (fstatat (folder, name, &entry, 0))
        return hash;
    // The change of the inode also tells what `cp -p` leaves as it was.
    int64_t changed_ns = ns_of (&entry.st_ctim);
    if (changed_ns > *newest_ns)
        *newest_ns = changed_ns;
    hash = hash_number (hash, (int64_t)entry.st_ino);
    hash = hash_number (hash, (int64_t)entry.st_size);
    hash = hash_number (hash, ns_of (&entry.st_mtim));
    return hash_number (hash, changed_ns);
}

// What the folder and its files look like; 0 = it cannot be told, or may change again unnoticed.
static uint64_t mark_of (const char *folder)
{
    uint64_t mark = 1;
    int64_t newest_ns = 0;
    DIR *entries = opendir (folder);
    if (!entries)
        return 0;
    // A sum, as the order of the files may be another each time.
    for (struct dirent *entry; (entry = readdir (entries));)
        if (counts (entry))
            mark += mark_of_file (dirfd (entries), entry->d_name, &newest_ns);
    closedir (entries);
    int64_t age_us = clock_wall_us () - newest_ns / 1000;
    return age_us >= 0 && age_us < CLOCK_TICK_US ? 0 : mark;
}

// -- taking it

// What is wrong is told once, not each time it is read.
static void tell_wrong (struct station *self, const struct wrong *wrong)
{
    if (wrong->count && (wrong->count != self->access_wrong ||
                         strcmp (wrong->first.text, self->access_trouble.text) != 0))
        log_event (LEVEL_ERROR, "access.left_out", "files=%zu reason=\"%s\"", wrong->count,
                   wrong->first.text);
    self->access_wrong = wrong->count;
    self->access_trouble = wrong->first;
}

static int take_folder (struct station *self, struct reason *reason)
{
    const char *folder = self->settings->allow;
    struct wrong wrong;
    uint64_t mark = mark_of (folder); // before it is read
    struct access *list = read_folder (folder, &wrong, reason);
    bool changed = !list || !mark || mark != self->access_mark;
    self->access_mark = list ? mark : 0;
    if (!list)
        return -1;
    changed |= !self->access || access_size (self->access) != access_size (list);
    if (self->access && access_shuts_out (self->access, list, span_text ("publish")))
        self->subscribers_cut = true;
    access_destroy (&self->access);
    self->access = list;
    tell_wrong (self, &wrong);
    if (changed)
        log_event (LEVEL_INFO, "access.loaded", "keys=%zu", access_size (list));
    return 0;
}

void access_reload (struct station *self)
{
    struct reason reason = {""};
    if (!self->access || take_folder (self, &reason) == 0)
        return;
    if (strcmp (reason.text, self->access_trouble.text) != 0)
        log_event (LEVEL_ERROR, "access.kept_old", "reason=\"%s\"", reason.text);
    self->access_wrong = 0;
    self->access_trouble = reason;
}

void access_watch (struct station *self, int64_t now_us)
{
    if (!self->access || now_us < self->access_look_us)
        return;
    int64_t before_us = clock_mono_us ();
    bool changed = !self->access_mark || mark_of (self->settings->allow) != self->access_mark;
    int64_t pause_us = LOOK_SHARE * (clock_mono_us () - before_us);
    pause_us = pause_us > LOOK_US ? pause_us : LOOK_US;
    self->access_look_us = now_us + (pause_us < LOOK_MAX_US ? pause_us : LOOK_MAX_US);
    // What could not be read may be readable now, though the file looks the same.
    if (changed || (self->access_trouble.text[0] && now_us >= self->access_retry_us)) {
        access_reload (self);
        self->access_retry_us = now_us + RETRY_US;
    }
}

int access_start (struct station *self, struct reason *reason)
{
    struct curve_cert cert;
    if (!self->settings->curve[0])
        return 0;
    if (curve_cert_load (self->settings->curve, CURVE_SECRET, &cert, reason))
        return -1;
    self->curve_keys = cert.keys;
    explicit_bzero (&cert, sizeof cert);
    return take_folder (self, reason);
}

void access_stop (struct station *self)
{
    access_destroy (&self->access);
    explicit_bzero (&self->curve_keys, sizeof self->curve_keys);
}
