// A file that is written in place changes its folder only when it begins: what is not sound is read
// again each second until it is, and is told once. And a folder that changed just now may change
// again within the same tick of its clock: it is read once more a little later.
#include "access_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "access.h"
#include "clock.h"
#include "log.h"

enum { LOOK_US = 1000000, LOOK_MAX_US = 8000000, CLOCK_TICK_US = 50000 };

// -- reading it

static bool ends_with (const char *text, const char *end)
{
    size_t size = strlen (text), end_size = strlen (end);
    return size >= end_size && strcmp (text + size - end_size, end) == 0;
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

static int add_files (struct access *list, const char *folder, DIR *entries, struct reason *reason)
{
    char path[CURVE_PATH_SIZE];
    for (struct dirent *entry; (entry = readdir (entries));) {
        if (entry->d_name[0] == '.' || ends_with (entry->d_name, "_secret"))
            continue;
        snprintf (path, sizeof path, "%s/%s", folder, entry->d_name);
        if (add_file (list, path, reason))
            return -1;
    }
    return 0;
}

static struct access *read_folder (const char *folder, struct reason *reason)
{
    DIR *entries = opendir (folder);
    if (!entries) {
        reason_set (reason, "allow: %s: %s", folder, strerror (errno));
        return NULL;
    }
    struct access *list = access_new ();
    if (add_files (list, folder, entries, reason))
        access_destroy (&list);
    closedir (entries);
    return list;
}

// When the folder was changed last; 0 = it cannot be told, or may change again unnoticed.
static int64_t change_of (const char *folder)
{
    struct stat entry;
    if (stat (folder, &entry))
        return 0;
    int64_t change_us = (int64_t)entry.st_mtim.tv_sec * 1000000 + entry.st_mtim.tv_nsec / 1000;
    int64_t age_us = clock_wall_us () - change_us;
    bool young = age_us >= 0 && age_us < CLOCK_TICK_US;
    return young ? 0 : (int64_t)entry.st_mtim.tv_sec * 1000000000 + entry.st_mtim.tv_nsec;
}

// -- taking it

static int take_folder (struct station *self, struct reason *reason)
{
    const char *folder = self->settings->allow;
    int64_t change_ns = change_of (folder);
    struct access *list = read_folder (folder, reason);
    self->access_change_ns = list ? change_ns : 0;
    if (!list)
        return -1;
    if (self->access && access_shuts_out (self->access, list, span_text ("publish")))
        self->subscribers_cut = true;
    access_destroy (&self->access);
    self->access = list;
    self->access_trouble = (struct reason){""};
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
    self->access_trouble = reason;
}

void access_watch (struct station *self, int64_t now_us)
{
    if (!self->access || now_us < self->access_look_us)
        return;
    // A folder with something wrong in it is read less and less often.
    int64_t pause_us = self->access_trouble.text[0] ? 2 * self->access_pause_us : LOOK_US;
    self->access_pause_us = pause_us < LOOK_MAX_US ? pause_us : LOOK_MAX_US;
    self->access_look_us = now_us + self->access_pause_us;
    if (!self->access_change_ns || change_of (self->settings->allow) != self->access_change_ns)
        access_reload (self);
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
