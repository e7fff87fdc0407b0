// station list, add, remove: targets at run time. A change is stored in Redis before it is applied.
#include <stdlib.h>

#include "access.h"
#include "dialect.h"
#include "flow_book.h"
#include "manage_private.h"
#include "memory.h"
#include "permit.h"
#include "targets.h"

// A target that is being added or removed.
struct target_write {
    struct station *station;
    struct peer *peer;
    bool add;
    struct target_settings target;
};

// -- list

static json_t *target_json (const struct station *self, const struct target *target)
{
    const struct target_settings *settings = target_settings (target);
    char text[TARGET_TEXT_MAX];
    target_settings_text (settings, text);
    bool callbacks = station_is_callbacks (self, span_text (settings->name));
    int64_t unresponsive_s = target_unresponsive_since (target);
    return json_pack (
        "{s:s, s:s, s:o*, s:s, s:s, s:s*, s:o*, s:o*, s:s, s:o*, s:b, s:i, s:o*}", "name",
        settings->name, "type", target_type_name (settings->type), "endpoint",
        json_string (settings->endpoint), "dialect", dialect_name (settings->dialect), "mailbox",
        settings->by_identity ? "identity" : "frame", "curve",
        settings->curve[0] ? settings->curve : NULL, "text", json_string (text), "key",
        settings->key[0] ? json_true () : NULL, // the key itself is never shown
        "origin", origin_name (settings->origin), "callbacks", callbacks ? json_true () : NULL,
        "connected", target_connection (target) != 0, "unanswered", target_unanswered (target),
        "unresponsive_since", unresponsive_s ? json_integer (unresponsive_s) : NULL);
}

static int station_list (struct station *self, struct request *request)
{
    json_t *stations = json_array ();
    for (size_t i = 0; i < self->target_count; i++)
        if (permits_station (self, request->peer.user, span_text (target_name (self->targets[i]))))
            json_array_append_new (stations, target_json (self, self->targets[i]));
    const struct flow_names *flows = &self->flows->names;
    for (size_t i = 0; i < flows->count; i++) {
        const struct flow_entry *entry = &flows->entries[i];
        struct span name = span_text (entry->name);
        // A flow is listed as a target without an address.
        if (permits_station (self, request->peer.user, name) && flow_book_has (self, name))
            json_array_append_new (
                stations, json_pack ("{s:s, s:s, s:s, s:s, s:b, s:i, s:i}", "name", entry->name,
                                     "type", "flow", "endpoint", "", "origin", "put", "connected",
                                     true, "unanswered", 0, "version", entry->use));
    }
    manage_reply_json (self, &request->peer, 0, json_pack ("{s:o}", "stations", stations));
    return 0;
}

// -- add and remove

static void on_target_stored (void *owner, const struct store_named *answer)
{
    struct target_write *target_write = owner;
    struct station *self = target_write->station;
    struct reason reason = {""};
    bool done = answer->result == STORE_DONE;
    if (!done)
        reply_refuse_store (self, target_write->peer, answer->result, answer->error);
    else if (!target_write->add)
        targets_remove (self, target_write->target.name, ORIGIN_ADDED);
    else if (targets_add (self, &target_write->target, &reason))
        reply_refuse (self, target_write->peer, ZPLAN_EARGUMENT, reason.text);
    if (done && !reason.text[0])
        manage_reply (self, target_write->peer, 0, NULL);
    free (target_write);
}

static int store_target (struct station *self, struct request *request,
                         const struct target_settings *target, const char *text)
{
    struct target_write *target_write = memory_new (sizeof *target_write);
    *target_write = (struct target_write){self, peer_keep (self, request), text != NULL, *target};
    store_stations (self->store, target->name, text, LINK_ONCE, on_target_stored, target_write);
    return 0;
}

static int station_add (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    struct span argument = request->args[1];
    char text[TARGET_TEXT_MAX];
    struct target_settings target = {.origin = ORIGIN_ADDED};
    if (argument.size >= sizeof text || memchr (argument.data, '\0', argument.size))
        return reason_error (reason, ZPLAN_EARGUMENT, "station: want a text of at most 1023 bytes");
    text[span_put (text, 0, argument)] = '\0';
    if (target_settings_parse (text, &target, reason))
        return ZPLAN_EARGUMENT;
    struct span name = span_text (target.name);
    int rc = permit_station (self, request->peer.user, name, reason);
    if (rc)
        return rc;
    const struct target *old = station_target (self, name);
    if (targets_check (self, &target, reason))
        return ZPLAN_EARGUMENT;
    if (!old && flow_book_claims (self, name))
        return reason_error (reason, ZPLAN_EARGUMENT, "station: %s is the name of a flow",
                             target.name);
    if (old && target_settings (old)->origin == ORIGIN_SETTINGS)
        return reason_error (reason, ZPLAN_EARGUMENT, "station: %s is named by the settings",
                             target.name);
    if (!old && self->target_count == TARGETS_MAX)
        return reason_error (reason, ZPLAN_EBUSY, "station: at most %d", TARGETS_MAX);
    return store_target (self, request, &target, text);
}

static int remove_station_target (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    struct span name = request->args[1];
    int rc = permit_station (self, request->peer.user, name, reason);
    if (rc)
        return rc;
    const struct target *target = station_target (self, name);
    if (!target && flow_book_has (self, name))
        return reason_error (reason, ZPLAN_EARGUMENT, "station: %.*s is a flow: flow remove",
                             (int)name.size, (const char *)name.data);
    if (!target)
        return target_not_found (self, request->peer.user, "station", name, reason);
    const struct target_settings *settings = target_settings (target);
    if (settings->origin != ORIGIN_ADDED)
        return reason_error (reason, ZPLAN_EARGUMENT,
                             "station: %s is named by the %s and cannot be removed", settings->name,
                             origin_name (settings->origin));
    return store_target (self, request, settings, NULL);
}

static const struct admin_subcommand subcommands[] = {
    {"list", 1, CURVE_ROLE_OBSERVE, station_list},
    {"add", 2, CURVE_ROLE_MANAGE, station_add},
    {"remove", 2, CURVE_ROLE_MANAGE, remove_station_target},
};

int manage_station (struct station *self, struct request *request)
{
    return manage_subcommand (self, request, subcommands, sizeof subcommands / sizeof *subcommands,
                              "station: want list, add NAME=TYPE@ENDPOINT, or remove NAME");
}
