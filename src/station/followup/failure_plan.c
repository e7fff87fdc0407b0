#include "failure_plan.h"

#include <czmq.h>
#include <inttypes.h>
#include <stdlib.h>

#include "called.h"
#include "codes.h"
#include "flow_book.h"
#include "json.h"
#include "output.h"
#include "permit.h"
#include "target.h"
#include "inquiry.h"
#include "plan_message.h"

enum { SECOND_US = 1000000, TRIES = 10, FIRST_WAIT_S = 10 };

int check_on_failure (struct station *self, const char *user, const struct policy *policy,
                      struct reason *reason)
{
    const char *name = policy ? policy->on_failure.station : NULL;
    if (!name)
        return 0;
    if (user && !permits_station (self, user, span_text (name)))
        return reason_error (reason, ZPLAN_EDENY,
                             "on_failure: station: the key %s may not touch plans of %s",
                             quoted (permit_name (self, user)), quoted (span_text (name)));
    if (station_is_callbacks (self, span_text (name)))
        return permit_callback_denied (reason);
    if (station_target (self, span_text (name)) || flow_book_takes (self, span_text (name)))
        return 0;
    return target_not_found (self, user, "on_failure: station", span_text (name), reason);
}

// -- the outcome, as JSON

// The output as in the history, with the same size limit; NULL: none.
static json_t *failure_output (const struct failed_run *failure)
{
    enum { KEEP = 2048 };
    size_t size;
    const struct plan *plan = failure->plan;
    if (!failure->output.size)
        return NULL;
    char *packed =
        output_make (plan->station, plan->id, failure->exec_id, failure->output, KEEP, &size);
    json_t *output = output_json (span_of (packed, size), failure->exec_id);
    free (packed);
    return output;
}

static char *outcome_text (struct station *self, const struct failed_run *failure)
{
    const struct plan *plan = failure->plan;
    // An error that the target reports is "failed", with its own name in `code`.
    bool timeout = plan->last_state == ZERO_STATUS_TIMEOUT_ID;
    bool failed = plan->last_state == ZERO_STATUS_FAILED_ID;
    // Without a verdict the next occurrence runs as planned.
    const char *verdict = plan->state != PLAN_ERROR          ? NULL
                          : plan->verdict == VERDICT_PENDING ? "pending"
                                                             : "failure";
    json_t *object = json_pack (
        "{s:o, s:o*, s:o, s:o, s:o, s:s, s:o*, s:s*, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o*}",
        "plan", called_hex (plan->id), "name",
        plan->policy && plan->policy->key[0] ? json_string (plan->policy->key) : NULL, "title",
        json_from_frame (plan->description), "target", json_from_frame (plan->station), "command",
        json_from_frame (plan_command (plan)), "status", timeout ? "timeout" : "failed", "code",
        timeout || failed ? NULL : called_status (plan->last_state), "verdict", verdict, "reason",
        json_from_frame (failure->reason), "exec_id", called_hex (failure->exec_id), "worker",
        json_from_frame (failure->worker), "attempts", (json_int_t)failure->decision->attempts,
        "nominal_at", called_instant (failure->nominal * SECOND_US), "started_at",
        called_instant ((int64_t)failure->exec_id), "ended_at",
        called_instant (store_now_us (self->store)), "output", failure_output (failure));
    char *text = json_write (object);
    json_decref (object);
    return text;
}

// -- the plan

// The id of the called plan: 63 bits of a digest of plan and run.
static uint64_t id_of_run (uint64_t plan_id, uint64_t exec_id)
{
    char text[64];
    uint64_t id = 0;
    int size = snprintf (text, sizeof text, "on_failure %" PRIx64 " %" PRIx64, plan_id, exec_id);
    zdigest_t *digest = zdigest_new ();
    zdigest_update (digest, (const byte *)text, (size_t)size);
    for (size_t i = 0; i < sizeof id; i++)
        id |= (uint64_t)zdigest_data (digest)[i] << 8 * i;
    zdigest_destroy (&digest);
    id &= INT64_MAX;
    return id ? id : 1;
}

struct plan *on_failure_plan (struct station *self, const struct failed_run *failure)
{
    const struct plan *plan = failure->plan;
    const struct on_failure *call = plan->policy ? &plan->policy->on_failure : NULL;
    if (!failure->decision->exhausted || !call || !call->command)
        return NULL;
    struct span station = call->station ? span_text (call->station) : plan->station;
    const struct target *target = station_target (self, station);
    bool publishes = target && target_type (target) == TARGET_PUB;
    char *outcome = outcome_text (self, failure);
    // As many tries as for a plan of `zplan add`.
    json_t *fields = json_pack ("{s:{s:s, s:i, s:i}}", "retry", "strategy", "exponential",
                                "interval", FIRST_WAIT_S, "max", TRIES - 1);
    struct plan *called = called_plan (
        self, &(struct plan_call){.id = id_of_run (plan->id, failure->exec_id),
                                  .source = plan,
                                  .target = station,
                                  .prefix = "on failure: ",
                                  .title = call->title,
                                  .fields = fields,
                                  .frames = {{publishes ? ZERO_FRAME_PUB_TITLE : ZERO_FRAME_COMMAND,
                                              span_text (call->command)},
                                             {publishes ? ZERO_FRAME_CONTENT : ZERO_FRAME_ARG,
                                              span_text (outcome)}},
                                  .frame_count = 2});
    json_decref (fields);
    free (outcome);
    return called;
}

char *on_failure_dropped_record (const struct failed_run *failure, size_t *ret_size)
{
    const struct plan *plan = failure->plan;
    *ret_size = 0;
    if (plan->policy->log == LOG_NONE)
        return NULL;
    return store_record (
        &(struct outcome_record){
            .title = plan->description,
            .key = policy_key (plan->policy),
            .nominal = failure->nominal,
            .status = ZERO_STATUS_SEND_ERROR_ID,
            .state = plan->state,
            .exec_id = failure->exec_id,
            .worker = plan->station,
            .reason =
                span_text ("on_failure: the command is not called, too many plans are stored"),
        },
        ret_size);
}
