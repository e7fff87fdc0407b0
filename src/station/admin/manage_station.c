// station list, add, remove: targets at run time. A change is stored in Redis before it is applied.
#include <stdlib.h>

#include "access.h"
#include "dialect.h"
#include "flow_book.h"
#include "manage_private.h"
#include "memory.h"
#include "permit.h"
#include "targets.h"
#include "reply.h"
#include "target_names.h"

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
    json_t *object = json_object ();
    json_object_set_new (object, "name", json_string (settings->name));
    json_object_set_new (object, "type", json_string (target_type_name (settings->type)));
    json_object_set_new (object, "endpoint", json_string (settings->endpoint));
    json_object_set_new (object, "dialect", json_string (dialect_name (settings->dialect)));
    json_object_set_new (object, "mailbox",
                         json_string (settings->by_identity ? "identity" : "frame"));
    if (settings->curve[0])
        json_object_set_new (object, "curve", json_string (settings->curve));
    char text[TARGET_TEXT_MAX];
    target_settings_text (settings, text);
    json_object_set_new (object, "text", json_string (text));
    if (settings->key[0])
        json_object_set_new (object, "key", json_true ()); // the key itself is never shown
    json_object_set_new (object, "origin", json_string (origin_name (settings->origin)));
    if (station_is_callbacks (self, span_text (settings->name)))
        json_object_set_new (object, "callbacks", json_true ());
    json_object_set_new (object, "connected", json_boolean (target_connection (target) != 0));
    json_object_set_new (object, "unanswered", json_integer (target_unanswered (target)));
    if (target_unresponsive_since (target))
        json_object_set_new (object, "unresponsive_since",
                             json_integer (target_unresponsive_since (target)));
    return object;
}

// A flow is listed as a target without an address.
static json_t *flow_json (const struct flow_entry *entry)
{
    return json_pack ("{s:s, s:s, s:s, s:s, s:b, s:i, s:i}", "name", entry->name, "type", "flow",
                      "endpoint", "", "origin", "put", "connected", true, "unanswered", 0,
                      "version", entry->use);
}

static void station_list (struct station *self, struct request *request,
                          const struct arguments *arguments, const struct admin_subcommand *row)
{
    (void)arguments;
    (void)row;
    json_t *object = json_object (), *stations = json_array ();
    for (size_t i = 0; i < self->target_count; i++)
        if (permits_station (self, request->peer.user, span_text (target_name (self->targets[i]))))
            json_array_append_new (stations, target_json (self, self->targets[i]));
    const struct flow_names *flows = &self->flows->names;
    for (size_t i = 0; i < flows->count; i++) {
        struct span name = span_text (flows->entries[i].name);
        if (permits_station (self, request->peer.user, name) && flow_book_has (self, name))
            json_array_append_new (stations, flow_json (&flows->entries[i]));
    }
    json_object_set_new (object, "stations", stations);
    manage_reply_json (self, &request->peer, 0, object);
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
    station_resume (self);
}

static void store_target (struct station *self, struct request *request,
                          const struct target_settings *target, const char *text)
{
    struct target_write *target_write = memory_new (sizeof *target_write);
    *target_write = (struct target_write){self, peer_keep (self, request), text != NULL, *target};
    store_stations (self->store, target->name, text, LINK_ONCE, on_target_stored, target_write);
}

static bool copy_argument (struct span argument, char out[TARGET_TEXT_MAX])
{
    if (argument.size >= TARGET_TEXT_MAX || memchr (argument.data, '\0', argument.size))
        return false;
    memcpy (out, argument.data, argument.size);
    out[argument.size] = '\0';
    return true;
}

static void station_add (struct station *self, struct request *request,
                         const struct arguments *arguments, const struct admin_subcommand *row)
{
    struct span argument = arguments->at[1];
    (void)row;
    char text[TARGET_TEXT_MAX];
    struct target_settings target = {.origin = ORIGIN_ADDED};
    struct reason reason;
    if (!copy_argument (argument, text)) {
        reply_refuse (self, &request->peer, ZPLAN_EARGUMENT,
                      "station: want a text of at most 1023 bytes");
        return;
    }
    if (target_settings_parse (text, &target, &reason)) {
        reply_refuse (self, &request->peer, ZPLAN_EARGUMENT, reason.text);
        return;
    }
    if (!permit_station (self, &request->peer, span_text (target.name)))
        return;
    if (targets_check (self, &target, &reason)) {
        reply_refuse (self, &request->peer, ZPLAN_EARGUMENT, reason.text);
        return;
    }
    const struct target *old = station_target (self, span_text (target.name));
    if (!old && flow_book_claims (self, span_text (target.name))) {
        reason_set (&reason, "station: %s is the name of a flow", target.name);
        reply_refuse (self, &request->peer, ZPLAN_EARGUMENT, reason.text);
    } else if (old && target_settings (old)->origin == ORIGIN_SETTINGS) {
        reason_set (&reason, "station: %s is named by the settings", target.name);
        reply_refuse (self, &request->peer, ZPLAN_EARGUMENT, reason.text);
    } else if (!old && self->target_count == TARGETS_MAX) {
        reason_set (&reason, "station: at most %d", TARGETS_MAX);
        reply_refuse (self, &request->peer, ZPLAN_EBUSY, reason.text);
    } else {
        store_target (self, request, &target, text);
    }
}

static void remove_station_target (struct station *self, struct request *request,
                                   const struct arguments *arguments,
                                   const struct admin_subcommand *row)
{
    struct span name = arguments->at[1];
    (void)row;
    struct reason reason;
    if (!permit_station (self, &request->peer, name))
        return;
    const struct target *target = station_target (self, name);
    if (!target && flow_book_has (self, name)) {
        reason_set (&reason, "station: %.*s is a flow: flow remove", (int)name.size,
                    (const char *)name.data);
        reply_refuse (self, &request->peer, ZPLAN_EARGUMENT, reason.text);
        return;
    }
    if (!target) {
        int rc = target_not_found (self, request->peer.user, "station", name, &reason);
        reply_refuse (self, &request->peer, (enum wire_error)rc, reason.text);
        return;
    }
    const struct target_settings *settings = target_settings (target);
    if (settings->origin != ORIGIN_ADDED) {
        reason_set (&reason, "station: %s is named by the %s and cannot be removed", settings->name,
                    origin_name (settings->origin));
        reply_refuse (self, &request->peer, ZPLAN_EARGUMENT, reason.text);
        return;
    }
    store_target (self, request, settings, NULL);
}

static const struct admin_subcommand subcommands[] = {
    {"list", 1, CURVE_ROLE_OBSERVE, station_list, 0},
    {"add", 2, CURVE_ROLE_MANAGE, station_add, 0},
    {"remove", 2, CURVE_ROLE_MANAGE, remove_station_target, 0},
};

void manage_station (struct station *self, struct request *request,
                     const struct arguments *arguments)
{
    manage_subcommand (self, request, arguments, subcommands,
                       sizeof subcommands / sizeof *subcommands,
                       "station: want list, add NAME=TYPE@ENDPOINT, or remove NAME");
}
