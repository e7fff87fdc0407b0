#include "reload.h"

#include <stdlib.h>

#include "access_folder.h"
#include "failpoint.h"
#include "flow_book.h"
#include "log.h"
#include "memory.h"
#include "notify.h"
#include "targets.h"
#include "zones.h"

// Keep the old values of the settings that only a restart can change, and log those that differ.
static void keep_fixed_settings (const struct station_settings *old, struct station_settings *fresh)
{
    for (size_t i = 0; i < station_setting_table.count; i++) {
        const struct setting *row = &station_setting_table.rows[i];
        if (!row->fixed || row->type == SETTING_OWN || setting_same (row, old, fresh))
            continue;
        log_event (LEVEL_WARN, "reload.needs_restart", "setting=%s", row->name);
        setting_copy (row, fresh, old);
    }
    if (memcmp (&old->center, &fresh->center, sizeof old->center) != 0)
        log_event (LEVEL_WARN, "reload.needs_restart", "setting=center");
    fresh->center = old->center;
}

static void apply_new_settings (struct station *self)
{
    const struct store_bounds bounds = station_bounds (self);
    log_start ("zpland", self->settings->log_level, self->settings->log_format);
    store_set_bounds (self->store, &bounds);
    if (!self->targets_started)
        return; // a standby connects to no target
    targets_replace (self, ORIGIN_SETTINGS, self->settings->targets, self->settings->target_count);
    if (self->targets_read)
        targets_load (self); // an added target may have the name that was removed from the settings
}

// Whether a target has the name of a flow; it would get the plans of that flow.
static bool has_target_named_as_flow (const struct station *self,
                                      const struct station_settings *fresh, struct reason *reason)
{
    for (size_t i = 0; i < fresh->target_count; i++) {
        const char *name = fresh->targets[i].name;
        if (!flow_book_has (self, span_text (name)))
            continue;
        reason_set (reason, "stations: %s is the name of a flow", name);
        return true;
    }
    return false;
}

static void read_settings_again (struct station *self)
{
    struct station_settings *fresh = memory_new (sizeof *fresh);
    struct reason reason = {"none"};
    access_reload (self);
    zones_reread (self);
    if (!self->read_settings || self->read_settings (fresh, &reason) ||
        has_target_named_as_flow (self, fresh, &reason)) {
        log_event (LEVEL_ERROR, "reload.kept_old", "reason=\"%s\"", reason.text);
        self->reload_trouble = reason;
        free (fresh);
        return;
    }
    self->reload_trouble = (struct reason){""};
    FAILPOINT ("reload");
    keep_fixed_settings (self->settings, fresh);
    *self->settings = *fresh;
    free (fresh);
    apply_new_settings (self);
    log_event (LEVEL_INFO, "reload.done", "stations=%zu", self->settings->target_count);
}

void reload (struct station *self)
{
    notify_reloading ();
    read_settings_again (self);
    notify_ready ();
}
