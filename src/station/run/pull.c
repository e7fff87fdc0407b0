#include "pull.h"

#include <inttypes.h>
#include <stdlib.h>

#include "answer_text.h"
#include "apply.h"
#include "codes.h"
#include "json.h"
#include "log.h"
#include "memory.h"
#include "plan_json.h"
#include "publish.h"

struct offer_call {
    struct station *station;
    char key_station[STATION_NAME_MAX + 1];
    struct plan *plan;
    struct run run;
    bool already_offered;
};

// -- the end of a run

// The result as frames: a string or {"b64": ...} is CONTENT, other JSON a JSON frame. `bytes` has
// room for as many bytes as its text.
static void add_result (struct message *message, struct span text, uint8_t *bytes)
{
    size_t size;
    json_t *value = json_loadb ((const char *)text.data, text.size, JSON_DECODE_ANY, NULL);
    if (value && json_to_frame (value, bytes, &size))
        message_add (message, ZERO_FRAME_CONTENT, span_of (bytes, size));
    else if (value)
        message_add (message, ZERO_FRAME_JSON, text);
    json_decref (value);
}

// The text of the worker that decided the outcome: its reason, else its result if that is text.
static void set_outcome_reason (const struct team_outcome *outcome, struct span content,
                                struct reason *ret)
{
    struct span words = outcome->reason.size ? outcome->reason : content;
    char share[64] = "";
    if (!words.size)
        words = span_text ("no reason given");
    if (outcome->ended > 1)
        snprintf (share, sizeof share, "%" PRId64 " of %" PRId64 " workers failed; ",
                  outcome->failed, outcome->ended);
    reason_set (ret, "%s%.*s: %.*s", share, (int)outcome->worker.size,
                (const char *)outcome->worker.data, (int)words.size, (const char *)words.data);
}

void pull_end (struct station *self, struct span key_station, struct plan *plan, struct run run,
               const struct team_outcome *outcome)
{
    uint8_t status = outcome->failed ? ZERO_STATUS_FAILED_ID : ZERO_STATUS_OK_ID;
    uint8_t desc[DESC_SIZE_MAX];
    struct span laid_out[MESSAGE_FRAMES_MAX];
    struct message message;
    struct reason reason = {""};
    uint8_t *bytes = memory_new (outcome->result.size + 1);
    struct answer answer = {.status = status,
                            .has_exec_id = true,
                            .exec_id = run.exec_id,
                            .target = TARGET_PULL,
                            .advice = outcome->advice};
    message_start (&message, status);
    add_result (&message, outcome->result, bytes);
    message_add (&message, ZERO_FRAME_RESPONSER, outcome->worker);
    message_layout (&message, desc, laid_out);
    message.desc_bytes = laid_out[0];
    if (outcome->failed)
        set_outcome_reason (outcome, answer_text (status, &message.desc, message.frames), &reason);
    else // a note of a successful worker, for example that the result was truncated
        reason_set (&reason, "%.*s", (int)outcome->reason.size,
                    outcome->reason.size ? (const char *)outcome->reason.data : "");
    plan->exec_id = run.exec_id;
    apply_outcome (self, &(struct run_outcome){.plan = plan,
                                               .key_station = key_station,
                                               .run = &run,
                                               .cause = CAUSE_ANSWER,
                                               .answer = &answer,
                                               .message = &message,
                                               .voter = outcome->worker,
                                               .reason = reason.text});
    free (bytes);
}

// End a run that no worker has ended within its timeout.
static void time_out_offer (struct offer_call *self)
{
    char reason[64];
    snprintf (reason, sizeof reason, "timeout: no result within %" PRId64 " s",
              self->plan->policy ? self->plan->policy->timeout_s : 0);
    self->station->counters.timeouts++;
    apply_outcome (self->station,
                   &(struct run_outcome){.plan = self->plan,
                                         .key_station = span_text (self->key_station),
                                         .run = &self->run,
                                         .cause = CAUSE_TIMEOUT,
                                         .reason = reason});
}

// -- the offer

static void publish_offered (const struct offer_call *self)
{
    uint64_t exec_id = self->run.exec_id;
    char *json = publish_has_event_subscribers (self->station)
                     ? plan_run_text (self->plan, exec_id, plan_nominal (self->plan, exec_id))
                     : NULL;
    self->station->counters.runs_sent++;
    publish_event (self->station, &(struct notice){.event = ZPLAN_EVENT_EXEC,
                                                   .plan_id = self->plan->id,
                                                   .station = span_text (self->key_station),
                                                   .title = self->plan->description,
                                                   .json = json});
    free (json);
}

static void on_offered (void *owner, const struct store_pulled *answer)
{
    struct offer_call *call = owner;
    struct station *self = call->station;
    bool offered = answer->result == STORE_DONE;
    if (answer->result == STORE_ERROR)
        log_event (LEVEL_ERROR, "offer.failed", "plan=%" PRIx64 " error=%s", call->plan->id,
                   quoted (span_text (answer->error)));
    if (offered && !call->already_offered)
        publish_offered (call);
    if (offered && answer->offered.outcome.complete) // the previous owner could not end it
        pull_end (self, span_text (call->key_station), call->plan, call->run,
                  &answer->offered.outcome);
    else if (offered && answer->offered.over)
        time_out_offer (call);
    else if (offered)
        pull_wake (self, call->key_station, answer->offered.free);
    plan_destroy (&call->plan);
    free (call);
    if (offered)
        link_flush (store_link (self->store));
    station_resume (self);
}

void pull_offer (struct station *self, const struct store_claimed *claimed, struct plan *plan,
                 bool already_offered)
{
    struct offer_call *call = memory_new (sizeof *call);
    struct active_run *active = runs_find (self, plan->id);
    if (active) // kept from a lookup; runs of pull targets are not kept in memory
        runs_drop (&active);
    call->station = self;
    call->plan = plan;
    call->run = (struct run){claimed->exec_id, RUN_SENT, claimed->earlier_may_answer};
    call->already_offered = already_offered;
    memcpy (call->key_station, claimed->station.data, claimed->station.size);
    store_offer (self->store,
                 &(struct core_offer){.target = claimed->station,
                                      .id = plan->id,
                                      .exec_id = claimed->exec_id,
                                      .already_offered = already_offered,
                                      .lease_us = self->settings->exec_timeout_s * 1000000},
                 on_offered, call);
}
