#include "inquiry.h"

#include <stdlib.h>

#include "codes.h"
#include "json.h"
#include "memory.h"
#include "permit.h"
#include "plan_key.h"
#include "redis_keys.h"
#include "flow_book.h"

bool manage_plan_span (struct span text, char out[PLAN_TEXT_SIZE])
{
    uint64_t id;
    bool key = text.size > 4 && text.size < PLAN_TEXT_SIZE && memcmp (text.data, "key:", 4) == 0;
    if (!key && !ident_parse (text, &id))
        return false;
    memcpy (out, text.data, text.size);
    out[text.size] = '\0';
    return true;
}

bool manage_plan_text (const json_t *value, char out[PLAN_TEXT_SIZE])
{
    char id[IDENT_SIZE];
    if (json_is_integer (value) && json_integer_value (value) > 0)
        return manage_plan_span (span_text (ident_text ((uint64_t)json_integer_value (value), id)),
                                 out);
    return manage_plan_span (json_span (value), out);
}

// Read key:NAME. Names are separate per tenant: an access key that is bound to one target names its
// plans there by NAME, one bound to several uses TARGET/NAME.
static int read_key (const struct station *self, const char *user, struct span name,
                     struct plan_name *ret, struct reason *reason)
{
    struct span scope = {0};
    int rc;
    if (!permits_all_stations (self, user)) {
        scope = permit_sole_station (self, user);
        const uint8_t *slash = scope.size ? NULL : memchr (name.data, '/', name.size);
        if (slash) {
            scope = span_of (name.data, (size_t)(slash - name.data));
            name = span_of (slash + 1, name.size - scope.size - 1);
        }
        if (scope.size == 0 || scope.size > STATION_NAME_MAX)
            return reason_error (reason, ZPLAN_EARGUMENT,
                                 "id: this key is bound to several targets, want key:TARGET/NAME");
        if ((rc = permit_station (self, user, scope, reason)))
            return rc;
        memcpy (ret->station, scope.data, scope.size);
    }
    if (name.size == 0 || name.size > POLICY_TEXT_MAX)
        return reason_error (reason, ZPLAN_EARGUMENT,
                             "id: want a name of 1..%d bytes after key:", POLICY_TEXT_MAX);
    ret->id = plan_key_id (scope, name);
    snprintf (ret->name, sizeof ret->name, "%s", quoted (name));
    return 0;
}

int manage_plan_name (const struct station *self, struct request *request, struct span text,
                      struct plan_name *ret)
{
    struct reason *reason = &request->reason;
    struct span station;
    const char *user = request->peer.user;
    *ret = (struct plan_name){0};
    if (ident_parse (text, &ret->id))
        return 0;
    if (text.size >= 4 && memcmp (text.data, "key:", 4) == 0)
        return read_key (self, user, span_of (text.data + 4, text.size - 4), ret, reason);
    // MicroZero's monitor names a plan by its key at a center: msg:STATION:ID.
    char key[sizeof KEY_MESSAGE ":" + STATION_NAME_MAX + IDENT_SIZE];
    struct span given = text;
    if (text.size < sizeof key - 5 && text.size > 4 && memcmp (text.data, "msg:", 4) == 0)
        text = span_of (key, (size_t)snprintf (key, sizeof key, KEY_START "%.*s", (int)text.size,
                                               (const char *)text.data));
    if (message_key_parse (text, &station, &ret->id)) {
        memcpy (ret->station, station.data, station.size);
        return permit_station (self, user, station, reason);
    }
    return reason_error (reason, ZPLAN_EARGUMENT,
                         "id: want 1..16 hex digits, key:NAME or plan:msg:STATION:ID, got %s",
                         quoted (given));
}

int inquiry_new (struct station *self, struct request *request, struct inquiry **ret)
{
    struct plan_name plan;
    int rc = manage_plan_name (self, request, request->args[0], &plan);
    if (rc)
        return rc;
    *ret = inquiry_of_station (self, request);
    (*ret)->plan = plan;
    return 0;
}

int inquiry_read (struct station *self, struct request *request, read_fn *ask)
{
    struct inquiry *inquiry;
    int rc = inquiry_new (self, request, &inquiry);
    if (!rc)
        reads_start (self, inquiry->peer, ask, inquiry);
    return rc;
}

struct inquiry *inquiry_of_station (struct station *self, struct request *request)
{
    struct inquiry *inquiry = memory_new (sizeof *inquiry);
    *inquiry = (struct inquiry){.station = self, .peer = peer_keep (self, request)};
    return inquiry;
}

enum store_result inquiry_check (const struct inquiry *inquiry, const struct store_loaded *answer)
{
    if (answer->result != STORE_DONE)
        return answer->result;
    const char *station = inquiry->plan.station;
    bool same = !station[0] || span_is (answer->station, station);
    return same && permits_plan (inquiry->station, inquiry->peer->user, answer->station,
                                 answer->message)
               ? STORE_DONE
               : STORE_NONE;
}

void inquiry_refuse (struct inquiry *inquiry, enum store_result result, const char *error)
{
    char id[IDENT_SIZE];
    if (result == STORE_NONE) {
        reply_refuse_format (inquiry->station, inquiry->peer, ZPLAN_ENOTFIND, "no plan %s",
                             *inquiry->plan.name ? inquiry->plan.name
                                                 : ident_text (inquiry->plan.id, id));
    } else if (result != STORE_DONE) {
        reply_refuse_store (inquiry->station, inquiry->peer, result, error);
    }
}

void inquiry_end (struct inquiry *inquiry, enum store_result result, const char *error)
{
    inquiry_refuse (inquiry, result, error);
    free (inquiry);
}

bool manage_reply (struct station *self, struct peer *peer, uint64_t plan_id, const char *json)
{
    return reply_send (
        self, peer,
        &(struct reply){
            .status = ZERO_STATUS_OK_ID, .reason = "", .plan_id = plan_id, .json = json});
}

bool manage_reply_json (struct station *self, struct peer *peer, uint64_t plan_id, json_t *object)
{
    char *json = object ? json_write (object) : NULL;
    bool sent = manage_reply (self, peer, plan_id, json);
    free (json);
    json_decref (object);
    return sent;
}

int manage_subcommand (struct station *self, struct request *request,
                       const struct admin_subcommand *rows, size_t count, const char *usage)
{
    for (size_t i = 0; i < count; i++) {
        if (!span_is (request->args[0], rows[i].name) || request->arg_count != rows[i].args)
            continue;
        int rc = permit_roles (self, request->peer.user, rows[i].roles, &request->reason);
        request->number = rows[i].number;
        return rc ? rc : rows[i].run (self, request);
    }
    return reason_error (&request->reason, ZPLAN_EARGUMENT, "%s", usage);
}

// -- unknown targets

struct known_names {
    const struct station *station;
    const char *user;
    struct reason *reason;
    size_t used, count, shown;
};

static void append_name (struct known_names *self, const char *name)
{
    enum { REST_SIZE = 24 }; // room for ", and N more"
    if (!permits_station (self->station, self->user, span_text (name)))
        return;
    self->count++;
    if (self->shown + 1 < self->count || self->used + strlen (name) + REST_SIZE > REASON_MAX)
        return;
    self->used += (size_t)snprintf (self->reason->text + self->used, REASON_MAX - self->used,
                                    "%s%s", self->shown ? ", " : "; known: ", name);
    self->shown++;
}

// Append "; known: jobs, mail": as many targets and flows as fit, then the number of the others.
static void append_known_targets (const struct station *self, const char *user,
                                  struct reason *reason)
{
    const struct flow_names *flows = &self->flows->names;
    struct known_names known_names = {self, user, reason, strlen (reason->text), 0, 0};
    for (size_t i = 0; i < self->target_count; i++)
        append_name (&known_names, target_name (self->targets[i]));
    for (size_t i = 0; i < flows->count; i++)
        if (flow_book_has (self, span_text (flows->entries[i].name)))
            append_name (&known_names, flows->entries[i].name);
    if (known_names.shown < known_names.count)
        snprintf (reason->text + known_names.used, REASON_MAX - known_names.used,
                  known_names.shown ? " and %zu more" : "; known: %zu",
                  known_names.count - known_names.shown);
}

int target_not_found (const struct station *self, const char *user, const char *field,
                      struct span name, struct reason *reason)
{
    if (!self->targets_read)
        return reason_error (reason, ZPLAN_ENET,
                             "%s: the targets have not been read from Redis yet", field);
    reason_set (reason, "%s: no target %s", field, quoted (name));
    append_known_targets (self, user, reason);
    return ZPLAN_ENOTFIND;
}
