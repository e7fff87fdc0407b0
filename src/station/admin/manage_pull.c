// take, alive, report: the commands of workers that fetch plans (pull.h).
#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "manage_private.h"
#include "memory.h"
#include "permit.h"
#include "plan_json.h"
#include "process.h"
#include "pull.h"
#include "reads.h"
#include "targets.h"

enum {
    LIMIT_MAX = 100,
    WAIT_MAX_S = 60,
    PROGRESS_BYTES = 256,
    REASON_BYTES = 512,
    RESULT_BYTES = 65536
};

#define WORKER_RULE "want 1..64 of A-Z a-z 0-9 _ . : @ -"

static bool read_worker (void *out, const json_t *value)
{
    return worker_name_valid (json_span (value)) &&
           copy_json_text (value, out, WORKER_NAME_MAX + 1);
}

// -- take

static bool read_take_station (void *filter, const json_t *value)
{
    struct take *self = filter;
    return copy_json_text (value, self->name, sizeof self->name) &&
           station_name_valid (span_text (self->name));
}

static bool read_take_wait (void *filter, const json_t *value)
{
    struct take *self = filter;
    double seconds = json_number_value (value);
    bool good = json_is_number (value) && seconds >= 0 && seconds <= WAIT_MAX_S;
    self->until_us = good && seconds > 0 ? clock_mono_us () + (int64_t)(seconds * 1000000) : 0;
    return good;
}

// Add a member that a plan must have, written as in the stored text.
static bool add_member (struct take *self, const char *name, const json_t *value)
{
    return self->member_count < TAKE_MEMBERS &&
           stored_member_text (name, value, self->members[self->member_count++], TAKE_MEMBER_SIZE);
}

static bool is_short_text_or_integer (const json_t *value)
{
    return json_is_integer (value) ||
           (json_is_string (value) && json_string_length (value) <= POLICY_TEXT_MAX);
}

MEMBER_READER (tenant, is_short_text_or_integer)
MEMBER_READER (category, is_short_text_or_integer)
MEMBER_READER (creator, is_short_text_or_integer)
MEMBER_READER (kind, is_short_text_or_integer)

static const struct json_field take_fields[] = {
    {"station", .rule = "want the name of a pull target", .read = read_take_station},
    {"worker", AS_OWN, offsetof (struct take, worker), .rule = WORKER_RULE, .read = read_worker},
    {"limit", AS_NUMBER, offsetof (struct take, limit), 0, LIMIT_MAX},
    {"wait", .rule = "want seconds, 0..60", .read = read_take_wait},
    {"tenant", .rule = "want an integer, or a string of at most 256 bytes", .read = read_tenant},
    {"category", .rule = "want a string of at most 256 bytes", .read = read_category},
    {"creator", .rule = "want an integer, or a string of at most 256 bytes", .read = read_creator},
    {"kind", .rule = "want the name of a kind", .read = read_kind},
};

// Check whether the take is allowed. 0, or the error with its reason.
static int check_take (struct station *self, const struct request *request, const struct take *take,
                       struct reason *reason)
{
    if (station_is_callbacks (self, span_text (take->name)) &&
        targets_ensure_pull (self, take->name, reason))
        return ZPLAN_EARGUMENT;
    const struct target *target = station_target (self, span_text (take->name));
    if (!take->name[0])
        return reason_error (reason, ZPLAN_EARGUMENT, "station: is missing");
    if (!target)
        return target_not_found (self, request->peer.user, "station", span_text (take->name),
                                 reason);
    if (target_type (target) != TARGET_PULL)
        return reason_error (reason, ZPLAN_EARGUMENT,
                             "station: %s is of type %s, its plans are sent to it", take->name,
                             target_type_name (target_type (target)));
    size_t bytes = request->peer.identity.size + message_size (&request->message);
    if (take->until_us && bytes > TAKE_BYTES_MAX)
        return reason_error (reason, ZPLAN_EARGUMENT, "wait: the message has more than %d bytes",
                             TAKE_BYTES_MAX);
    if (take->until_us && !pull_may_wait (self))
        return reason_error (reason, ZPLAN_EBUSY,
                             "wait: too many takes are waiting; try again in 100 ms");
    return 0;
}

int manage_take (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    struct take *take = memory_new (sizeof *take);
    *take = (struct take){.station = self, .limit = 1};
    bool read = json_fields_parse (request->args[0], take_fields,
                                   sizeof take_fields / sizeof *take_fields, take, reason);
    int rc = read ? check_take (self, request, take, reason) : ZPLAN_EARGUMENT;
    if (rc || (rc = permit_work (self, request->peer.user, span_text (take->name), reason))) {
        free (take);
        return rc;
    }
    if (!take->worker[0]) // the worker keeps this name by giving it in its next take
        snprintf (take->worker, sizeof take->worker, "w-%016" PRIx64, process_random ());
    take->peer = peer_keep (self, request);
    if (take->limit)
        pull_take (take);
    else
        pull_end_takes (take);
    return 0;
}

// -- alive and report

struct worker_request {
    struct inquiry inquiry;
    bool is_report;  // else a heartbeat (alive)
    bool may_repeat; // its plan is gone: the report may repeat an accepted one
    char plan[PLAN_TEXT_SIZE];
    char worker[WORKER_NAME_MAX + 1];
    uint64_t exec_id;
    enum { STATE_NONE, STATE_SUCCESS, STATE_FAIL, STATE_RELEASE } state;
    bool final;
    int64_t retry_after_s, after_s; // -1 = not given
    char reason[REASON_BYTES + 1];
    char *result; // as JSON; NULL = none
    char progress[PROGRESS_BYTES + 1];
    bool release;
};

static bool read_plan (void *filter, const json_t *value)
{
    struct worker_request *self = filter;
    // A plan may also be named by its key (key:NAME); manage_plan_name reads both.
    return manage_plan_text (value, self->plan) ||
           copy_json_text (value, self->plan, sizeof self->plan);
}

static bool read_result (void *filter, const json_t *value)
{
    struct worker_request *self = filter;
    self->result = json_is_null (value) ? NULL : json_dumps (value, JSON_COMPACT | JSON_ENCODE_ANY);
    return !self->result || strlen (self->result) <= RESULT_BYTES;
}

static const char *const states[] = {
    [STATE_SUCCESS] = "success", [STATE_FAIL] = "fail", [STATE_RELEASE] = "release"};

#define FIELD(name) offsetof (struct worker_request, name)

// alive has the first ALIVE_FIELDS, report those from REPORT_FIRST on.
static const struct json_field worker_fields[] = {
    {"progress", AS_TEXT, FIELD (progress), 0, PROGRESS_BYTES,
     "want a string of at most 256 bytes"},
    {"release", AS_FLAG, FIELD (release)},
    {"plan", .rule = "want the plan's id, or key:NAME", .read = read_plan},
    {"worker", AS_OWN, FIELD (worker), .rule = WORKER_RULE, .read = read_worker},
    {"exec_id", AS_IDENT, FIELD (exec_id), .rule = "want the exec_id of the job"},
    {"state", AS_WORD, FIELD (state), STATE_SUCCESS, STATE_RELEASE + 1, .words = states},
    {"reason", AS_TEXT, FIELD (reason), 0, REASON_BYTES, "want a string of at most 512 bytes"},
    {"result", .rule = "want JSON of at most 65536 bytes", .read = read_result},
    {"final", AS_FLAG, FIELD (final)},
    {"retry_after", AS_SECONDS, FIELD (retry_after_s), 0, ADVICE_AFTER_MAX},
    {"after", AS_SECONDS, FIELD (after_s), 0, ADVICE_AFTER_MAX},
};

enum { ALIVE_FIELDS = 5, REPORT_FIRST = 2, FIELDS = sizeof worker_fields / sizeof *worker_fields };

static void worker_request_end (struct worker_request *self)
{
    free (self->result);
    free (self);
}

static void reply_alive (struct worker_request *self, const struct store_pulled *answer)
{
    json_t *object = answer->alive.stop
                         ? json_pack ("{s:s}", "stop", answer->alive.stop)
                         : json_pack ("{s:b, s:I, s:I}", "ok", 1, "ping_interval",
                                      (json_int_t)answer->alive.ping_s, "worker_timeout",
                                      (json_int_t)answer->alive.timeout_s);
    manage_reply_json (self->inquiry.station, self->inquiry.peer, self->inquiry.plan.id, object);
}

static void on_alive (void *owner, const struct store_pulled *answer)
{
    struct worker_request *self = owner;
    if (answer->result == STORE_DONE)
        reply_alive (self, answer);
    else
        inquiry_refuse (&self->inquiry, answer->result, answer->error);
    worker_request_end (self);
}

// End the run, as the last worker of its team has ended.
static void end_team_run (struct station *self, uint64_t plan_id,
                          const struct core_reported *answer)
{
    struct reason reason;
    struct run run = {answer->exec_id, RUN_SENT, answer->earlier_may_answer};
    struct plan *plan = plan_from_stored_json (plan_id, answer->message, &reason);
    if (plan)
        pull_end (self, answer->target, plan, run, &answer->outcome);
    plan_destroy (&plan);
    link_flush (store_link (self->store));
}

static void on_reported (void *owner, const struct store_pulled *answer)
{
    struct worker_request *self = owner;
    struct station *station = self->inquiry.station;
    uint64_t plan_id = self->inquiry.plan.id;
    if (answer->result == STORE_DONE)
        pull_worker_reported (station, answer->reported.target);
    if (answer->result == STORE_DONE && answer->reported.refused && self->may_repeat) {
        inquiry_refuse (&self->inquiry, STORE_NONE, "");
    } else if (answer->result == STORE_DONE && answer->reported.refused) {
        reply_refuse_format (station, self->inquiry.peer, ZPLAN_EARGUMENT, "report: %s",
                             answer->reported.refused);
    } else if (answer->result == STORE_DONE) {
        manage_reply (station, self->inquiry.peer, plan_id, "{\"accepted\":true}");
    } else {
        inquiry_refuse (&self->inquiry, answer->result, answer->error);
    }
    if (answer->result == STORE_DONE && answer->reported.outcome.complete)
        end_team_run (station, plan_id, &answer->reported);
    worker_request_end (self);
}

static struct advice reported_advice (const struct worker_request *self)
{
    if (self->state == STATE_RELEASE)
        return (struct advice){ADVICE_RELEASE, self->after_s < 0 ? 0 : self->after_s};
    if (self->final)
        return (struct advice){ADVICE_FINAL, 0};
    if (self->retry_after_s >= 0)
        return (struct advice){ADVICE_AFTER, self->retry_after_s};
    return (struct advice){ADVICE_NONE, 0};
}

static void send_to_store (struct worker_request *self)
{
    struct station *station = self->inquiry.station;
    struct core_worker worker = {.id = self->inquiry.plan.id,
                                 .target = span_text (self->inquiry.plan.station),
                                 .worker = span_text (self->worker),
                                 .exec_id = self->exec_id,
                                 .lease_us = station->settings->exec_timeout_s * 1000000};
    struct core_report report = {.success = self->state == STATE_SUCCESS,
                                 .repeat = self->may_repeat,
                                 .advice = reported_advice (self),
                                 .reason = span_text (self->reason),
                                 .result = span_text (self->result ? self->result : "")};
    struct core_heartbeat heartbeat = {.progress = span_text (self->progress),
                                       .release = self->release};
    if (self->is_report)
        store_report (station->store, &worker, &report, on_reported, self);
    else
        store_report_worker (station->store, &worker, &heartbeat, on_alive, self);
}

// Check that the plan belongs to a target of the key, which is bound to some.
static void on_plan_loaded (void *owner, const struct store_loaded *answer)
{
    struct worker_request *self = owner;
    const char *user = self->inquiry.peer->user;
    bool callback = answer->result == STORE_DONE &&
                    station_is_callbacks (self->inquiry.station, answer->station);
    enum store_result result = !callback ? inquiry_check (&self->inquiry, answer)
                               : permit_work_silently (self->inquiry.station, user, answer->station)
                                   ? STORE_DONE
                                   : STORE_NONE;
    self->may_repeat = self->is_report && result == STORE_NONE;
    if (result != STORE_DONE && !self->may_repeat) {
        inquiry_refuse (&self->inquiry, result, answer->error);
        worker_request_end (self);
        return;
    }
    if (result == STORE_DONE) {
        memcpy (self->inquiry.plan.station, answer->station.data, answer->station.size);
        pull_worker_reported (self->inquiry.station, answer->station);
    }
    send_to_store (self);
    link_flush (store_link (self->inquiry.station->store));
}

// Note the target that the worker reports on. The key may touch all targets, and the store checks
// the plan.
static void on_target_loaded (void *owner, const struct store_loaded *answer)
{
    struct worker_request *self = owner;
    if (answer->result == STORE_DONE)
        pull_worker_reported (self->inquiry.station, answer->station);
    send_to_store (self);
    link_flush (store_link (self->inquiry.station->store));
}

// Check for fields that exclude each other. Returns the error, or NULL.
static const char *find_conflict (const struct worker_request *self)
{
    bool fails = self->state == STATE_FAIL, releases = self->state == STATE_RELEASE;
    if (self->final && !fails)
        return "final: belongs to state fail";
    if (self->retry_after_s >= 0 && !fails)
        return "retry_after: belongs to state fail";
    if (self->final && self->retry_after_s >= 0)
        return "retry_after: nothing is tried after final; give only one";
    if (self->after_s >= 0 && !releases)
        return "after: belongs to state release";
    if (releases && self->result)
        return "result: a run that is released has none";
    return NULL;
}

// Read the fields of the request. False: invalid, with the reason.
static bool read_worker_request (struct worker_request *self, struct span text,
                                 struct reason *reason)
{
    const struct json_field *first = worker_fields + (self->is_report ? REPORT_FIRST : 0);
    size_t count = self->is_report ? FIELDS - REPORT_FIRST : ALIVE_FIELDS;
    if (!json_fields_parse (text, first, count, self, reason))
        return false;
    const char *missing = !self->plan[0]                                 ? "plan"
                          : !self->worker[0]                             ? "worker"
                          : self->is_report && !self->exec_id            ? "exec_id"
                          : self->is_report && self->state == STATE_NONE ? "state"
                                                                         : NULL;
    const char *wrong = missing || !self->is_report ? NULL : find_conflict (self);
    if (missing)
        return reason_reject (reason, "%s: is missing", missing);
    return !wrong || reason_reject (reason, "%s", wrong);
}

static int start_worker_request (struct station *self, struct request *request, bool is_report)
{
    struct worker_request *worker_request = memory_new (sizeof *worker_request);
    struct plan_name plan;
    int rc = ZPLAN_EARGUMENT;
    *worker_request =
        (struct worker_request){.is_report = is_report, .retry_after_s = -1, .after_s = -1};
    if (read_worker_request (worker_request, request->args[0], &request->reason))
        rc = manage_plan_name (self, request, span_text (worker_request->plan), &plan);
    if (rc) {
        worker_request_end (worker_request);
        return rc;
    }
    worker_request->inquiry = (struct inquiry){self, peer_keep (self, request), plan};
    if (plan.station[0])
        pull_worker_reported (self, span_text (plan.station));
    if (!plan.station[0] && !permits_all_stations (self, request->peer.user))
        reads_load (self, worker_request->inquiry.peer, plan.id, on_plan_loaded, worker_request);
    else if (!plan.station[0] && !is_report && pull_lacks_worker_contact (self))
        reads_load (self, worker_request->inquiry.peer, plan.id, on_target_loaded, worker_request);
    else
        send_to_store (worker_request);
    return 0;
}

int manage_alive (struct station *self, struct request *request)
{
    return start_worker_request (self, request, false);
}

int manage_report (struct station *self, struct request *request)
{
    return start_worker_request (self, request, true);
}
