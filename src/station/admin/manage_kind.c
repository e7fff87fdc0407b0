// kind: named sets of fields that plans of one kind share. A plan copies them at its submission;
// later changes affect only later plans. Source: task module (task_metadata).
#include <inttypes.h>
#include <stdlib.h>

#include "json.h"
#include "manage_private.h"
#include "memory.h"
#include "permit.h"
#include "plan_public.h"
#include "policy.h"
#include "reads.h"
#include "submit.h"

struct kind_inquiry {
    struct station *station;
    struct peer *peer;
    enum kind_command command;
    char name[POLICY_NAME_MAX + 1];
};

static json_t *kinds_json (const struct kind_inquiry *self, const struct store_named *answer)
{
    json_t *kinds = json_object ();
    struct span name, text;
    for (size_t i = 0; store_named_at (answer, i, &name, &text); i++) {
        struct reason reason;
        if (!permits_station (self->station, self->peer->user, name))
            continue;
        json_t *fields = json_read_object (text, &reason); // may be invalid after an edit by hand
        if (fields && !permits_roles (self->station, self->peer->user, CURVE_ROLE_MANAGE))
            plan_mask_stored (fields);
        json_object_setn_new (kinds, (const char *)name.data, name.size,
                              fields ? fields : json_null ());
    }
    return json_pack ("{s:o}", "kinds", kinds);
}

static void on_kinds (void *owner, const struct store_named *answer)
{
    struct kind_inquiry *self = owner;
    struct station *station = self->station;
    if (answer->result != STORE_DONE)
        reply_refuse_store (station, self->peer, answer->result, answer->error);
    else if (answer->count == 0 && self->command == KIND_PUT)
        reply_refuse (station, self->peer, ZPLAN_EBUSY, "kind: quota exceeded: 1000 kinds");
    else if (answer->count == 0 && self->command != KIND_LIST)
        reply_refuse_format (station, self->peer, ZPLAN_ENOTFIND, "kind: no kind %s is known",
                             quoted (span_text (self->name)));
    else
        manage_reply_json (station, self->peer, 0,
                           self->command == KIND_REMOVE ? NULL : kinds_json (self, answer));
    free (self);
}

static void ask_kinds (void *owner)
{
    struct kind_inquiry *self = owner;
    store_kinds (self->station->store, KIND_LIST, (struct span){0}, NULL, on_kinds, self);
}

// The JSON of a kind to store. Its size is limited, which bounds the list of all kinds. The caller
// frees it; NULL: invalid, with a reason.
static char *read_fields (struct station *self, const char *user, struct span text,
                          struct reason *reason)
{
    const struct plan_limits *limits = &self->settings->limits.plan;
    json_t *object = NULL;
    if ((int64_t)text.size > limits->bytes)
        reason_set (reason, "kind: at most %" PRId64 " bytes, got %zu", limits->bytes, text.size);
    else
        object = json_read_object (text, reason);
    struct policy *policy = object ? policy_read_kind (object, reason) : NULL;
    bool good = policy && !callback_check (self, user, policy, reason);
    char *json = good ? json_write (object) : NULL;
    policy_destroy (&policy);
    json_decref (object);
    return json;
}

static int run_kind_command (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    enum kind_command command = (enum kind_command)request->number;
    const char *user = request->peer.user;
    struct span name = request->args[1];
    char *json = NULL;
    int rc = 0;
    if (request->arg_count > 1 && (name.size > POLICY_NAME_MAX || !station_name_valid (name)))
        return reason_error (reason, ZPLAN_EARGUMENT,
                             "kind: want a name of 1..64 of A-Z a-z 0-9 _ . -, got %s",
                             quoted (name));
    if (request->arg_count > 1 && (rc = permit_named (self, user, "kind", name, reason)))
        return rc;
    if (command == KIND_PUT && !(json = read_fields (self, user, request->args[2], reason)))
        return ZPLAN_EARGUMENT;
    struct kind_inquiry *inquiry = memory_new (sizeof *inquiry);
    *inquiry = (struct kind_inquiry){self, peer_keep (self, request), command, ""};
    if (name.size)
        memcpy (inquiry->name, name.data, name.size);
    if (command == KIND_LIST)
        reads_start (self, inquiry->peer, ask_kinds, inquiry);
    else
        store_kinds (self->store, command, name, json, on_kinds, inquiry);
    free (json);
    return 0;
}

static const struct admin_subcommand subcommands[] = {
    {"list", 1, CURVE_ROLE_OBSERVE | CURVE_ROLE_SUBMIT, run_kind_command, KIND_LIST},
    {"get", 2, CURVE_ROLE_OBSERVE | CURVE_ROLE_SUBMIT, run_kind_command, KIND_GET},
    {"put", 3, CURVE_ROLE_MANAGE, run_kind_command, KIND_PUT},
    {"remove", 2, CURVE_ROLE_MANAGE, run_kind_command, KIND_REMOVE},
};

int manage_kind (struct station *self, struct request *request)
{
    return manage_subcommand (self, request, subcommands, sizeof subcommands / sizeof *subcommands,
                              "kind: want list, get NAME, put NAME FIELDS as JSON, or remove NAME");
}
