// history: the outcomes of runs, including those of plans that have ended.
#include <inttypes.h>
#include <stdlib.h>

#include "callback_book.h"
#include "codes.h"
#include "json.h"
#include "manage_private.h"
#include "memory.h"
#include "permit.h"
#include "reads.h"

enum { RUNS_DEFAULT = 100, RUNS_MAX = 1000, OUTPUTS_MAX = 50, EPOCH_MAX = 32, STATUSES = 256 };

struct history_question {
    struct history_filter store; // its station points to `station`
    char station[STATION_NAME_MAX + 1];
    char epoch[EPOCH_MAX + 1]; // the epoch of `since`, "" = the current one
    char plan[PLAN_TEXT_SIZE]; // as the requester named it; "" = any
    bool after_given;
    int64_t since;               // -1 = not given
    char statuses[STATUSES + 1]; // one for each status, '1' = wanted; for the store
};

struct history_request {
    struct station *station;
    struct peer *peer;
    struct history_question question;
    json_t *answer; // owned while the states of callbacks are read
};

// -- the filter

static bool read_plan (void *out, const json_t *value)
{
    return manage_plan_text (value, out);
}

static bool read_after (void *filter, const json_t *value)
{
    struct history_question *self = filter;
    self->store.from_end = false;
    self->after_given = true;
    return json_is_string (value) && history_entry_parse (span_text (json_string_value (value)),
                                                          &self->store.seq, &self->store.sub);
}

// Classes of outcomes: the first row whose range contains a status applies. Source: proto 9.4.
static const struct outcome_class {
    const char *word;
    int from, to;
} outcome_classes[] = {
    {"ok", 0, ZERO_STATUS_ERROR_FLAG - 1},
    {"timeout", ZERO_STATUS_TIMEOUT_ID, ZERO_STATUS_TIMEOUT_ID},
    {"not_taken", ZERO_STATUS_NOT_WORKER_ID, ZERO_STATUS_NOT_WORKER_ID},
    {"cancelled", ZERO_STATUS_CANCELLED_ID, ZERO_STATUS_CANCELLED_ID},
    {"missed", ZERO_STATUS_MISSED_ID, ZERO_STATUS_MISSED_ID},
    {"failed", ZERO_STATUS_ERROR_FLAG, STATUSES - 1},
};

static const struct outcome_class *class_of_status (int status)
{
    const struct outcome_class *ending = outcome_classes;
    while (status < ending->from || status > ending->to)
        ending++;
    return ending;
}

static bool add_status (struct history_question *self, const json_t *value)
{
    bool any = false;
    const char *word = json_string_value (value);
    for (int status = 0; status < STATUSES; status++) {
        bool wanted = word ? strcmp (class_of_status (status)->word, word) == 0
                           : json_is_integer (value) && json_integer_value (value) == status;
        self->statuses[status] = wanted ? '1' : self->statuses[status];
        any = any || wanted;
    }
    return any;
}

static bool read_status (void *filter, const json_t *value)
{
    struct history_question *self = filter;
    bool good = !json_is_array (value) || json_array_size (value) > 0;
    memset (self->statuses, '0', STATUSES);
    for (size_t i = 0; good && i < json_array_size (value); i++)
        good = add_status (self, json_array_get (value, i));
    return good && (json_is_array (value) || add_status (self, value));
}

static bool read_ms (void *ms, const json_t *value)
{
    int64_t *ret = ms;
    double seconds = json_number_value (value);
    if (!json_is_number (value) || !(seconds > 0 && seconds < (double)SCHEDULE_TIME_MAX))
        return false;
    *ret = (int64_t)(seconds * 1000 + 0.5);
    return true;
}

#define FIELD(name) offsetof (struct history_question, name)

static const struct json_field fields[] = {
    {"plan", AS_OWN, FIELD (plan),
     .rule = "want the plan's id as an integer or in hex, or key:NAME", .read = read_plan},
    {"since", AS_NUMBER, FIELD (since), 0, INT64_MAX, "want the seq of a broadcast, 0 or above"},
    {"epoch", AS_TEXT, FIELD (epoch), 0, EPOCH_MAX, "want the epoch of that broadcast"},
    {"after", .rule = "want the next of the previous page", .read = read_after},
    {"station", AS_TEXT, FIELD (station), 0, STATION_NAME_MAX, "want a target's name"},
    {"limit", AS_NUMBER, FIELD (store.limit), 1, RUNS_MAX},
    {"newest", AS_FLAG, FIELD (store.newest)},
    {"output", AS_FLAG, FIELD (store.output)},
    {"flow_run", AS_IDENT, FIELD (store.flow_run),
     .rule = "want the number of a run as an integer or in hex"},
    {"status",
     .rule =
         "want ok, failed, timeout, not_taken, cancelled, missed, a number 0..255, or an array of "
         "them",
     .read = read_status},
    {"from", AS_OWN, FIELD (store.from_ms), .rule = "want Unix seconds", .read = read_ms},
    {"to", AS_OWN, FIELD (store.to_ms), .rule = "want Unix seconds", .read = read_ms},
};

// history [ID], history FILTER, history since SEQ
static bool read_question (const struct request *request, struct history_question *ret,
                           struct reason *reason)
{
    *ret =
        (struct history_question){.store = {.from_end = true, .limit = RUNS_DEFAULT}, .since = -1};
    struct span first = request->arg_count ? request->args[0] : (struct span){0};
    if (request->arg_count == 2) {
        if (span_is (first, "since") &&
            argument_number (request->args[1], 0, INT64_MAX, &ret->since))
            return true;
        return reason_reject (reason, "want since SEQ, the seq of a broadcast, 0 or above");
    }
    struct span station;
    if (first.size == 0 || manage_plan_span (first, ret->plan))
        return true;
    if (message_key_parse (first, &station, &ret->store.plan_id)) {
        memcpy (ret->station, station.data, station.size);
        return true;
    }
    bool good = json_fields_parse (first, fields, sizeof fields / sizeof *fields, ret, reason);
    if (good && ret->store.newest && ret->since >= 0)
        return reason_reject (reason, "newest: since starts at the oldest; give only one of them");
    return good;
}

// -- the answer

// Whether the requester has missed outcomes: some after `since` were removed, or `since` is of
// obsolete sequence numbers.
static bool has_missed_outcomes (const struct history_question *question,
                                 const struct store_history *answer)
{
    if (question->since < 0)
        return false;
    bool same = !question->epoch[0] || span_is (answer->epoch, question->epoch);
    if (!same || question->since > answer->seq)
        return true;
    // If the sequence numbers restarted, earlier removals do not matter.
    if (answer->forgot <= answer->seq && question->since < answer->forgot)
        return true;
    if (answer->first_seq == 0 && answer->first_sub == 0)
        return answer->seq > question->since;
    // The first entry may be an outcome that was not broadcast, after a removed one.
    uint64_t first = answer->first_sub ? answer->first_seq + 1 : answer->first_seq;
    return (uint64_t)question->since + 1 < first;
}

static json_t *answer_json (const struct history_request *history_request,
                            const struct store_history *answer)
{
    const struct history_question *question = &history_request->question;
    const struct station *self = history_request->station;
    const char *user = history_request->peer->user;
    json_t *runs = json_array ();
    for (size_t i = 0; i < answer->count; i++) {
        json_t *run = store_history_at (answer, i);
        if (run && question->store.callbacks) // it was never published
            json_object_set_new (run, "seq", json_integer (0));
        const char *station = json_string_value (json_object_get (run, "station"));
        if (run && (permits_all_stations (self, user) ||
                    (station && permits_station (self, user, span_text (station)))))
            json_array_append (runs, run);
        json_decref (run);
    }
    return json_pack ("{s:o, s:o*, s:I, s:I, s:o, s:b}", "runs", runs, "next",
                      answer->next.size ? json_from_frame (answer->next) : NULL, "first",
                      (json_int_t)answer->first_seq, "last", (json_int_t)answer->seq, "epoch",
                      json_from_frame (answer->epoch), "missed",
                      has_missed_outcomes (question, answer));
}

static void reply_history (void *owner)
{
    struct history_request *history_request = owner;
    // Times are seconds with milliseconds: 13 digits suffice until the year 2286.
    char *json = json_dumps (history_request->answer, JSON_COMPACT | JSON_REAL_PRECISION (13));
    manage_reply (history_request->station, history_request->peer,
                  history_request->question.store.plan_id, json);
    free (json);
    json_decref (history_request->answer);
    free (history_request);
}

static void read_history (void *owner);

static void on_history (void *owner, const struct store_history *answer)
{
    struct history_request *history_request = owner;
    struct station *self = history_request->station;
    struct history_question *question = &history_request->question;
    bool other_epoch = question->since >= 0 && question->epoch[0] && answer->result == STORE_DONE &&
                       !span_is (answer->epoch, question->epoch);
    // Sequence numbers of another epoch are meaningless: return all that is stored.
    if (other_epoch && !question->store.from_end && !question->after_given) {
        question->store.from_end = true;
        read_history (history_request);
        link_flush (store_link (self->store));
        return;
    }
    if (answer->result == STORE_DONE) {
        history_request->answer = answer_json (history_request, answer);
        callback_states (self, json_object_get (history_request->answer, "runs"), reply_history,
                         history_request);
        link_flush (store_link (self->store));
        return;
    }
    reply_refuse_store (self, history_request->peer, answer->result, answer->error);
    free (history_request);
}

static void read_history (void *owner)
{
    struct history_request *history_request = owner;
    store_history (history_request->station->store, &history_request->question.store, on_history,
                   history_request);
}

int manage_history (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    struct history_question question;
    struct plan_name named = {0};
    int rc = read_question (request, &question, reason) ? 0 : ZPLAN_EARGUMENT;
    if (!rc && question.plan[0])
        rc = manage_plan_name (self, request, span_text (question.plan), &named);
    if (!rc && question.station[0])
        rc = permit_station (self, request->peer.user, span_text (question.station), reason);
    if (rc)
        return rc;
    struct history_request *history_request = memory_new (sizeof *history_request);
    *history_request = (struct history_request){self, peer_keep (self, request), question, NULL};
    struct history_filter *store = &history_request->question.store;
    if (question.plan[0])
        store->plan_id = named.id;
    store->callbacks = station_is_callbacks (self, span_text (question.station));
    store->station = history_request->question.station;
    store->statuses = history_request->question.statuses;
    if (store->output && store->limit > OUTPUTS_MAX)
        store->limit = OUTPUTS_MAX;
    // Outcomes that were not broadcast are stored after the broadcast before them.
    if (store->from_end && question.since > 0) {
        store->from_end = false;
        store->seq = (uint64_t)question.since;
    }
    reads_start (self, history_request->peer, read_history, history_request);
    return 0;
}

// -- forget

enum { ENTRIES_MAX = 1000, ENTRY_TEXT_MAX = 64 };

struct forget_request {
    struct station *station;
    struct peer *peer;
    char epoch[EPOCH_MAX + 1];
    char station_name[STATION_NAME_MAX + 1]; // station of the outcomes; "" = any
    bool epoch_given;
    char *entries; // as text for store_forget; NULL: not given
    size_t size;
};

static bool read_forget_epoch (void *filter, const json_t *value)
{
    struct forget_request *self = filter;
    self->epoch_given = true;
    return copy_json_text (value, self->epoch, sizeof self->epoch);
}

// Parse SEQ-SUB or SEQ-SUB:T; neither can contain NULs.
static bool read_entry (struct forget_request *self, struct span text)
{
    uint64_t seq, sub;
    int64_t time = 0;
    const uint8_t *colon = text.size ? memchr (text.data, ':', text.size) : NULL;
    struct span name = span_of (text.data, colon ? (size_t)(colon - text.data) : text.size);
    struct span rest = colon ? span_of (colon + 1, text.size - name.size - 1) : (struct span){0};
    if (!history_entry_parse (name, &seq, &sub) ||
        (colon && !argument_number (rest, 0, INT64_MAX, &time)))
        return false;
    char *out = self->entries + self->size, when[24] = "";
    if (colon)
        snprintf (when, sizeof when, ":%" PRId64, time);
    self->size +=
        (size_t)snprintf (out, ENTRY_TEXT_MAX, "%" PRIu64 "-%" PRIu64 "%s ", seq, sub, when);
    return true;
}

static bool read_entries (void *filter, const json_t *value)
{
    struct forget_request *self = filter;
    size_t count = json_array_size (value);
    if (!json_is_array (value) || count > ENTRIES_MAX)
        return false;
    self->entries = memory_new (count * ENTRY_TEXT_MAX + 1);
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get (value, i);
        if (!json_is_string (entry) || !read_entry (self, json_span (entry)))
            return false;
    }
    return true;
}

static const struct json_field forget_fields[] = {
    {"epoch", .rule = "want the epoch of the entries", .read = read_forget_epoch},
    {"station", AS_TEXT, offsetof (struct forget_request, station_name), 1, STATION_NAME_MAX,
     "want a target's name"},
    {"entries", .rule = "want an array of at most 1000 entries, SEQ-SUB or SEQ-SUB:ENDED_MS",
     .read = read_entries},
};

static bool read_forgetting (struct span text, struct forget_request *ret, struct reason *reason)
{
    bool good = json_fields_parse (text, forget_fields,
                                   sizeof forget_fields / sizeof *forget_fields, ret, reason);
    if (good && (!ret->epoch_given || !ret->entries))
        return reason_reject (reason, "%s: is missing", ret->epoch_given ? "entries" : "epoch");
    return good;
}

static void forgetting_destroy (struct forget_request *self)
{
    free (self->entries);
    free (self);
}

static void on_forgot (void *owner, const struct store_forgot *answer)
{
    struct forget_request *forgetting = owner;
    struct station *self = forgetting->station;
    if (answer->result == STORE_DONE) {
        self->counters.forgotten += (uint64_t)answer->count;
        manage_reply_json (self, forgetting->peer, 0,
                           json_pack ("{s:I}", "forgotten", (json_int_t)answer->count));
    } else if (answer->result == STORE_CHANGED) {
        reply_refuse_format (self, forgetting->peer, ZPLAN_EARGUMENT, "epoch: is %s now, not %s",
                             quoted (answer->epoch), quoted (span_text (forgetting->epoch)));
    } else {
        reply_refuse_store (self, forgetting->peer, answer->result, answer->error);
    }
    forgetting_destroy (forgetting);
}

// Check that the key may forget outcomes of this station, "" = of all. A key that is bound to
// targets must name one of them. 0, or the error with its reason.
static int check_may_forget (const struct station *self, const char *user, const char *station_name,
                             struct reason *reason)
{
    if (station_name[0])
        return permit_station (self, user, span_text (station_name), reason);
    if (permits_all_stations (self, user))
        return 0;
    return reason_error (reason, ZPLAN_EDENY,
                         "station: the key is bound to targets, name one of them");
}

int manage_forget (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    struct forget_request *forgetting = memory_new (sizeof *forgetting);
    int rc = ZPLAN_EARGUMENT;
    if (read_forgetting (request->args[0], forgetting, reason))
        rc = check_may_forget (self, request->peer.user, forgetting->station_name, reason);
    if (rc) {
        forgetting_destroy (forgetting);
        return rc;
    }
    forgetting->station = self;
    forgetting->peer = peer_keep (self, request);
    store_forget (self->store, forgetting->epoch, forgetting->station_name,
                  span_of (forgetting->entries, forgetting->size), on_forgot, forgetting);
    return 0;
}
