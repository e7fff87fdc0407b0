// restore: import data of another station unchanged: plans with their states and counts, outcomes
// with their original times. Each step may be repeated: an existing plan is not changed. Outcomes
// have no ids that two stations share, so the client must skip existing ones.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "apply.h"
#include "codes.h"
#include "callback_rule.h"
#include "json.h"
#include "manage_private.h"
#include "memory.h"
#include "output.h"
#include "permit.h"
#include "plan_json.h"
#include "publish.h"
#include "reads.h"
#include "submit.h"
#include "zones.h"

// -- the text: the arguments after the first, joined, as a plan may be larger than a frame

static char *join_arguments (const struct request *request, size_t *ret_size)
{
    size_t size = 0;
    for (size_t i = 1; i < request->arg_count; i++)
        size += request->args[i].size;
    char *text = memory_new (size + 1);
    *ret_size = 0;
    for (size_t i = 1; i < request->arg_count; i++)
        *ret_size = span_put (text, *ret_size, request->args[i]);
    return text;
}

// -- plan

struct plan_restore {
    struct station *station;
    struct peer *peer;
    struct plan *plan;
};

static void plan_restore_end (struct plan_restore *self)
{
    plan_destroy (&self->plan);
    free (self);
}

// Reset the run of the plan: one that was in progress at the other station restarts here.
static void reset_restored_run (struct plan *plan)
{
    if (plan->state == PLAN_EXECUTE || plan->state == PLAN_NONE || plan->state == PLAN_SKIP)
        plan->state = plan->error_count || plan->tries ? PLAN_RETRY : PLAN_QUEUE;
    if (!plan_is_queued (plan))
        plan->extra = PLAN_NONE;
    plan->poll = 0;
    plan->revision = station_revision ();
}

// Check the plan by the rules of a submission. 0, or the error with its reason.
static int check_plan (struct station *self, const char *user, const struct plan *plan,
                       struct reason *reason)
{
    struct reason why;
    const struct target *target = station_target (self, plan->station);
    int rc = station_is_callbacks (self, plan->station)
                 ? permit_callback_denied (reason)
                 : manage_check_messages (self, user, plan, reason);
    if (!rc && !target)
        rc = submit_check_flow (plan->vote.need, plan->policy, reason);
    else if (!rc && (plan->vote.need != VOTE_NONE) != (target_type (target) == TARGET_VOTE))
        rc = reason_error (reason, ZPLAN_EPLAN,
                           "vote: is for plans of vote targets, and they need it; %s is of type %s",
                           target_name (target), target_type_name (target_type (target)));
    if (!rc)
        rc = submit_check_policy (target, plan->policy, reason);
    if (!rc)
        rc = callback_check (self, user, plan->policy, reason);
    if (!rc && plan->policy && plan->policy->callback &&
        !callback_rule_check (NULL, plan->policy->callback, &why)) { // reading skips this check
        rc = reason_error (reason, ZPLAN_EPLAN, "callback: %s", why.text);
    }
    if (!rc && plan->step.size) { // its end would be taken as that of a step of an unrelated run
        rc = reason_error (reason, ZPLAN_EPLAN, "step: a call of a flow's step is not restored");
    }
    if (!rc && !zones_find (self, plan->policy, reason))
        rc = ZPLAN_EPLAN;
    return rc;
}

// Read the plan, which the caller owns. NULL: invalid, with the reason.
static struct plan *read_plan (struct span text, struct reason *reason)
{
    int64_t id = 0;
    json_t *object = json_read_object (text, reason);
    bool good = object != NULL;
    if (good && !json_get_integer (object, "plan_id", 1, INT64_MAX, &id)) {
        reason_set (reason, "plan_id: want an integer, 1..%" PRId64, INT64_MAX);
        good = false;
    }
    json_decref (object);
    return good ? plan_from_stored_json ((uint64_t)id, text, reason) : NULL;
}

// When the plan is due, Unix seconds. A time in the past makes it late, as after a downtime of the
// station.
static int64_t due_time_s (const struct station *self, const struct plan *plan)
{
    if (plan->extra)
        return station_now (self);
    return plan->state == PLAN_RETRY ? engine_retry_time (plan) : plan_due_time (plan);
}

static void on_existing_plan (void *owner, const struct store_loaded *answer)
{
    struct plan_restore *self = owner;
    char id[IDENT_SIZE];
    struct reason reason;
    struct plan *stored = NULL;
    if (answer->result == STORE_DONE)
        stored = plan_from_stored_json (self->plan->id, answer->message, &reason);
    if (stored && submit_repeats (self->plan, stored))
        manage_reply (self->station, self->peer, self->plan->id, "{\"restored\":0}");
    else if (answer->result == STORE_DONE || answer->result == STORE_NONE)
        reply_refuse_format (self->station, self->peer, ZPLAN_EPLAN,
                             "plan_id: %s is in use by another plan",
                             ident_text (self->plan->id, id));
    else
        reply_refuse_store (self->station, self->peer, answer->result, answer->error);
    plan_destroy (&stored);
    plan_restore_end (self);
}

static void on_plan_stored (void *owner, enum store_result result, const char *error)
{
    struct plan_restore *self = owner;
    struct station *station = self->station;
    if (result == STORE_HELD) {
        reads_load (station, self->peer, self->plan->id, on_existing_plan, self);
        return;
    }
    if (result == STORE_DONE)
        manage_reply (station, self->peer, self->plan->id, "{\"restored\":1}");
    else
        reply_refuse_store (station, self->peer, result, error);
    if (result == STORE_DONE || result == STORE_UNSURE)
        publish_added (station, self->plan);
    plan_restore_end (self);
}

static int restore_plan (struct station *self, struct request *request, struct span text)
{
    struct reason *reason = &request->reason;
    const char *user = request->peer.user;
    struct plan *plan = read_plan (text, reason);
    int rc = plan ? permit_station (self, user, plan->station, reason) : ZPLAN_EPLAN;
    if (rc || (rc = check_plan (self, user, plan, reason))) {
        plan_destroy (&plan);
        return rc;
    }
    reset_restored_run (plan);
    struct plan_restore *restoring = memory_new (sizeof *restoring);
    *restoring = (struct plan_restore){self, peer_keep (self, request), plan};
    store_submit (self->store,
                  &(struct store_submission){.plan = plan, .due = due_time_s (self, plan)},
                  on_plan_stored, restoring);
    return 0;
}

// -- history

enum { OUTCOMES_MAX = 1000, WHY_MAX = 32 };

// The outcomes of a request, while they are parsed and stored.
struct outcomes_restore {
    struct station *station;
    struct peer *peer;
    uint8_t *bytes; // decoded frames of the outcome being read
    size_t count;
    struct store_restored_outcome at[OUTCOMES_MAX];
};

static void outcomes_destroy (struct outcomes_restore *self)
{
    for (size_t i = 0; i < OUTCOMES_MAX; i++) { // including one that was read in part
        free ((void *)(uintptr_t)self->at[i].record.data);
        free ((void *)(uintptr_t)self->at[i].output.data);
    }
    free (self->bytes);
    free (self);
}

// Decode a text or bytes of the run to *room, and advance *room.
static bool read_frame (const json_t *run, const char *name, uint8_t **room, struct span *ret,
                        struct reason *reason)
{
    size_t size = 0;
    const json_t *value = json_object_get (run, name);
    if (value && !json_to_frame (value, *room, &size))
        return reason_reject (reason, "%s: want a string, or {\"b64\": ...}", name);
    *ret = span_of (*room, size);
    *room += size;
    return true;
}

static bool read_number (const json_t *run, const char *name, int64_t max, int64_t *ret,
                         struct reason *reason)
{
    *ret = 0;
    if (!json_object_get (run, name) || json_get_integer (run, name, 0, max, ret))
        return true;
    return reason_reject (reason, "%s: want an integer, 0..%" PRId64, name, max);
}

// Read the plan and target of the run, and when it ended.
static bool read_plan_and_end (const json_t *run, struct store_restored_outcome *ret,
                               struct reason *reason)
{
    const char *plan = json_string_value (json_object_get (run, "plan"));
    const char *station = json_string_value (json_object_get (run, "station"));
    double ended = json_number_value (json_object_get (run, "ended"));
    if (!plan || !ident_parse (span_text (plan), &ret->plan_id))
        return reason_reject (reason, "plan: want a hex id");
    if (!station || !station_name_valid (span_text (station)))
        return reason_reject (reason, "station: want a target's name");
    if (!json_is_number (json_object_get (run, "ended")) || !(ended >= 0) ||
        ended > (double)SCHEDULE_TIME_MAX)
        return reason_reject (reason, "ended: want Unix seconds");
    memcpy (ret->station, station, strlen (station) + 1);
    ret->ended_ms = llround (ended * 1000);
    return true;
}

// Read the output of the run, if given.
static bool read_output (const json_t *run, uint64_t exec_id, struct store_restored_outcome *ret,
                         struct reason *reason)
{
    size_t size;
    const json_t *output = json_object_get (run, "output");
    if (!output)
        return true;
    char *packed =
        output_from_json (span_text (ret->station), ret->plan_id, exec_id, output, &size);
    ret->output = packed ? span_of (packed, size) : (struct span){0};
    if (!packed)
        reason_set (reason, "output: want size, head and, if it is cut, tail");
    return packed;
}

static bool read_run (struct outcomes_restore *self, const json_t *run, struct reason *reason)
{
    struct store_restored_outcome *outcome = &self->at[self->count];
    struct outcome_record record = {0};
    int64_t status, state, exec_id, size, flow_run;
    char why[WHY_MAX + 1];
    uint8_t *room = self->bytes;
    struct span missed_why;
    if (!read_plan_and_end (run, outcome, reason) ||
        !read_number (run, "nominal", SCHEDULE_TIME_MAX, &record.nominal, reason) ||
        !read_number (run, "status", UINT8_MAX, &status, reason) ||
        !read_number (run, "state", PLAN_STATES - 1, &state, reason) ||
        !read_number (run, "exec_id", INT64_MAX, &exec_id, reason) ||
        !read_number (run, "size", INT64_MAX / 4, &size, reason) ||
        !read_number (run, "missed", INT64_MAX / 4, &record.missed.count, reason) ||
        !read_number (run, "missed_first", SCHEDULE_TIME_MAX, &record.missed.first, reason) ||
        !read_number (run, "missed_last", SCHEDULE_TIME_MAX, &record.missed.last, reason) ||
        !read_frame (run, "title", &room, &record.title, reason) ||
        !read_frame (run, "key", &room, &record.key, reason) ||
        !read_frame (run, "worker", &room, &record.worker, reason) ||
        !read_frame (run, "reason", &room, &record.reason, reason) ||
        !read_frame (run, "missed_why", &room, &missed_why, reason) ||
        !read_number (run, "flow_run", INT64_MAX, &flow_run, reason) ||
        !read_frame (run, "step", &room, &record.step, reason) ||
        !read_frame (run, "trace", &room, &record.trace, reason) ||
        !read_output (run, (uint64_t)exec_id, outcome, reason))
        return false;
    if (record.key.size > POLICY_TEXT_MAX || json_is_object (json_object_get (run, "key")))
        return reason_reject (reason, "key: want a string of at most %d bytes", POLICY_TEXT_MAX);
    if (record.trace.size && !trace_valid (record.trace))
        return reason_reject (reason, "trace: want a traceparent of version 00");
    if (missed_why.size > WHY_MAX)
        return reason_reject (reason, "missed_why: at most %d bytes", WHY_MAX);
    memcpy (why, missed_why.data, missed_why.size);
    why[missed_why.size] = '\0';
    record.missed_why = why;
    record.status = (uint8_t)status;
    record.state = (enum plan_state)state;
    record.exec_id = (uint64_t)exec_id;
    record.size = (size_t)size;
    record.flow_run = (uint64_t)flow_run;
    record.undo = json_is_true (json_object_get (run, "undo"));
    size_t packed;
    char *text = store_record (&record, &packed);
    outcome->record = span_of (text, packed);
    self->count++;
    return true;
}

// 0, or the error with its reason.
static int read_runs (struct outcomes_restore *self, const json_t *object, const char *user,
                      struct reason *reason)
{
    size_t i;
    const json_t *run, *runs = json_object_get (object, "runs");
    if (!json_is_array (runs) || json_array_size (runs) > OUTCOMES_MAX)
        return reason_error (reason, ZPLAN_EARGUMENT, "runs: want an array of at most %d outcomes",
                             OUTCOMES_MAX);
    json_array_foreach (runs, i, run)
    {
        struct reason why;
        if (!read_run (self, run, &why))
            return reason_error (reason, ZPLAN_EARGUMENT, "runs: number %zu: %s", i + 1, why.text);
        if (permits_station (self->station, user, span_text (self->at[i].station)))
            continue;
        return reason_error (reason, ZPLAN_EDENY,
                             "runs: number %zu: the key may not touch plans of '%s'", i + 1,
                             self->at[i].station);
    }
    return 0;
}

static void on_outcomes_stored (void *owner, enum store_result result, const char *error)
{
    struct outcomes_restore *self = owner;
    if (result == STORE_DONE)
        manage_reply_json (self->station, self->peer, 0,
                           json_pack ("{s:I}", "restored", (json_int_t)self->count));
    else
        reply_refuse_store (self->station, self->peer, result, error);
    outcomes_destroy (self);
}

static int restore_outcomes (struct station *self, struct request *request, struct span text)
{
    struct reason *reason = &request->reason;
    struct outcomes_restore *outcomes = memory_new (sizeof *outcomes);
    outcomes->station = self;
    outcomes->bytes = memory_new (text.size + 1);
    json_t *object = json_read_object (text, reason);
    int rc = object ? read_runs (outcomes, object, request->peer.user, reason) : ZPLAN_EARGUMENT;
    json_decref (object);
    if (rc) {
        outcomes_destroy (outcomes);
        return rc;
    }
    outcomes->peer = peer_keep (self, request);
    store_restore (self->store, outcomes->at, outcomes->count, on_outcomes_stored, outcomes);
    return 0;
}

int manage_restore (struct station *self, struct request *request)
{
    size_t size;
    bool plan = span_is (request->args[0], "plan");
    if (!plan && !span_is (request->args[0], "history"))
        return reason_error (&request->reason, ZPLAN_EARGUMENT, "restore: want plan or history");
    char *text = join_arguments (request, &size);
    int rc = plan ? restore_plan (self, request, span_of (text, size))
                  : restore_outcomes (self, request, span_of (text, size));
    free (text);
    return rc;
}
