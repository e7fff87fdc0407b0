// Reads the folder of the allow-list at the start, and after each change of the folder.
//
// A key that was removed loses access even if other files are invalid. Only when the folder cannot
// be read at all is the old list kept.
#include "access_folder.h"

#include "access.h"
#include "clock.h"
#include "key_folder.h"
#include "log.h"

enum {
    CHECK_US = 1000000, // between two checks of the folder
    RETRY_US = 8000000  // between two attempts to read invalid files
};

static int add_certificate (void *list, const struct curve_cert *cert, struct reason *reason)
{
    return access_add (list, cert, reason);
}

static int load_allow_list (struct station *self, struct reason *reason)
{
    const char *folder = self->settings->allow;
    struct key_folder_wrong wrong;
    struct reason why;
    uint64_t mark = key_folder_mark (folder); // taken before the folder is read
    struct access *list = access_new ();
    if (key_folder_read (folder, add_certificate, list, &wrong, &why)) {
        reason_set (reason, "allow: %s", why.text);
        access_destroy (&list);
        self->access_mark = 0;
        return -1;
    }
    bool changed = !mark || mark != self->access_mark;
    self->access_mark = mark;
    changed |= !self->access || access_size (self->access) != access_size (list);
    if (self->access && access_shuts_out (self->access, list, span_text ("publish")))
        self->subscribers_cut = true;
    access_destroy (&self->access);
    self->access = list;
    // Log invalid files once, not at each read.
    if (wrong.count && (wrong.count != self->access_wrong ||
                        strcmp (wrong.first.text, self->access_trouble.text) != 0))
        log_event (LEVEL_ERROR, "access.left_out", "files=%zu reason=\"%s\"", wrong.count,
                   wrong.first.text);
    self->access_wrong = wrong.count;
    self->access_trouble = wrong.first;
    if (changed)
        log_event (LEVEL_INFO, "access.loaded", "keys=%zu", access_size (list));
    return 0;
}

void access_reload (struct station *self)
{
    struct reason reason = {""};
    if (!self->access || load_allow_list (self, &reason) == 0)
        return;
    if (strcmp (reason.text, self->access_trouble.text) != 0)
        log_event (LEVEL_ERROR, "access.kept_old", "reason=\"%s\"", reason.text);
    self->access_wrong = 0;
    self->access_trouble = reason;
}

void access_watch (struct station *self, int64_t now_us)
{
    if (!self->access || now_us < self->access_check_us)
        return;
    int64_t before_us = clock_mono_us ();
    bool changed =
        !self->access_mark || key_folder_mark (self->settings->allow) != self->access_mark;
    int64_t pause_us = key_folder_pause_us (clock_mono_us () - before_us);
    self->access_check_us = now_us + (pause_us > CHECK_US ? pause_us : CHECK_US);
    // A file that could not be read may be readable now although it has not changed.
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
    return load_allow_list (self, reason);
}

void access_stop (struct station *self)
{
    access_destroy (&self->access);
    explicit_bzero (&self->curve_keys, sizeof self->curve_keys);
}
