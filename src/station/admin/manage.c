// The table of admin commands, and the short commands remove, handover and whoami.
#include "manage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "access.h"
#include "prefetch.h"
#include "callback_book.h"
#include "codes.h"
#include "presence.h"
#include "manage_flow.h"
#include "manage_flow_plan.h"
#include "manage_private.h"
#include "permit.h"
#include "plan_json.h"
#include "publish.h"
#include "reads.h"

// -- remove

static void on_removed (void *owner, const struct store_removed *answer)
{
    struct inquiry *inquiry = owner;
    bool ended = answer->result == STORE_NONE && inquiry->run_ended; // the plan ended with its run
    enum store_result result = ended ? STORE_DONE : answer->result;
    if (answer->result == STORE_DONE || answer->result == STORE_UNSURE)
        prefetch_drop (inquiry->station, inquiry->plan.id);
    if (result == STORE_DONE) {
        char json[64];
        snprintf (json, sizeof json, "{\"plan_id\":%" PRIu64 "}", inquiry->plan.id);
        manage_reply (inquiry->station, inquiry->peer, inquiry->plan.id, NULL);
        publish_event (inquiry->station,
                       &(struct notice){.event = ZPLAN_EVENT_REMOVE,
                                        .plan_id = inquiry->plan.id,
                                        .station = span_text (inquiry->plan.station),
                                        .json = json});
    }
    inquiry_end (inquiry, result, answer->error);
}

// Called when the removal is being written: if the plan is a callback, record that it is not sent
// any more.
static void on_remove_decided (void *owner, const struct store_loaded *found)
{
    const struct inquiry *inquiry = owner;
    struct station *self = inquiry->station;
    struct reason ignored;
    if (!station_is_callbacks (self, found->station))
        return;
    struct plan *callback = plan_from_stored_json (inquiry->plan.id, found->message, &ignored);
    callback_record_resolved (self, inquiry->plan.id);
    if (callback)
        callback_book_remove (self, callback);
    plan_destroy (&callback);
}

static void start_removal (struct inquiry *inquiry, const char *station)
{
    snprintf (inquiry->plan.station, sizeof inquiry->plan.station, "%s", station);
    store_remove (inquiry->station->store, inquiry->plan.id, inquiry->plan.station,
                  on_remove_decided, on_removed, inquiry);
    link_flush (store_link (inquiry->station->store));
}

// Remove the plan if the peer may touch its target; a flow plan or a step by way of its run.
static void on_remove_loaded (void *owner, const struct store_loaded *answer)
{
    struct inquiry *inquiry = owner;
    struct station *self = inquiry->station;
    enum store_result result = inquiry_check (inquiry, answer);
    if (result != STORE_DONE) {
        inquiry_end (inquiry, result, answer->error);
        return;
    }
    char station[STATION_NAME_MAX + 1] = "";
    memcpy (station, answer->station.data, answer->station.size);
    if (manage_flow_plan (inquiry, answer, FLOW_PLAN_REMOVE, "removed", start_removal))
        link_flush (store_link (self->store));
    else
        start_removal (inquiry, station);
}

// -- handover

static void on_standbys_known (void *owner, bool known)
{
    struct inquiry *inquiry = owner;
    struct station *self = inquiry->station;
    bool ready = known && self->station_count > 1;
    if (ready)
        manage_reply (self, inquiry->peer, 0, "{\"handed_over\":true}");
    else if (known)
        reply_refuse (self, inquiry->peer, ZPLAN_EBUSY, "handover: no standby is there");
    else
        reply_refuse_store (self, inquiry->peer, STORE_LOST, "");
    free (inquiry);
    if (ready && self->phase == PHASE_SERVING)
        station_hand_over (self);
}

static int manage_handover (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    if (!permits_all_stations (self, request->peer.user))
        return reason_error (reason, ZPLAN_EDENY, "handover: want a key for all targets");
    if (self->embedded)
        return reason_error (reason, ZPLAN_EBUSY, "handover: the embedded Redis has no standby");
    presence_send_then (self, on_standbys_known, inquiry_of_station (self, request));
    return 0;
}

static int manage_remove (struct station *self, struct request *request)
{
    struct inquiry *inquiry;
    int rc = inquiry_new (self, request, &inquiry);
    if (rc)
        return rc;
    if (inquiry->plan.station[0])
        store_find (self->store, inquiry->plan.id, span_text (inquiry->plan.station),
                    on_remove_loaded, inquiry);
    else
        reads_load (self, inquiry->peer, inquiry->plan.id, on_remove_loaded, inquiry);
    return 0;
}

// -- whoami: what the requester's key may do, so that programs offer only that. Proto 9.14.

// The rights of the key. NULL: there is no allow-list, so nobody has a name and everything is
// allowed.
static json_t *rights_json (const struct access_key *key)
{
    json_t *roles = json_array ();
    for (size_t i = 0; i < ROLES; i++)
        if (!key || access_has_role (key, role_names[i].role))
            json_array_append_new (roles, json_string (role_names[i].name));
    bool bound = key && key->stations[0];
    return json_pack ("{s:o, s:o, s:o}", "name", key ? json_string (key->name) : json_null (),
                      "roles", roles, "stations",
                      bound ? json_string (key->stations) : json_null ());
}

static int manage_whoami (struct station *self, struct request *request)
{
    const struct access_key *key = permit_key (self, request->peer.user);
    if (!key && self->access) // it was just removed from the allow-list
        return permit_roles (self, request->peer.user, ROLES_ANY, &request->reason);
    manage_reply_json (self, &request->peer, 0, rights_json (key));
    return 0;
}

// -- the commands

static const struct admin_command {
    const char *name;
    size_t args_min, args_max;
    unsigned roles; // any of these roles is sufficient
    manage_fn *run;
    const char *usage;
    bool without_redis; // it is answered while Redis is away, too
    int number;         // request->number
} commands[] = {
    {"list", 0, 1, CURVE_ROLE_OBSERVE, manage_list, "list [filter as JSON]"},
    {"message", 1, 1, CURVE_ROLE_OBSERVE, manage_message, "message ID"},
    {"remove", 1, 1, CURVE_ROLE_MANAGE, manage_remove, "remove ID"},
    {"pause", 1, 1, CURVE_ROLE_MANAGE, manage_change, "pause ID", .number = MANAGE_PAUSE},
    {"reset", 1, 1, CURVE_ROLE_MANAGE, manage_change, "reset ID", .number = MANAGE_RESET},
    {"close", 1, 1, CURVE_ROLE_MANAGE, manage_change, "close ID", .number = MANAGE_CLOSE},
    {"skip", 2, 2, CURVE_ROLE_MANAGE, manage_change, "skip ID COUNT", .number = MANAGE_SKIP},
    {"run", 1, 2, CURVE_ROLE_MANAGE, manage_change,
     "run ID, of a flow plan [batch and params as JSON]", .number = MANAGE_RUN},
    {"cancel", 1, 2, CURVE_ROLE_MANAGE, manage_cancel, "cancel ID or RUN/STEP [REASON]"},
    {"callback", 2, 3, CURVE_ROLE_MANAGE, manage_callback,
     "callback test TARGET CALLBACK as JSON, callback redeliver ID"},
    {"done", 1, 2, CURVE_ROLE_MANAGE, manage_change, "done ID [REMARK]", .number = MANAGE_DONE},
    {"update", 2, 2, CURVE_ROLE_MANAGE, manage_change,
     "update ID FIELDS, a JSON object with the revision", .number = MANAGE_UPDATE},
    {"next", 1, 2, CURVE_ROLE_OBSERVE | CURVE_ROLE_SUBMIT, manage_next,
     "next ID or PLAN as JSON, [COUNT]"},
    {"history", 0, 2, CURVE_ROLE_OBSERVE, manage_history,
     "history [ID, filter as JSON, or since SEQ]"},
    {"result", 1, 1, CURVE_ROLE_OBSERVE, manage_result, "result ID"},
    {"forget", 1, 1, CURVE_ROLE_MANAGE, manage_forget,
     "forget ENTRIES, a JSON object with the epoch"},
    {"restore", 2, 8, CURVE_ROLE_MANAGE, manage_restore,
     "restore plan PLAN, or history OUTCOMES, JSON in one or more arguments"},
    {"station", 1, 2, ROLES_ANY, manage_station,
     "station list, add NAME=TYPE@ENDPOINT, or remove NAME"},
    {"take", 1, 1, CURVE_ROLE_RESULT, manage_take, "take REQUEST, a JSON object with the station"},
    {"alive", 1, 1, CURVE_ROLE_RESULT, manage_alive,
     "alive RUN, a JSON object with plan and worker"},
    {"report", 1, 1, CURVE_ROLE_RESULT, manage_report,
     "report RUN, a JSON object with plan, worker and state"},
    {"team", 1, 1, CURVE_ROLE_OBSERVE | CURVE_ROLE_RESULT, manage_team, "team ID"},
    {"why", 1, 1, CURVE_ROLE_OBSERVE, manage_why, "why ID or RUN/STEP"},
    {"kind", 1, 3, ROLES_ANY, manage_kind, "kind list, get NAME, put NAME FIELDS, or remove NAME"},
    {"flow", 1, 4, ROLES_ANY, manage_flow,
     "flow list, get NAME, check or put DEFINITION, use NAME VERSION, remove NAME; runs, show RUN, "
     "log RUN, signal or reject RUN STEP, skip RUN STEP, retry, suspend, resume or cancel RUN"},
    {"limit", 1, 3, ROLES_ANY, manage_limit, "limit list, set NAME LIMIT, or remove NAME"},
    {"handover", 0, 0, CURVE_ROLE_MANAGE, manage_handover, "handover"},
    {"stats", 0, 0, CURVE_ROLE_OBSERVE, manage_stats, "stats"},
    {"health", 0, 0, CURVE_ROLE_OBSERVE, manage_health, "health", .without_redis = true},
    {"load", 0, 1, CURVE_ROLE_OBSERVE, manage_load, "load [from, to and step as JSON]"},
    {"whoami", 0, 0, ROLES_ANY, manage_whoami, "whoami", .without_redis = true},
};

static int run_admin_command (struct station *self, struct request *request,
                              const struct admin_command *command)
{
    struct reason *reason = &request->reason;
    int rc;
    const struct message *message = &request->message;
    for (size_t i = 0; i < message->desc.count; i++) {
        if (message->desc.types[i] != ZERO_FRAME_ARG)
            continue;
        if (request->arg_count < ARGS_MAX)
            request->args[request->arg_count] = message->frames[i];
        request->arg_count++;
    }
    if ((rc = permit_roles (self, request->peer.user, command->roles, reason)))
        return rc;
    if (request->arg_count < command->args_min || request->arg_count > command->args_max)
        return reason_error (reason, ZPLAN_EARGUMENT, "got %zu arguments; %s", request->arg_count,
                             command->usage);
    if (!command->without_redis && (rc = reply_too_much (self, request)))
        return rc;
    if (!command->without_redis && !station_store_up (self))
        return reply_store_error (self, STORE_LOST, "", reason);
    request->number = command->number;
    return command->run (self, request);
}

int manage_request (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    bool given;
    struct span name = message_frame (&request->message, ZERO_FRAME_COMMAND, &given);
    const struct admin_command *row = commands, *end = row + sizeof commands / sizeof *commands;
    // Case is ignored, as everywhere in MicroZero.
    while (row < end && (name.size != strlen (row->name) ||
                         strncasecmp ((const char *)name.data, row->name, name.size) != 0))
        row++;
    if (!given)
        return reason_error (reason, ZPLAN_EARGUMENT, "COMMAND: the frame is missing");
    if (row == end)
        return reason_error (reason, ZPLAN_ENOTKNOWN, "COMMAND: no admin command %s",
                             quoted (name));
    return run_admin_command (self, request, row);
}
