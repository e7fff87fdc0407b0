#include "plan.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "codes.h"
#include "memory.h"
#include "rfc3339.h"
#include "spread.h"
#include "utf8.h"
#include "nearest.h"

static const char *const state_names[PLAN_STATES] = {
    [PLAN_NONE] = "none",   [PLAN_QUEUE] = "queue", [PLAN_EXECUTE] = "execute",
    [PLAN_RETRY] = "retry", [PLAN_SKIP] = "skip",   [PLAN_PAUSE] = "pause",
    [PLAN_ERROR] = "error", [PLAN_CLOSE] = "close",
};

static const char *const verdict_names[VERDICTS] = {
    [VERDICT_NONE] = "none",     [VERDICT_FAILURE] = "failure",     [VERDICT_PENDING] = "pending",
    [VERDICT_MANUAL] = "manual", [VERDICT_CANCELLED] = "cancelled",
};

struct plan *plan_new (size_t store_size)
{
    struct plan *self = memory_resize (NULL, sizeof *self + store_size);
    *self = (struct plan){.store_size = store_size}; // `store` needs no initialization
    return self;
}

struct plan *plan_keep (struct plan *self)
{
    self->kept++;
    return self;
}

void plan_destroy (struct plan **self)
{
    if (*self && (*self)->kept > 0)
        (*self)->kept--;
    else if (*self) {
        if ((*self)->policy)
            policy_destroy (&(*self)->policy);
        free ((*self)->error_info);
        free ((*self)->remark);
        free ((*self)->stopped);
        free ((*self)->source);
        free ((*self)->run_with);
        free (*self);
    }
    *self = NULL;
}

static struct span store_bytes (struct plan *self, struct span bytes)
{
    assert (self->store_size - self->store_used >= bytes.size);
    uint8_t *at = self->store + self->store_used;
    if (bytes.size)
        memcpy (at, bytes.data, bytes.size);
    self->store_used += bytes.size;
    return span_of (at, bytes.size);
}

struct plan *plan_new_submitted (uint64_t id, const struct message *request, struct span caller,
                                 const struct plan_fields *fields, int64_t received)
{
    struct span request_id = message_frame (request, ZERO_FRAME_REQUEST_ID, NULL),
                station = message_frame (request, ZERO_FRAME_STATION_ID, NULL);
    struct plan *self =
        plan_new (MAILBOX_SIZE + caller.size + fields->description_size + request->desc_bytes.size +
                  request_id.size + station.size + message_size (request) + fields->step.size);
    self->schedule = fields->schedule;
    self->schedule.received = received;
    self->skip_set = fields->skip_set;
    self->vote = fields->vote;
    self->policy = fields->policy ? policy_keep (fields->policy) : NULL;
    if (fields->remark_size)
        plan_set_remark (self, span_of (fields->remark, fields->remark_size));
    self->state = fields->hold ? PLAN_PAUSE : PLAN_QUEUE;
    self->held = fields->hold == HOLD_MARKED;
    self->station = store_bytes (self, station);
    self->caller = store_bytes (self, caller);
    self->request_id = store_bytes (self, request_id);
    self->description = store_bytes (self, span_of (fields->description, fields->description_size));
    self->step = store_bytes (self, fields->step);
    self->message_count = 1; // the mailbox, which is written last
    self->messages[self->message_count++] = store_bytes (self, request->desc_bytes);
    for (size_t i = 0; i < request->desc.count; i++)
        self->messages[self->message_count++] = store_bytes (self, request->frames[i]);
    self->messages[0] = span_of (self->store + self->store_used, 0);
    plan_renumber (self, id);
    return self;
}

void plan_renumber (struct plan *self, uint64_t id)
{
    char mailbox[MAILBOX_SIZE];
    self->id = id;
    self->store_used = (size_t)(self->messages[0].data - self->store);
    self->messages[0] = store_bytes (self, span_text (mailbox_text (id, mailbox)));
}

void plan_take_policy (struct plan *self, struct policy *policy)
{
    policy_destroy (&self->policy);
    self->policy = policy;
    self->schedule.cycle = NULL;
    self->schedule.cron = NULL;
    policy_into_schedule (policy, &self->schedule);
    if (policy && policy->misfire)
        self->schedule.keep = policy->misfire == MISFIRE_ALL;
}

int64_t plan_nominal (const struct plan *self, uint64_t exec_id)
{
    return self->extra ? (int64_t)(exec_id / 1000000) : self->plan_time;
}

bool plan_is_queued (const struct plan *self)
{
    return self->state != PLAN_PAUSE && self->state != PLAN_ERROR && self->state != PLAN_CLOSE;
}

int64_t plan_due_time (const struct plan *self)
{
    if (!self->policy || !self->policy->jitter_s)
        return self->plan_time;
    return self->plan_time + (int64_t)spread_offset (self->id, (uint64_t)self->policy->jitter_s);
}

void plan_set_text (char **ret, struct span text, size_t max)
{
    free (*ret);
    *ret = text.size ? memory_new (max + 1) : NULL;
    if (*ret)
        utf8_copy_text (text, max, *ret);
}

void plan_set_error (struct plan *self, struct span text)
{
    plan_set_text (&self->error_info, text, PLAN_WORDS_MAX);
}

void plan_set_stopped (struct plan *self, struct span text)
{
    plan_set_text (&self->stopped, text, PLAN_WORDS_MAX);
}

void plan_set_source (struct plan *self, struct span name)
{
    plan_set_text (&self->source, name, STATION_NAME_MAX);
}

void plan_note_stop (struct plan *self, const char *command, struct span who, int64_t now)
{
    char when[RFC3339_SIZE], text[PLAN_WORDS_MAX];
    rfc3339_format (now, when);
    snprintf (text, sizeof text, "%s%s%.*s at %s", command, who.size ? " by " : "", (int)who.size,
              who.size ? (const char *)who.data : "", when);
    plan_set_stopped (self, span_text (text));
}

void plan_set_remark (struct plan *self, struct span text)
{
    plan_set_text (&self->remark, text, PLAN_WORDS_MAX);
}

void plan_set_run_with (struct plan *self, struct span json)
{
    plan_set_text (&self->run_with, json, PLAN_RUN_WITH_MAX);
}

bool plan_same_schedule (const struct plan *self, const struct schedule *schedule,
                         const struct policy *policy)
{
    const struct schedule *own = &self->schedule;
    return own->type == schedule->type && own->value == schedule->value &&
           own->base_time == schedule->base_time && policy_same_schedule (self->policy, policy);
}

// Replace a text by a copy of another plan's text, which may be NULL.
static void copy_plan_text (char **ret, const char *other)
{
    plan_set_text (ret, span_text (other ? other : ""), PLAN_RUN_WITH_MAX);
}

bool plan_copy_progress (struct plan *self, const struct plan *other)
{
    bool same = plan_same_schedule (other, &self->schedule, self->policy) && self->skip_set == 0;
    bool stays_paused = self->state == PLAN_PAUSE && plan_is_queued (other);
    self->exec_id = other->exec_id;
    self->exec_time = other->exec_time;
    self->last_state = other->last_state;
    self->missed = other->missed + (same ? 0 : self->missed);
    self->verdict = other->verdict;
    self->poll = other->poll;
    self->flow_run = other->flow_run;
    copy_plan_text (&self->error_info, other->error_info);
    if (same) {
        self->schedule.received = other->schedule.received;
        self->plan_time = other->plan_time;
        self->real_repet = other->real_repet;
        self->skip_num = other->skip_num;
        self->skip_set = other->skip_set;
        self->skip_wait = other->skip_wait;
        self->error_count = other->error_count;
        self->tries = other->tries;
    }
    if (stays_paused)
        return false;
    self->extra = other->extra;
    copy_plan_text (&self->run_with, other->run_with);
    copy_plan_text (&self->stopped, other->stopped);
    self->held = 0;
    bool keeps_place = same || other->extra || !plan_is_queued (other);
    if (keeps_place) {
        self->state = other->state;
        self->held = other->held;
    }
    return keeps_place;
}

struct occurrence plan_occurrence (const struct plan *self)
{
    return (struct occurrence){.time = self->plan_time, .used = self->real_repet + self->skip_num};
}

const char *plan_state_name (enum plan_state state)
{
    return state_names[state];
}

const char *plan_state_word (enum plan_state state)
{
    static const char *const words[PLAN_STATES] = {
        [PLAN_NONE] = "queued",    [PLAN_QUEUE] = "queued", [PLAN_EXECUTE] = "running",
        [PLAN_RETRY] = "retrying", [PLAN_SKIP] = "queued",  [PLAN_PAUSE] = "paused",
        [PLAN_ERROR] = "failed",   [PLAN_CLOSE] = "closed"};
    return words[state];
}

const char *plan_verdict_name (enum plan_verdict verdict)
{
    return verdict_names[verdict];
}

int plan_verdict_parse (const char *name)
{
    return word_index (verdict_names, VERDICTS, name);
}

int plan_state_parse (const char *name)
{
    return word_index (state_names, PLAN_STATES, name);
}
