#include "targets.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "prefetch.h"
#include "center.h"
#include "due.h"
#include "flow_book.h"
#include "log.h"
#include "memory.h"
#include "process.h"
#include "results.h"
#include "socket.h"
#include "unresponsive.h"

enum { WAKE_PAGE = 1000 }; // plans per call of store_wake_waiting

// -- when a target connects, the plans that wait for it become due at once

struct target_wake {
    struct station *station;
    char target[STATION_NAME_MAX + 1];
};

static void wake_plans_page (struct target_wake *wake);

static void on_woken (void *owner, enum store_result result, const char *error)
{
    struct target_wake *wake = owner;
    (void)error;
    if (result == STORE_DONE || result == STORE_HELD)
        due_wake (wake->station);
    if (result == STORE_HELD)
        wake_plans_page (wake);
    else
        free (wake);
}

static void wake_plans_page (struct target_wake *wake)
{
    store_wake_waiting (wake->station->store, wake->target, WAKE_PAGE, on_woken, wake);
}

static void wake_target_plans (struct station *self, const struct target *target)
{
    if (!station_store_up (self))
        return; // targets_wake does it later
    struct target_wake *wake = memory_new (sizeof *wake);
    wake->station = self;
    memcpy (wake->target, target_name (target), sizeof wake->target);
    wake_plans_page (wake);
}

static void on_connected (void *owner, struct target *target)
{
    struct station *self = owner;
    wake_target_plans (self, target);
    link_flush (store_link (self->store));
}

// -- the identity of a target's connections

struct identity_call {
    struct station *station;
    char target[STATION_NAME_MAX + 1];
    char fresh[TARGET_IDENTITY_SIZE];
};

// Use the identity that the store returned. If none could be stored, use the random one: it works
// until the next restart.
static void on_identity (void *owner, const struct store_identity *answer)
{
    struct identity_call *call = owner;
    struct target *target = station_target (call->station, span_text (call->target));
    bool done = answer->result == STORE_DONE && answer->identity.size &&
                answer->identity.size < TARGET_IDENTITY_SIZE;
    bool lost = answer->result == STORE_LOST || answer->result == STORE_UNKNOWN;
    if (!done && !lost)
        log_event (LEVEL_ERROR, "target.identity_not_kept", "station=%s error=%s", call->target,
                   quoted (span_text (answer->error ? answer->error : "")));
    if (target && target_settings (target)->by_identity && !lost)
        target_identify (target, done ? answer->identity : span_text (call->fresh),
                         done && answer->used);
    free (call);
}

// Ask the store for the identity of the connections. If it has none, it stores the random one made
// here. The random one is printable and without NUL, as such a target uses strlen on it, and does
// not start with '*', '-' or '#', which the target reserves for its own routes.
static void request_identity (void *owner, struct target *target)
{
    struct station *self = owner;
    // Identities are stored under host and request endpoint: that survives a restart, and no two
    // stations share it.
    char host[HOST_NAME_MAX + 1] = "", home[HOST_NAME_MAX + SETTING_TEXT_MAX + 2];
    gethostname (host, sizeof host - 1);
    snprintf (home, sizeof home, "%s %s", host, self->settings->request);
    struct identity_call *call = memory_new (sizeof *call);
    call->station = self;
    memcpy (call->target, target_name (target), sizeof call->target);
    snprintf (call->fresh, sizeof call->fresh, "+zplan-%016" PRIx64 "%016" PRIx64,
              process_random (), process_random ());
    store_identity (self->store,
                    &(struct store_identity_wish){.home = home,
                                                  .target = call->target,
                                                  .fresh = call->fresh,
                                                  .replaces = target_identity (target)},
                    on_identity, call);
}

void targets_wake (struct station *self)
{
    for (size_t i = 0; i < self->target_count; i++)
        if (target_connection (self->targets[i]))
            wake_target_plans (self, self->targets[i]);
}

// -- the set of targets

static size_t index_of_target (const struct station *self, struct span name)
{
    size_t at = 0;
    while (at < self->target_count && !span_is (name, target_name (self->targets[at])))
        at++;
    return at;
}

static void on_deferred_destroy (void *owner)
{
    struct station *self = owner;
    for (size_t i = 0; i < self->removed_count; i++)
        target_destroy (&self->removed_targets[i]);
    self->removed_count = 0;
}

// Destroy the target in the next turn, as one of its callbacks may be on the stack: answers of
// Redis can be read while a message of the target is being handled.
static void defer_target_destroy (struct station *self, size_t at)
{
    runs_forget_target (self, self->targets[at]);
    prefetch_forget_target (self, self->targets[at]);
    self->removed_targets = memory_resize (
        self->removed_targets, (self->removed_count + 1) * sizeof *self->removed_targets);
    self->removed_targets[self->removed_count++] = self->targets[at];
    task_set (&self->deferred_destroy, self->reactor);
}

int targets_check (const struct station *self, const struct target_settings *settings,
                   struct reason *reason)
{
    if (!settings->curve[0] || self->curve_keys.public_key[0])
        return 0;
    return reason_set (reason,
                       "station: %s: curve: needs the setting curve, the station's own certificate",
                       settings->name);
}

int targets_add (struct station *self, const struct target_settings *settings,
                 struct reason *reason)
{
    const struct target_events events = {.message = results_handle_packet,
                                         .turn_ended = due_resume_target,
                                         .connected = on_connected,
                                         .responsive = unresponsive_ends,
                                         .needs_identity = request_identity,
                                         .owner = self,
                                         .limits = &self->limits};
    size_t at = index_of_target (self, span_text (settings->name));
    if (targets_check (self, settings, reason))
        return -1;
    if (at < self->target_count) {
        const struct target_settings *old = target_settings (self->targets[at]);
        if (old->origin < settings->origin)
            return reason_set (reason, "station: %s is named by the %s", settings->name,
                               old->origin == ORIGIN_SETTINGS ? "settings" : "station add");
        if (target_settings_equal (old, settings) && old->origin == settings->origin)
            return 0;
        defer_target_destroy (self, at);
    } else if (at == TARGETS_MAX) {
        return reason_set (reason, "station: at most %d", TARGETS_MAX);
    } else if (settings->origin == ORIGIN_CENTER &&
               flow_book_claims (self, span_text (settings->name))) {
        return reason_set (reason, "station: %s is the name of a flow", settings->name);
    } else {
        self->target_count++;
    }
    if (!self->target_context)
        self->target_context = wire_context_new ();
    self->targets[at] =
        target_new (settings, self->target_context, &self->curve_keys, self->reactor, &events);
    if (settings->by_identity && settings->type != TARGET_PULL)
        request_identity (self, self->targets[at]);
    if (settings->origin != ORIGIN_SETTINGS)
        log_event (LEVEL_INFO, "target.added", "station=%s endpoint=%s origin=%s", settings->name,
                   settings->endpoint, origin_name (settings->origin));
    return 0;
}

bool targets_remove (struct station *self, const char *name, enum origin origin)
{
    size_t at = index_of_target (self, span_text (name));
    if (at == self->target_count || target_settings (self->targets[at])->origin != origin)
        return false;
    log_event (LEVEL_INFO, "target.removed", "station=%s", name);
    defer_target_destroy (self, at);
    self->targets[at] = self->targets[--self->target_count];
    return true;
}

void targets_replace (struct station *self, enum origin origin, const struct target_settings *list,
                      size_t count)
{
    for (size_t at = self->target_count; at > 0; at--) {
        char name[STATION_NAME_MAX + 1];
        bool listed = false;
        memcpy (name, target_name (self->targets[at - 1]), sizeof name);
        for (size_t i = 0; i < count && !listed; i++)
            listed = strcmp (list[i].name, name) == 0;
        if (!listed)
            targets_remove (self, name, origin);
    }
    for (size_t i = 0; i < count; i++) {
        struct reason reason;
        if (targets_add (self, &list[i], &reason))
            log_event (origin == ORIGIN_SETTINGS ? LEVEL_ERROR : LEVEL_DEBUG, "target.not_added",
                       "reason=\"%s\"", reason.text);
    }
}

// -- added targets, stored in Redis

// Add the targets stored in Redis. Returns their number; below 0: they could not be read.
static int64_t add_stored_targets (struct station *self, const struct store_named *answer)
{
    struct span name, text;
    if (answer->result == STORE_ERROR)
        log_event (LEVEL_ERROR, "target.not_loaded", "error=%s",
                   quoted (span_text (answer->error)));
    if (answer->result != STORE_DONE)
        return -1;
    struct target_settings *list = memory_new (TARGETS_MAX * sizeof *list);
    size_t count = 0, stored = 0;
    for (; store_named_at (answer, stored, &name, &text) && count < TARGETS_MAX; stored++) {
        char copy[TARGET_TEXT_MAX];
        struct reason reason;
        snprintf (copy, sizeof copy, "%.*s", (int)text.size, (const char *)text.data);
        list[count].origin = ORIGIN_ADDED;
        if (target_settings_parse (copy, &list[count], &reason) == 0)
            count++;
        else
            log_event (LEVEL_ERROR, "target.unreadable", "reason=\"%s\"", reason.text);
    }
    targets_replace (self, ORIGIN_ADDED, list, count);
    free (list);
    return (int64_t)stored;
}

static void on_default_stored (void *owner, const struct store_named *answer)
{
    add_stored_targets (owner, answer);
    if (answer->result == STORE_DONE || answer->result == STORE_ERROR)
        station_targets_read (owner);
}

// Handle the added targets. Without any target a default one is added, as by `station add`, so that
// a station alone is useful. It is stored and stays when other targets are added later, so its
// plans keep their target.
static void on_added_targets (void *owner, const struct store_named *answer)
{
    struct station *self = owner;
    int64_t stored = add_stored_targets (self, answer);
    bool named = self->settings->target_count > 0 || self->settings->center.host[0];
    if (stored == 0 && !named) {
        log_event (LEVEL_INFO, "target.default",
                   "station=" TARGET_DEFAULT " reason=\"no target is "
                   "named by the settings or was added\"");
        store_stations (self->store, TARGET_DEFAULT, TARGET_DEFAULT "=pull", LINK_REPEAT,
                        on_default_stored, self);
        link_flush (store_link (self->store));
    } else if (answer->result == STORE_DONE || answer->result == STORE_ERROR) {
        station_targets_read (self);
    }
}

static void on_pull_stored (void *owner, const struct store_named *answer)
{
    (void)owner;
    if (answer->result == STORE_ERROR)
        log_event (LEVEL_ERROR, "target.not_kept", "error=%s", quoted (span_text (answer->error)));
}

int targets_ensure_pull (struct station *self, const char *name, struct reason *reason)
{
    const struct target *target = station_target (self, span_text (name));
    struct target_settings settings = {.origin = ORIGIN_ADDED};
    char text[TARGET_TEXT_MAX];
    if (target && target_type (target) == TARGET_PULL)
        return 0;
    if (target)
        return reason_set (reason, "the target %s is of type %s, want pull", name,
                           target_type_name (target_type (target)));
    snprintf (text, sizeof text, "%s=pull", name);
    if (target_settings_parse (text, &settings, reason) || targets_add (self, &settings, reason))
        return -1;
    store_stations (self->store, name, text, LINK_REPEAT, on_pull_stored, self);
    return 0;
}

void targets_load (struct station *self)
{
    store_stations (self->store, NULL, NULL, LINK_REPEAT, on_added_targets, self);
}

// -- targets of a center

static void on_found (void *owner, const struct found_station *found, size_t count)
{
    struct station *self = owner;
    struct target_settings *list = memory_new ((count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        struct target_settings *target = &list[i];
        memcpy (target->name, found[i].name, sizeof target->name);
        memcpy (target->endpoint, found[i].endpoint, sizeof target->endpoint);
        target->type = found[i].type;
        target->dialect = found[i].seed_dialect ? DIALECT_ZERONET : DIALECT_MICROZERO;
        target->by_identity = true;
        memcpy (target->key, self->settings->center.key, sizeof target->key);
        target->origin = ORIGIN_CENTER;
    }
    targets_replace (self, ORIGIN_CENTER, list, count);
    free (list);
}

// -- start and stop

void targets_start (struct station *self)
{
    struct reason reason;
    if (self->targets_started)
        return;
    self->targets_started = true;
    self->deferred_destroy = (struct task){.call = on_deferred_destroy, .owner = self};
    for (size_t i = 0; i < self->settings->target_count; i++)
        targets_add (self, &self->settings->targets[i], &reason);
    if (self->settings->center.host[0])
        self->center = center_new (&self->settings->center, self->reactor, on_found, self);
}

void targets_stop (struct station *self)
{
    center_destroy (&self->center);
    for (size_t i = 0; i < self->target_count; i++)
        target_destroy (&self->targets[i]);
    self->target_count = 0;
    task_end (&self->deferred_destroy);
    on_deferred_destroy (self);
    free (self->removed_targets);
    self->removed_targets = NULL;
    wire_context_destroy (&self->target_context);
}
