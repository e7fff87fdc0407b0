// Reports a written outcome to subscribers and the log, or an unwritten one to the next owner.
#include "apply_private.h"

#include <inttypes.h>

#include "codes.h"
#include "forward.h"
#include "log.h"
#include "plan_json.h"
#include "publish.h"

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
    if (answer->full.size) {
        log_event (LEVEL_WARN, "on_failure.not_called",
                   "plan=%" PRIx64 " exec_id=%" PRIx64 " reason=%s", self->plan_id,
                   applying_run (self), quoted (answer->full));
        return;
    }
    publish_added (self->station, self->called);
}

void applying_forward (const struct applying *self)
{
    struct message message = {.desc = self->desc};
    if (self->cause != CAUSE_ANSWER || !self->frames)
        return;
    for (size_t i = 0; i < self->desc.count; i++)
        message.frames[i] = self->frames->at[1 + i];
    forward_add_answer (self->station, self->plan_id, &message);
}

void applying_log_failure (const struct applying *self, const struct store_committed *answer)
{
    if (answer->result == STORE_LOST || answer->result == STORE_UNKNOWN)
        log_event (LEVEL_WARN, "commit.lost",
                   "plan=%" PRIx64 " reason=\"stopped before Redis was back\"", self->plan_id);
    else if (answer->result == STORE_ERROR)
        log_event (LEVEL_ERROR, "commit.failed", "plan=%" PRIx64 " error=%s", self->plan_id,
                   quoted (span_text (answer->error)));
    else if (self->decision.commit != COMMIT_NONE) // an answer may have become late meanwhile
        log_event (LEVEL_WARN, "commit.stale", "plan=%" PRIx64, self->plan_id);
}
