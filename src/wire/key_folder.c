#include "key_folder.h"

#include <czmq.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "clock.h"
#include "table.h"

enum { CHECK_SHARE = 50, CHECK_PAUSE_MAX_US = 4000000, CLOCK_TICK_US = 50000 };

// -- reading the folder

struct folder_reader {
    const char *folder;
    key_folder_fn *take;
    void *owner;
    zhashx_t *names; // the first file with each name, which is borrowed
};

static int is_certificate (const struct dirent *entry)
{
    const char *last = strrchr (entry->d_name, '_');
    return entry->d_name[0] != '.' && (!last || strcmp (last, "_secret") != 0);
}

// Compare file names by bytes in any locale: of two certificates with the same name the first file
// counts.
static int compare_files (const struct dirent **a, const struct dirent **b)
{
    return strcmp ((*a)->d_name, (*b)->d_name);
}

static int accept_cert (struct folder_reader *self, const struct curve_cert *cert, const char *file,
                        struct reason *reason)
{
    const char *first = zhashx_lookup (self->names, cert->name);
    if (first)
        return reason_set (reason, "name: %s is also the name in %s too",
                           quoted (span_text (cert->name)), first);
    if (self->take (self->owner, cert, reason))
        return -1;
    if (cert->name[0])
        zhashx_insert (self->names, cert->name, (void *)file);
    return 0;
}

static int read_folder_file (struct folder_reader *self, const char *file, struct reason *reason)
{
    char path[CURVE_PATH_SIZE];
    struct curve_cert cert;
    struct reason why;
    struct stat entry;
    snprintf (path, sizeof path, "%s/%s", self->folder, file);
    if (stat (path, &entry) == 0 && !S_ISREG (entry.st_mode))
        return 0;
    if (curve_cert_load (path, CURVE_PUBLIC, &cert, reason))
        return -1;
    if (accept_cert (self, &cert, file, &why) == 0)
        return 0;
    return reason_set (reason, "%s: %s", path, why.text);
}

int key_folder_read (const char *folder, key_folder_fn *take, void *owner,
                     struct key_folder_wrong *ret_wrong, struct reason *reason)
{
    struct folder_reader reader = {folder, take, owner, NULL};
    struct dirent **entries;
    int count = scandir (folder, &entries, is_certificate, compare_files);
    if (count < 0)
        return reason_set (reason, "%s: %s", folder, strerror (errno));
    *ret_wrong = (struct key_folder_wrong){0};
    reader.names = zhashx_new ();
    for (int i = 0; i < count; i++) {
        struct reason why;
        if (read_folder_file (&reader, entries[i]->d_name, &why) && ret_wrong->count++ == 0)
            ret_wrong->first = why;
    }
    zhashx_destroy (&reader.names);
    for (int i = 0; i < count; i++)
        free (entries[i]);
    free (entries);
    return 0;
}

// -- detecting changes

static int64_t timespec_ns (const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static uint64_t file_state_hash (int folder, const char *name, int64_t *newest_ns)
{
    struct stat entry;
    uint64_t hash = table_hash (span_text (name));
    if (fstatat (folder, name, &entry, 0))
        return hash;
    // The inode's change time also shows a change by `cp -p`, which preserves the modification
    // time.
    int64_t changed_ns = timespec_ns (&entry.st_ctim);
    if (changed_ns > *newest_ns)
        *newest_ns = changed_ns;
    const uint64_t seen[] = {hash, (uint64_t)entry.st_ino, (uint64_t)entry.st_size,
                             (uint64_t)timespec_ns (&entry.st_mtim), (uint64_t)changed_ns};
    return table_hash (span_of (seen, sizeof seen));
}

uint64_t key_folder_mark (const char *folder)
{
    uint64_t mark = 1;
    int64_t newest_ns = 0;
    DIR *entries = opendir (folder);
    if (!entries)
        return 0;
    // A sum, because the order of the files may vary.
    for (struct dirent *entry; (entry = readdir (entries));)
        if (is_certificate (entry))
            mark += file_state_hash (dirfd (entries), entry->d_name, &newest_ns);
    closedir (entries);
    int64_t age_us = clock_wall_us () - newest_ns / 1000;
    return age_us >= 0 && age_us < CLOCK_TICK_US ? 0 : mark;
}

uint64_t key_file_mark (const char *path)
{
    int64_t ignored_ns = 0;
    return file_state_hash (AT_FDCWD, path, &ignored_ns);
}

int64_t key_folder_pause_us (int64_t us)
{
    return us < CHECK_PAUSE_MAX_US / CHECK_SHARE ? us * CHECK_SHARE : CHECK_PAUSE_MAX_US;
}
