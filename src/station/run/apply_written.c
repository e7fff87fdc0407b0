// What an outcome writes: its history entry, the results of participants, and the plans that it
// calls. Then reports the outcome to subscribers and the log or, if it was not written, to the next
// owner.
#include "apply_private.h"

#include <stdlib.h>
#include <inttypes.h>

#include "answer_text.h"
#include "callback.h"
#include "codes.h"
#include "json.h"
#include "memory.h"
#include "failure_plan.h"
#include "output.h"
#include "plan_json.h"
#include "forward.h"
#include "log.h"
#include "publish.h"

bool applying_is_outcome (const struct decision *decision)
{
    return decision->broadcast != BROADCAST_NONE;
}

bool applying_is_miss (enum cause cause, uint8_t status)
{
    return cause == CAUSE_DUE && status == ZERO_STATUS_MISSED_ID;
}

// The worker of the outcome: the one that the answer names, else the target.
static struct span outcome_worker (const struct applying *self)
{
    if (self->voter)
        return self->voter->at[0];
    for (size_t i = self->desc.count; self->frames && i > 0; i--)
        if (self->desc.types[i - 1] == ZERO_FRAME_RESPONSER &&
            ballot_name_valid (self->frames->at[i]))
            return self->frames->at[i];
    return span_text (self->key_station);
}

struct span applying_reason (const struct applying *self)
{
    if (self->reason)
        return span_text (self->reason);
    return self->frames ? answer_text (self->answer.status, &self->desc, self->frames->at + 1)
                        : (struct span){0};
}

// The history entry of the outcome; NULL: none. The caller frees it.
static char *make_outcome_record (const struct applying *self, const struct plan *plan,
                                  int64_t nominal, size_t *ret_size)
{
    if (applying_is_miss (self->cause, plan->last_state))
        return missed_record (plan, &self->decision.misses, self->run.exec_id, ret_size);
    *ret_size = 0;
    if (plan->policy && plan->policy->log == LOG_NONE)
        return NULL;
    char step[OUTCOME_STEP_SIZE], trace[TRACE_SIZE];
    struct outcome_record record = {
        .title = plan->description,
        .key = policy_key (plan->policy),
        .nominal = nominal,
        .status = plan->last_state,
        .state = plan->state,
        .exec_id = self->run.exec_id,
        .worker = outcome_worker (self),
        .reason = applying_reason (self),
    };
    for (size_t i = 0; self->frames && i < self->desc.count; i++)
        record.size += self->frames->at[i + 1].size;
    if (self->callback)
        record.callback = self->callback->id;
    outcome_set_flow (&record, plan, step);
    if (plan_trace (plan, self->run.exec_id, nominal, trace))
        record.trace = span_text (trace);
    // log `trigger`: record the start, not the outcome.
    if (plan->policy && plan->policy->log == LOG_TRIGGER) {
        record.status = ZERO_STATUS_OK_ID;
        record.reason = (struct span){0};
    }
    return store_record (&record, ret_size);
}

// The output of the run: its result, or the output of a failure; empty if it is not to be kept. A
// vote has no single output.
static struct span kept_output (const struct applying *self, const struct plan *plan)
{
    bool kept = !plan->policy || plan->policy->log == LOG_TRANS;
    if (self->frames && kept && !self->decision.close_poll &&
        !applying_is_miss (self->cause, plan->last_state))
        for (size_t i = 0; i < self->desc.count; i++)
            if (frame_is_output (self->desc.types[i]) && self->frames->at[i + 1].size)
                return self->frames->at[i + 1];
    return (struct span){0};
}

// The part of the output that the history keeps; NULL: none. The caller frees it.
static char *make_output_record (const struct applying *self, const struct plan *plan,
                                 size_t *ret_size)
{
    enum { WHOLE_MAX = 65536 };
    struct span text = kept_output (self, plan);
    size_t keep = (size_t)self->station->settings->output_bytes;
    *ret_size = 0;
    if (!keep || !text.size)
        return NULL;
    // The plan is removed now: its last result can be read only in the history.
    if (self->decision.commit == COMMIT_END && keep < WHOLE_MAX)
        keep = WHOLE_MAX;
    return output_make (span_text (self->key_station), self->plan_id, self->run.exec_id, text, keep,
                        ret_size);
}

// The participants to store: the voters of an opened vote, and with `save` the one that answered.
// The caller frees `ret`.
static size_t list_participants (const struct applying *self, bool save, struct participant **ret)
{
    size_t count = 0;
    *ret = NULL;
    if (self->decision.open_poll) {
        struct active_run *active = runs_find (self->station, self->plan_id);
        const struct ballot *ballot = active ? active->ballot : NULL;
        *ret = memory_new ((VOTERS_MAX + 1) * sizeof **ret);
        for (size_t i = 0; ballot && i < ballot->count; i++)
            (*ret)[count++] = (struct participant){.name = span_text (ballot->at[i].name)};
    }
    if (save) {
        *ret = *ret ? *ret : memory_new (sizeof **ret);
        struct participant *answerer = &(*ret)[count++];
        answerer->name = self->voter ? self->voter->at[0] : span_text (self->key_station);
        answerer->frames = self->frames->at;
        answerer->count = self->frames->count;
    }
    return count;
}

// The value of a result: its first JSON frame, else its content as text; for a vote the tally.
json_t *applying_value (const struct applying *self)
{
    const struct vote_tally *tally = &self->answer.tally;
    if (self->decision.close_poll)
        return json_pack ("{s:I, s:I, s:I}", "for", (json_int_t)tally->in_favour, "against",
                          (json_int_t)(tally->voted - tally->in_favour), "votes",
                          (json_int_t)tally->voted);
    for (size_t i = 0; self->frames && i < self->desc.count; i++) {
        struct span frame = self->frames->at[i + 1];
        if (self->desc.types[i] == ZERO_FRAME_JSON)
            return json_loadb ((const char *)frame.data, frame.size, JSON_DECODE_ANY, NULL);
    }
    for (size_t i = 0; self->frames && i < self->desc.count; i++)
        if (self->desc.types[i] == ZERO_FRAME_CONTENT && self->frames->at[i + 1].size)
            return json_from_frame (self->frames->at[i + 1]);
    return NULL;
}

void applying_failure_text (const struct applying *self, char *text, size_t size)
{
    struct span words = applying_reason (self);
    const char *plain = self->status == ZERO_STATUS_TIMEOUT_ID  ? "timed out"
                        : self->status == ZERO_STATUS_MISSED_ID ? "missed"
                                                                : "failed";
    snprintf (text, size, "%.*s", words.size ? (int)words.size : (int)strlen (plain),
              words.size ? (const char *)words.data : plain);
}

// Create the plan that is called after the failure. Returns the history entry for when it exceeds a
// limit; NULL: none.
static char *create_failure_plan (struct applying *self, const struct plan *plan, int64_t nominal,
                                  size_t *ret_size)
{
    const struct failed_run failure = {.plan = plan,
                                       .decision = &self->decision,
                                       .exec_id = self->run.exec_id,
                                       .nominal = nominal,
                                       .worker = outcome_worker (self),
                                       .reason = applying_reason (self),
                                       .output = kept_output (self, plan)};
    self->called = on_failure_plan (self->station, &failure);
    return self->called ? on_failure_dropped_record (&failure, ret_size) : NULL;
}

struct plan *applying_callback (const struct applying *self, const struct plan *plan,
                                int64_t nominal)
{
    struct callback_outcome outcome = {.plan = plan,
                                       .decision = &self->decision,
                                       .exec_id = self->run.exec_id,
                                       .nominal = nominal,
                                       .status = plan->last_state,
                                       .cancelled = self->cause == CAUSE_CANCEL,
                                       .manual = self->manual,
                                       .worker = outcome_worker (self),
                                       .reason = applying_reason (self)};
    if (applying_is_miss (self->cause, plan->last_state) || !callback_wanted (&outcome))
        return NULL;
    json_t *value = self->decision.succeeded ? applying_value (self) : NULL;
    outcome.value = value;
    struct plan *callback = callback_plan (self->station, station_new_id (self->station), &outcome);
    json_decref (value);
    return callback;
}

void applying_prepare (struct applying *self, const struct plan *plan, int64_t nominal,
                       struct applied *ret)
{
    const struct decision *decision = &self->decision;
    bool outcome = applying_is_outcome (decision),
         miss = applying_is_miss (self->cause, plan->last_state);
    // When the plan is removed, only the answers of a vote are read once more.
    bool kept = decision->commit != COMMIT_END || decision->close_poll;
    bool save = decision->save_work && self->frames && kept;
    *ret = (struct applied){0};
    if (decision->open_poll || save)
        ret->participant_count = list_participants (self, save, &ret->participants);
    if (outcome || miss)
        ret->record = make_outcome_record (self, plan, nominal, &ret->record_size);
    if (ret->record && outcome)
        ret->output = make_output_record (self, plan, &ret->output_size);
    if (decision->exhausted && plan->policy && !self->keep_message)
        ret->uncalled = create_failure_plan (self, plan, nominal, &ret->uncalled_size);
    if (decision->misses.missed.count && !miss)
        ret->missed =
            missed_record (plan, &decision->misses, (uint64_t)store_now_us (self->station->store),
                           &ret->missed_size);
}

void applied_clear (struct applied *self)
{
    free (self->record);
    free (self->output);
    free (self->missed);
    free (self->uncalled);
    free (self->participants);
}

// -- when it is written

static struct span outcome_title (const struct applying *self)
{
    return self->title ? self->title->at[0] : (struct span){0};
}

void applying_publish_events (struct applying *self, int64_t seq)
{
    enum zplan_event_code moved = ZPLAN_EVENT_QUEUE;
    if (self->decision.commit == COMMIT_END || self->state == PLAN_CLOSE)
        moved = ZPLAN_EVENT_END;
    else if (self->decision.commit == COMMIT_PARK || self->decision.unqueued)
        moved = ZPLAN_EVENT_PAUSE;
    struct notice notice = {
        .event = moved,
        .plan_id = self->plan_id,
        .station = span_text (self->key_station),
        .title = outcome_title (self),
        .json = self->public_text,
        .result_seq = seq,
        .status = self->status,
        .desc = &self->desc,
        .frames = self->frames ? self->frames->at : NULL,
    };
    publish_event (self->station, &notice);
    if (!applying_is_outcome (&self->decision))
        return;
    notice.event = ZPLAN_EVENT_RESULT;
    publish_event (self->station, &notice);
}

void applying_broadcast (struct applying *self, const struct store_committed *answer)
{
    struct json_text *text = &self->station->texts.plan_json;
    const char *json = self->public_text ? plan_broadcast_json (self->public_text, answer->seq,
                                                                answer->epoch, text)
                                         : NULL;
    const char *votes = self->decision.close_poll ? answer->votes : NULL;
    struct span votes_frame = span_text (votes ? votes : "");
    struct desc votes_desc = {.count = 1, .types = {ZERO_FRAME_JSON}};
    struct publication publication = {.title = outcome_title (self),
                                      .status = self->status,
                                      .plan_id = self->plan_id,
                                      .json = json,
                                      .desc = votes ? &votes_desc : &self->desc,
                                      .frames = votes          ? &votes_frame
                                                : self->frames ? self->frames->at + 1
                                                               : NULL};
    publish_result (self->station, &publication);
}

void applying_publish_called (const struct applying *self, const struct store_committed *answer)
{
    if (answer->full.size)
        log_event (LEVEL_WARN, "on_failure.not_called",
                   "plan=%" PRIx64 " exec_id=%" PRIx64 " reason=%s", self->plan_id,
                   self->run.exec_id, quoted (answer->full));
    else
        publish_added (self->station, self->called);
}

void applying_report_failure (const struct applying *self, const struct store_committed *answer)
{
    struct message message = {.desc = self->desc};
    for (size_t i = 0; self->frames && i < self->desc.count; i++)
        message.frames[i] = self->frames->at[1 + i];
    if (self->frames && self->cause == CAUSE_ANSWER)
        forward_add_answer (self->station, self->plan_id, &message);
    if (answer->result == STORE_LOST || answer->result == STORE_UNKNOWN)
        log_event (LEVEL_WARN, "commit.lost",
                   "plan=%" PRIx64 " reason=\"stopped before Redis was back\"", self->plan_id);
    else if (answer->result == STORE_ERROR)
        log_event (LEVEL_ERROR, "commit.failed", "plan=%" PRIx64 " error=%s", self->plan_id,
                   quoted (span_text (answer->error)));
    else if (self->decision.commit != COMMIT_NONE) // an answer may have become late meanwhile
        log_event (LEVEL_WARN, "commit.stale", "plan=%" PRIx64, self->plan_id);
}
