// Each call packs its arguments in the order its script documents, and unpacks the answer; nothing
// is decided here.
#include "store_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "clock.h"
#include "ident.h"
#include "log.h"
#include "memory.h"
#include "plan_json.h"
#include "process.h"

void names_make (struct names *self, struct span station, uint64_t plan_id)
{
    int size = (int)station.size;
    const char *name = station.size ? (const char *)station.data : "";
    ident_text (plan_id, self->id);
    snprintf (self->member, sizeof self->member, "plan:msg:%.*s:%s", size, name, self->id);
    snprintf (self->work, sizeof self->work, "plan:work:%.*s:%s", size, name, self->id);
    snprintf (self->wait, sizeof self->wait, "plan:wait:%.*s", size, name);
    snprintf (self->entry, sizeof self->entry, "%016" PRIx64 ":%.*s", plan_id, size, name);
}

struct store *store_new (const struct link_config *config, const struct store_bounds *bounds,
                         void *loop, link_state_fn *changed, void *owner)
{
    struct store *self = memory_new (sizeof *self);
    self->bounds = *bounds;
    self->offset_us = clock_wall_us () - clock_mono_us ();
    uint64_t instance = process_random ();
    snprintf (self->instance, sizeof self->instance, "%016" PRIx64, instance);
    snprintf (self->claims_key, sizeof self->claims_key, "plan:claim:%016" PRIx64, instance);
    snprintf (self->sent_key, sizeof self->sent_key, "plan:sent:%016" PRIx64, instance);
    self->link = link_new (config, loop, changed, owner);
    return self;
}

void store_destroy (struct store **self_p)
{
    if (!*self_p)
        return;
    link_destroy (&(*self_p)->link);
    free (*self_p);
    *self_p = NULL;
}

void store_set_bounds (struct store *self, const struct store_bounds *bounds)
{
    self->bounds = *bounds;
}

struct link *store_link (const struct store *self)
{
    return self->link;
}

int64_t store_now_us (const struct store *self)
{
    return clock_mono_us () + self->offset_us;
}

enum { STEP_US = 2000000 }; // a clock that differs by more was set

void store_learn_time (struct ask *ask, int64_t redis_us)
{
    struct store *self = ask->store;
    // A slow answer says little, a fast one corrects what slow ones left; a step of the clock shows
    // in either direction.
    int64_t least = redis_us - clock_mono_us ();
    int64_t most = redis_us - ask->asked_us;
    if (redis_us <= 0)
        return; // no time of a Redis
    int64_t before_us = self->offset_us;
    if (self->offset_us < least)
        self->offset_us = least;
    else if (self->offset_us > most)
        self->offset_us = most;
    int64_t step_us = self->offset_us - before_us;
    if (self->learned && (step_us > STEP_US || step_us < -STEP_US))
        log_event (LEVEL_WARN, "clock.step",
                   "seconds=%.1f reason=\"the clock of Redis was set: leases end early or late by "
                   "that\"",
                   (double)step_us / 1e6);
    self->learned = true;
}

// -- asking and reading answers

struct ask *ask_new (struct store *self, void (*reply) (void), void *owner)
{
    struct ask *ask = memory_new (sizeof *ask);
    *ask =
        (struct ask){.store = self, .reply = reply, .owner = owner, .asked_us = clock_mono_us ()};
    return ask;
}

bool reply_is_array (const redisReply *reply, size_t elements)
{
    return reply && reply->type == REDIS_REPLY_ARRAY && reply->elements >= elements;
}

enum store_result reply_result (const redisReply *reply, const char **ret_error)
{
    *ret_error = "";
    if (!reply)
        return STORE_LOST;
    if (reply->type != REDIS_REPLY_ERROR)
        return STORE_DONE;
    *ret_error = reply->str;
    return STORE_ERROR;
}

struct span reply_text (const redisReply *reply)
{
    bool text = reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS;
    return text ? span_of (reply->str, reply->len) : (struct span){0};
}

int64_t reply_number (const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        return reply->integer;
    return reply_text (reply).size ? strtoll (reply->str, NULL, 10) : 0;
}

bool message_key_parse (struct span key, struct span *ret_station, uint64_t *ret_id)
{
    static const char prefix[] = "plan:msg:";
    const size_t size = sizeof prefix - 1;
    if (key.size <= size || memcmp (key.data, prefix, size) != 0)
        return false;
    const uint8_t *colon = memrchr (key.data + size, ':', key.size - size);
    if (!colon)
        return false;
    *ret_station = span_of (key.data + size, (size_t)(colon - key.data) - size);
    return station_name_valid (*ret_station) &&
           ident_parse (span_of (colon + 1, (size_t)(key.data + key.size - colon - 1)), ret_id);
}

void run_parse (struct span text, uint64_t *ret_exec_id, bool *ret_again)
{
    *ret_exec_id = text.size ? strtoull ((const char *)text.data, NULL, 10) : 0;
    *ret_again = text.size && memchr (text.data, '+', text.size);
}

// -- submit

// A submission is acknowledged when the replicas have it as well.
static void on_submission_safe (void *owner, bool enough)
{
    struct ask *ask = owner;
    struct store_submitted answer = {.result = enough ? STORE_DONE : STORE_UNSURE, .error = ""};
    ((store_submitted_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

static void on_submitted (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_submitted answer = {0};
    struct reason reason;
    answer.result = reply_result (reply, &answer.error);
    int64_t how = answer.result == STORE_DONE && reply_is_array (reply, 1)
                      ? reply_number (reply->element[0])
                      : 1;
    if (how == 2 && reply_is_array (reply, 3)) {
        struct span bound = reply_text (reply->element[1]), most = reply_text (reply->element[2]);
        reason_set (&reason, "%.*s: there are %.*s plans already", (int)bound.size,
                    (const char *)bound.data, (int)most.size, (const char *)most.data);
        answer.result = STORE_FULL;
        answer.error = reason.text;
    } else if (how == 0 && reply_is_array (reply, 3)) {
        answer.result = STORE_HELD;
        answer.message = reply_text (reply->element[2]);
    }
    if (answer.result == STORE_DONE) {
        link_replicate (ask->store->link, on_submission_safe, ask);
        return;
    }
    ((store_submitted_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_submit (struct store *self, const struct plan *plan, store_submitted_fn *reply,
                   void *owner)
{
    struct names names;
    char id[IDENT_SIZE], score[24], most[24], most_station[24], most_caller[24];
    names_make (&names, plan->station, plan->id);
    snprintf (id, sizeof id, "%016" PRIx64, plan->id);
    snprintf (score, sizeof score, "%" PRId64, plan->plan_time);
    snprintf (most, sizeof most, "%" PRId64, self->bounds.plans);
    snprintf (most_station, sizeof most_station, "%" PRId64, self->bounds.plans_station);
    snprintf (most_caller, sizeof most_caller, "%" PRId64, self->bounds.plans_caller);
    size_t size;
    char *json = plan_stored_text (plan, &size);
    const struct span args[] = {span_text (KEY_TIME_SET),
                                span_text (names.member),
                                span_text (KEY_INDEX),
                                span_text (id),
                                plan->station,
                                span_text (score),
                                span_of (json, size),
                                span_text (most),
                                span_text (most_station),
                                span_text (most_caller)};
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_SUBMIT,
                               .repeat = LINK_ONCE,
                               .keys = 3,
                               .args = args,
                               .count = sizeof args / sizeof *args,
                               .reply = on_submitted,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
    free (json);
}

// -- claim

enum { CLAIM_HEAD = 3 }; // answers before the claimed plans

// The newest run is the last one.
static void remember_exec (struct store *self, const redisReply *reply)
{
    const redisReply *last = reply->element[reply->elements - 1];
    uint64_t exec_id = 0;
    bool again;
    if (reply->elements > CLAIM_HEAD && reply_is_array (last, 5))
        run_parse (reply_text (last->element[2]), &exec_id, &again);
    self->exec_id = exec_id > self->exec_id ? exec_id : self->exec_id;
}

static void on_claimed (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_claim answer = {0};
    answer.result = reply_result (reply, &answer.error);
    if (answer.result == STORE_DONE && reply_is_array (reply, CLAIM_HEAD)) {
        const redisReply *broken = reply->element[2];
        answer.broken = broken->elements;
        answer.first_broken =
            broken->elements ? reply_text (broken->element[0]) : answer.first_broken;
        int64_t now_us = reply_number (reply->element[0]);
        struct span next = reply_text (reply->element[1]);
        store_learn_time (ask, now_us);
        answer.has_next = next.size > 0;
        // An operator's score may be anything: bound it before it is an integer.
        double score = answer.has_next ? strtod ((const char *)next.data, NULL) : 0;
        answer.next_us = (int64_t)(fmin (fmax (score, 0), (double)SCHEDULE_TIME_MAX) * 1e6);
        answer.lease_end_us = now_us + ask->lease_us;
        answer.count = reply->elements - CLAIM_HEAD;
        remember_exec (ask->store, reply);
        answer.reply = reply;
    }
    ((store_claim_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_claim (struct store *self, int64_t limit, int64_t lease_s, store_claim_fn *reply,
                  void *owner)
{
    char count[24], lease[24], number[24], outcomes[24];
    snprintf (count, sizeof count, "%" PRId64, limit);
    snprintf (lease, sizeof lease, "%" PRId64, lease_s);
    snprintf (outcomes, sizeof outcomes, "%" PRId64, self->bounds.history_count);
    snprintf (number, sizeof number, "%" PRIu64, ++self->claims);
    const struct span args[] = {
        span_text (KEY_TIME_SET), span_text (KEY_RUNS),         span_text (KEY_META),
        span_text (KEY_INDEX),    span_text (self->claims_key), span_text (count),
        span_text (lease),        span_text (number),           span_text (outcomes),
    };
    struct ask *ask = ask_new (self, (void (*) (void))reply, owner);
    ask->lease_us = lease_s * 1000000;
    link_call (self->link, &(struct link_call){.script = SCRIPT_CLAIM,
                                               .repeat = LINK_REPEAT,
                                               .keys = 5,
                                               .args = args,
                                               .count = sizeof args / sizeof *args,
                                               .reply = on_claimed,
                                               .owner = ask});
}

bool store_claim_at (const struct store_claim *answer, size_t index, struct store_claimed *ret)
{
    const redisReply *row = answer->reply->element[CLAIM_HEAD + index];
    if (!reply_is_array (row, 5))
        return false;
    bool again;
    ret->message = reply_text (row->element[1]);
    run_parse (reply_text (row->element[2]), &ret->exec_id, &again);
    ret->again = reply_number (row->element[3]) >= 1;
    ret->lost = (uint64_t)reply_number (row->element[4]);
    return message_key_parse (reply_text (row->element[0]), &ret->station, &ret->plan_id);
}

// -- commit

static const char *const commit_modes[COMMITS] = {
    [COMMIT_LEASE] = "lease", [COMMIT_RETRY] = "retry", [COMMIT_DOUBT] = "doubt",
    [COMMIT_NEXT] = "next",   [COMMIT_PARK] = "park",   [COMMIT_END] = "end",
};

static const char *const broadcast_modes[] = {
    [BROADCAST_NONE] = "none", [BROADCAST_RESULT] = "result", [BROADCAST_FAILURE] = "failure"};

static void on_committed (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_committed answer = {.epoch = ""};
    answer.result = reply_result (reply, &answer.error);
    if (answer.result == STORE_DONE && reply_is_array (reply, 5)) {
        answer.seq = reply_number (reply->element[1]);
        answer.epoch = reply_text (reply->element[2]).size ? reply->element[2]->str : "";
        answer.votes = reply->element[4];
        if (answer.seq) {
            ask->store->seq = answer.seq;
            snprintf (ask->store->epoch, sizeof ask->store->epoch, "%s", answer.epoch);
        }
        store_learn_time (ask, reply_number (reply->element[3]));
    } else if (answer.result == STORE_DONE && reply_is_array (reply, 2)) {
        answer.result = STORE_CHANGED;
        answer.message = reply_text (reply->element[1]);
    } else if (answer.result == STORE_DONE) {
        answer.result = STORE_HELD;
    }
    ((store_committed_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

char *store_votes_json (const redisReply *votes)
{
    json_t *object = json_object (), *all = json_object ();
    for (size_t i = 0; votes && i + 1 < votes->elements; i += 2) {
        struct span name = reply_text (votes->element[i]),
                    text = reply_text (votes->element[i + 1]);
        json_t *frames = json_loadb ((const char *)text.data, text.size, 0, NULL);
        json_t *key = json_stringn ((const char *)name.data, name.size);
        if (key && frames)
            json_object_set (all, json_string_value (key), frames);
        json_decref (key);
        json_decref (frames);
    }
    json_object_set_new (object, "votes", all);
    char *text = json_write (object);
    json_decref (object);
    return text;
}

static char *work_json (const struct participant *participant)
{
    json_t *array = json_array ();
    for (size_t i = 0; i < participant->count; i++)
        json_array_append_new (array, json_from_frame (participant->frames[i]));
    char *text = json_write (array);
    json_decref (array);
    return text;
}

static char *message_json (const struct store_commit *commit)
{
    if (commit->keep_message || commit->decision->unchanged ||
        commit->decision->commit == COMMIT_END)
        return memory_text ("");
    size_t size;
    return plan_stored_text (commit->plan, &size);
}

// Seconds from now, or the score.
static void commit_when (const struct store_commit *commit, char *out, size_t size)
{
    const struct decision *decision = commit->decision;
    if (decision->unqueued)
        *out = '\0';
    else if (decision->commit == COMMIT_NEXT)
        snprintf (out, size, "%" PRId64, commit->plan->plan_time);
    else if (decision->commit == COMMIT_LEASE)
        snprintf (out, size, "%" PRId64, commit->lease_s);
    else
        snprintf (out, size, "%.3f", (double)decision->delay_ms / 1000);
}

static const char *votes_mode (const struct decision *decision)
{
    if (decision->open_poll)
        return decision->close_poll ? "oc" : "o";
    return decision->close_poll ? "c" : "";
}

void store_commit (struct store *self, const struct store_commit *commit, store_committed_fn *reply,
                   void *owner)
{
    enum { KEYS = 9, FIXED = KEYS + 12 };
    const struct decision *decision = commit->decision;
    struct names names;
    char exec_id[24], when[32], number[24], revision[24] = "", outcomes[24];
    names_make (&names, commit->key_station, commit->plan->id);
    snprintf (exec_id, sizeof exec_id, "%" PRIu64, commit->exec_id);
    snprintf (number, sizeof number, "%" PRIu64, ++self->commits);
    snprintf (outcomes, sizeof outcomes, "%" PRId64, self->bounds.history_count);
    if (commit->revision != REVISION_ANY)
        snprintf (revision, sizeof revision, "%" PRId64, commit->revision);
    commit_when (commit, when, sizeof when);
    char *json = message_json (commit);
    size_t count = FIXED + 2 * commit->participant_count;
    struct span *args = memory_new (count * sizeof *args);
    const struct span fixed[FIXED] = {
        span_text (KEY_TIME_SET),
        span_text (names.member),
        span_text (names.work),
        span_text (KEY_RUNS),
        span_text (KEY_INDEX),
        span_text (KEY_META),
        span_text (names.wait),
        span_text (KEY_TOLD),
        span_text (self->sent_key),
        span_text (exec_id),
        span_text (commit_modes[decision->commit]),
        span_text (when),
        span_text (json),
        span_text (revision),
        span_text (broadcast_modes[decision->broadcast]),
        span_text (decision->waiting == WAITING_FOR_TARGET ? "1" : "0"),
        span_text (names.entry),
        span_text (number),
        commit->record,
        span_text (outcomes),
        span_text (votes_mode (decision)),
    };
    memcpy (args, fixed, sizeof fixed);
    char **texts = memory_new ((commit->participant_count + 1) * sizeof *texts);
    for (size_t i = 0; i < commit->participant_count; i++) {
        texts[i] = work_json (&commit->participants[i]);
        args[FIXED + 2 * i] = commit->participants[i].name;
        args[FIXED + 2 * i + 1] = span_text (texts[i]);
    }
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_COMMIT,
                               .repeat = LINK_REPEAT,
                               .keys = KEYS,
                               .args = args,
                               .count = count,
                               .reply = on_committed,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
    for (size_t i = 0; i < commit->participant_count; i++)
        free (texts[i]);
    free (texts);
    free (args);
    free (json);
}

// -- change

static void on_change_safe (void *owner, bool enough)
{
    struct ask *ask = owner;
    ((store_done_fn *)ask->reply) (ask->owner, enough ? STORE_DONE : STORE_UNSURE, "");
    free (ask);
}

static void on_changed (void *owner, const redisReply *reply)
{
    static const enum store_result results[] = {STORE_NONE, STORE_DONE, STORE_CHANGED};
    struct ask *ask = owner;
    const char *error;
    enum store_result result = reply_result (reply, &error);
    int64_t number = result == STORE_DONE ? reply_number (reply) : 0;
    if (result == STORE_DONE)
        result = number >= 0 && number <= 2 ? results[number] : STORE_NONE;
    if (result == STORE_DONE) {
        link_replicate (ask->store->link, on_change_safe, ask);
        return;
    }
    ((store_done_fn *)ask->reply) (ask->owner, result, error);
    free (ask);
}

static void change_place (const struct store_change *change, char *out, size_t size)
{
    switch (change->queue) {
    case REQUEUE_KEEP:
        snprintf (out, size, "keep");
        break;
    case REQUEUE_TIME:
        snprintf (out, size, "%" PRId64, change->plan->plan_time);
        break;
    case REQUEUE_NOW:
        snprintf (out, size, "now");
        break;
    case REQUEUE_LEASE:
        snprintf (out, size, "+%" PRId64, change->lease_s);
        break;
    case REQUEUE_OUT:
        snprintf (out, size, "out");
        break;
    }
}

void store_change (struct store *self, const struct store_change *change, store_done_fn *reply,
                   void *owner)
{
    struct names names;
    char revision[24], place[32], run[24] = "";
    names_make (&names, change->key_station, change->plan->id);
    snprintf (revision, sizeof revision, "%" PRId64, change->revision);
    change_place (change, place, sizeof place);
    if (change->exec_id)
        snprintf (run, sizeof run, "%" PRIu64, change->exec_id);
    size_t size;
    char *json = plan_stored_text (change->plan, &size);
    const struct span args[] = {
        span_text (KEY_TIME_SET), span_text (names.member), span_text (KEY_RUNS),
        span_text (names.wait),   span_text (revision),     span_of (json, size),
        span_text (place),        span_text (run),
    };
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_CHANGE,
                               .repeat = LINK_ONCE,
                               .keys = 4,
                               .args = args,
                               .count = sizeof args / sizeof *args,
                               .reply = on_changed,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
    free (json);
}
