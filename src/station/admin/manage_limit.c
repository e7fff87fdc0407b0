// limit: the concurrency and rate limits of targets and groups. Stored in Redis, so that they hold
// for the next owner as well.
#include <stdlib.h>

#include "json.h"
#include "limit_rule.h"
#include "manage_private.h"
#include "memory.h"
#include "permit.h"
#include "due.h"

enum { KEPT_NAME_MAX = 2 + POLICY_NAME_MAX }; // prefix and name; target names are not longer

_Static_assert((int)POLICY_NAME_MAX >= (int)STATION_NAME_MAX, "names of stations fit as well");

struct limit_inquiry {
    struct station *station;
    struct peer *peer;
    enum limit_command command;
};

// -- names: "station:NAME" in commands, "s:NAME" in the store

static const struct {
    const char *word, *kept;
} kinds[] = {{"station:", "s:"}, {"group:", "g:"}};

enum { KINDS = sizeof kinds / sizeof *kinds };

static bool begins_with (struct span text, const char *begin)
{
    return text.size > strlen (begin) && memcmp (text.data, begin, strlen (begin)) == 0;
}

static bool read_name (struct span text, char ret[KEPT_NAME_MAX + 1])
{
    for (size_t i = 0; i < KINDS; i++) {
        if (!begins_with (text, kinds[i].word))
            continue;
        size_t size = strlen (kinds[i].word);
        struct span name = span_of (text.data + size, text.size - size);
        if (name.size > KEPT_NAME_MAX - 2 || !station_name_valid (name))
            return false;
        snprintf (ret, KEPT_NAME_MAX + 1, "%s%.*s", kinds[i].kept, (int)name.size,
                  (const char *)name.data);
        return true;
    }
    return false;
}

static void add_limit (json_t *limits, struct span kept, const struct limit *limit,
                       const char *origin)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (!begins_with (kept, kinds[i].kept))
            continue;
        char name[sizeof "station:" + KEPT_NAME_MAX];
        json_t *rule = limit_rule_json (limit);
        json_object_set_new (rule, "origin", json_string (origin));
        snprintf (name, sizeof name, "%s%.*s", kinds[i].word, (int)kept.size - 2,
                  (const char *)kept.data + 2);
        json_object_set_new (limits, name, rule);
    }
}

// -- answers

// The limits that were set by command, and those of the settings for other targets, as far as
// `user` may see them.
static json_t *limits_json (struct station *self, const char *user,
                            const struct store_named *answer)
{
    json_t *limits = json_object ();
    struct span name, text;
    for (size_t i = 0; i < self->target_count; i++) {
        const struct target_settings *settings = target_settings (self->targets[i]);
        char kept[KEPT_NAME_MAX + 1];
        snprintf (kept, sizeof kept, "s:%s", settings->name);
        if (!limit_equal (&settings->limit, &(struct limit){0}) &&
            permits_station (self, user, span_text (settings->name)))
            add_limit (limits, span_text (kept), &settings->limit, "settings");
    }
    for (size_t i = 0; store_named_at (answer, i, &name, &text); i++) {
        struct limit limit = limit_read (text);
        if (name.size > 2 && name.size <= KEPT_NAME_MAX &&
            permits_station (self, user, span_of (name.data + 2, name.size - 2)))
            add_limit (limits, name, &limit, "set");
    }
    return json_pack ("{s:o}", "limits", limits);
}

static void on_limits (void *owner, const struct store_named *answer)
{
    struct limit_inquiry *self = owner;
    struct station *station = self->station;
    if (answer->result != STORE_DONE) {
        reply_refuse_store (station, self->peer, answer->result, answer->error);
    } else if (self->command == LIMIT_LIST) {
        manage_reply_json (station, self->peer, 0, limits_json (station, self->peer->user, answer));
    } else if (answer->count) {
        manage_reply (station, self->peer, 0, NULL);
        due_wake (station); // the limit may allow more runs now
    } else if (self->command == LIMIT_SET) {
        reply_refuse (station, self->peer, ZPLAN_EBUSY, "limit: quota exceeded: 1000 limits");
    } else {
        reply_refuse (station, self->peer, ZPLAN_ENOTFIND, "limit: no limit of this name is set");
    }
    free (self);
}

// -- subcommands

static int run_limit_command (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    enum limit_command command = (enum limit_command)request->number;
    const char *user = request->peer.user;
    struct limit limit = {0};
    char name[KEPT_NAME_MAX + 1] = "";
    int rc = 0;
    if (request->arg_count > 1 && !read_name (request->args[1], name))
        return reason_error (reason, ZPLAN_EARGUMENT,
                             "limit: want station:NAME or group:NAME, got %s",
                             quoted (request->args[1]));
    if (name[0] == 's')
        rc = permit_station (self, user, span_text (name + 2), reason);
    if (name[0] == 'g')
        rc = permit_named (self, user, "group", span_text (name + 2), reason);
    if (!rc && command == LIMIT_SET) {
        json_t *object = json_read_object (request->args[2], reason);
        if (!object || !limit_rule_read (object, &limit, reason))
            rc = ZPLAN_EARGUMENT;
        json_decref (object);
    }
    if (rc)
        return rc;
    struct limit_inquiry *inquiry = memory_new (sizeof *inquiry);
    *inquiry = (struct limit_inquiry){self, peer_keep (self, request), command};
    store_limits (self->store, command, name, &limit, on_limits, inquiry);
    return 0;
}

static const struct admin_subcommand subcommands[] = {
    {"list", 1, CURVE_ROLE_OBSERVE, run_limit_command, LIMIT_LIST},
    {"set", 3, CURVE_ROLE_MANAGE, run_limit_command, LIMIT_SET},
    {"remove", 2, CURVE_ROLE_MANAGE, run_limit_command, LIMIT_REMOVE},
};

int manage_limit (struct station *self, struct request *request)
{
    return manage_subcommand (
        self, request, subcommands, sizeof subcommands / sizeof *subcommands,
        "limit: want list, set station:NAME or group:NAME with a limit as JSON, or "
        "remove with such a name");
}
