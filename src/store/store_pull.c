#include "store_pull.h"

#include <inttypes.h>
#include <stdlib.h>

#include "resp.h"
#include "store_private.h"

// The arguments of every word: keys, word, station, lease, then its own.
enum { HEAD_ARGS = 5, OWN_ARGS_MAX = 16, NUMBER_ROOM = 24 };

static void call (struct store *self, const char *word, struct span station, int64_t lease_s,
                  enum link_repeat repeat, const struct span *own, size_t count,
                  link_reply_fn *reply, struct ask *ask)
{
    char lease[NUMBER_ROOM];
    struct span args[HEAD_ARGS + OWN_ARGS_MAX] = {span_text (KEY_TIME_SET), span_text (KEY_RUNS),
                                                  span_text (word), station};
    snprintf (lease, sizeof lease, "%" PRId64, lease_s);
    args[HEAD_ARGS - 1] = span_text (lease);
    for (size_t i = 0; i < count; i++)
        args[HEAD_ARGS + i] = own[i];
    link_call (self->link, &(struct link_call){.script = SCRIPT_TEAM,
                                               .repeat = repeat,
                                               .keys = 2,
                                               .args = args,
                                               .count = HEAD_ARGS + count,
                                               .reply = reply,
                                               .owner = ask});
}

// The answer is an array of at least so many elements: else it is none of the script's.
static enum store_result read_result (const redisReply *reply, size_t elements,
                                      const char **ret_error)
{
    enum store_result result = reply_result (reply, ret_error);
    if (result != STORE_DONE || reply_is_array (reply, elements))
        return result;
    *ret_error = ODD_ANSWER;
    return STORE_ERROR;
}

// {ended, failed, worker, reason, result}; {} = it goes on.
static struct team_outcome read_outcome (const redisReply *reply)
{
    enum { ENDED, FAILED, WORKER, REASON, RESULT, FIELDS };
    struct team_outcome outcome = {0};
    if (!reply_is_array (reply, FIELDS))
        return outcome;
    outcome.complete = true;
    outcome.ended = reply_number (reply->element[ENDED]);
    outcome.failed = reply_number (reply->element[FAILED]);
    outcome.worker = reply_text (reply->element[WORKER]);
    outcome.reason = reply_text (reply->element[REASON]);
    outcome.result = reply_text (reply->element[RESULT]);
    return outcome;
}

// -- offer

static void on_offered (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_offered answer = {0};
    answer.result = read_result (reply, 1, &answer.error);
    if (answer.result == STORE_DONE && !reply_is_array (reply, 4)) {
        answer.result = STORE_HELD;
    } else if (answer.result == STORE_DONE) {
        answer.free = reply_number (reply->element[1]);
        answer.over = reply_number (reply->element[2]) != 0;
        answer.outcome = read_outcome (reply->element[3]);
    }
    ((store_offered_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_offer (struct store *self, const struct store_offer *offer, store_offered_fn *reply,
                  void *owner)
{
    char id[IDENT_SIZE], exec_id[NUMBER_ROOM];
    ident_text (offer->plan_id, id);
    snprintf (exec_id, sizeof exec_id, "%" PRIu64, offer->exec_id);
    const struct span own[] = {span_text (id), span_text (exec_id),
                               span_text (offer->stands ? "1" : "0")};
    call (self, "offer", offer->key_station, offer->lease_s, LINK_REPEAT, own,
          sizeof own / sizeof *own, on_offered, ask_new (self, (void (*) (void))reply, owner));
}

// -- take

enum { JOB_HEAD = 2, JOB_FIELDS = 5 };

static void on_taken (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_taken answer = {.reply = reply};
    answer.result = read_result (reply, JOB_HEAD, &answer.error);
    if (answer.result == STORE_DONE) {
        answer.next = reply_number (reply->element[0]);
        answer.limited = reply->element[1]->type == REDIS_REPLY_INTEGER;
        answer.wait_ms = answer.limited ? reply_number (reply->element[1]) : 0;
        answer.count = (reply->elements - JOB_HEAD) / JOB_FIELDS;
    }
    ((store_taken_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_take (struct store *self, const struct store_take *take, store_taken_fn *reply,
                 void *owner)
{
    char limit[NUMBER_ROOM], from[NUMBER_ROOM];
    enum { OWN = 5 };
    struct span own[OWN + STORE_MEMBERS_MAX] = {span_text (take->worker)};
    snprintf (limit, sizeof limit, "%" PRId64, take->limit);
    snprintf (from, sizeof from, "%" PRId64, take->from);
    own[1] = span_text (limit);
    own[2] = span_text (from);
    own[3] = span_text (take->station_limit);
    own[4] = span_text (take->alone ? "1" : "");
    for (size_t i = 0; i < take->member_count; i++)
        own[OWN + i] = take->members[i];
    call (self, "take", span_text (take->station), take->lease_s, LINK_ONCE, own,
          OWN + take->member_count, on_taken, ask_new (self, (void (*) (void))reply, owner));
}

bool store_job_at (const struct store_taken *answer, size_t index, struct store_job *ret)
{
    if (index >= answer->count)
        return false;
    redisReply *const *row = answer->reply->element + JOB_HEAD + JOB_FIELDS * index;
    *ret = (struct store_job){.ping_s = reply_number (row[2]),
                              .timeout_s = reply_number (row[3]),
                              .message = reply_text (row[4])};
    run_parse (reply_text (row[1]), &ret->exec_id, &(bool){false});
    return message_key_parse (reply_text (row[0]), &ret->station, &ret->plan_id);
}

static void on_offers (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    const char *error;
    enum store_result result = reply_result (reply, &error);
    ((store_offers_fn *)ask->reply) (ask->owner, result,
                                     result == STORE_DONE ? reply_number (reply) : 0);
    free (ask);
}

void store_offers (struct store *self, const char *station, store_offers_fn *reply, void *owner)
{
    char key[MEMBER_MAX];
    snprintf (key, sizeof key, "plan:offers:%s", station);
    const struct span args[] = {span_text (key)};
    link_call (self->link,
               &(struct link_call){.command = "ZCARD",
                                   .repeat = LINK_ONCE,
                                   .args = args,
                                   .count = 1,
                                   .reply = on_offers,
                                   .owner = ask_new (self, (void (*) (void))reply, owner)});
}

// -- a worker's words

// Id, worker, exec_id: what both words begin with.
struct worker_args {
    char id[IDENT_SIZE], exec_id[NUMBER_ROOM];
};

static size_t add_worker (const struct store_worker *worker, struct worker_args *texts,
                          struct span *own)
{
    id_digits (worker->plan_id, texts->id);
    texts->exec_id[0] = '\0';
    if (worker->exec_id)
        snprintf (texts->exec_id, sizeof texts->exec_id, "%" PRIu64, worker->exec_id);
    own[0] = span_text (texts->id);
    own[1] = span_text (worker->worker);
    own[2] = span_text (texts->exec_id);
    return 3;
}

static void on_alive (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_alive answer = {0};
    answer.result = read_result (reply, 2, &answer.error);
    if (answer.result == STORE_DONE && reply_is_array (reply, 3)) {
        answer.ping_s = reply_number (reply->element[1]);
        answer.timeout_s = reply_number (reply->element[2]);
    } else if (answer.result == STORE_DONE) {
        answer.stop = reply_text (reply->element[1]);
    }
    ((store_alive_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_alive (struct store *self, const struct store_worker *worker,
                  const struct store_sign *sign, store_alive_fn *reply, void *owner)
{
    struct worker_args texts;
    struct span own[5];
    size_t count = add_worker (worker, &texts, own);
    own[count++] = sign->progress;
    own[count++] = span_text (sign->release ? "1" : "");
    call (self, "alive", span_text (worker->station), worker->lease_s, LINK_ONCE, own, count,
          on_alive, ask_new (self, (void (*) (void))reply, owner));
}

static void on_reported (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_reported answer = {0};
    uint64_t plan_id;
    answer.result = read_result (reply, 1, &answer.error);
    if (answer.result == STORE_DONE && reply_is_array (reply, 2) &&
        reply_number (reply->element[0]) == 0) {
        answer.refused = reply_text (reply->element[1]);
    } else if (answer.result == STORE_DONE && reply_is_array (reply, 5)) {
        answer.outcome = read_outcome (reply->element[1]);
        message_key_parse (reply_text (reply->element[2]), &answer.station, &plan_id);
        run_parse (reply_text (reply->element[3]), &answer.exec_id, &answer.again);
        answer.message = reply_text (reply->element[4]);
    }
    ((store_reported_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_report (struct store *self, const struct store_worker *worker,
                   const struct store_report *report, store_reported_fn *reply, void *owner)
{
    struct worker_args texts;
    struct span own[6];
    size_t count = add_worker (worker, &texts, own);
    own[count++] = span_text (report->success ? "success" : "fail");
    own[count++] = report->reason;
    own[count++] = report->result;
    const char *word = report->repeat ? "reported" : "report";
    call (self, word, span_text (worker->station), worker->lease_s, LINK_ONCE, own, count,
          on_reported, ask_new (self, (void (*) (void))reply, owner));
}

// -- the team

enum { TEAM_HEAD = 4 };

static void on_team (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_team answer = {.reply = reply};
    uint64_t plan_id;
    answer.result = read_result (reply, 0, &answer.error);
    if (answer.result == STORE_DONE && !reply_is_array (reply, TEAM_HEAD)) {
        answer.result = STORE_NONE;
    } else if (answer.result == STORE_DONE) {
        message_key_parse (reply_text (reply->element[0]), &answer.station, &plan_id);
        answer.current = reply_number (reply->element[3]) != 0;
        answer.count = reply->elements - TEAM_HEAD;
    }
    ((store_team_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_team (struct store *self, uint64_t plan_id, const char *station, store_team_fn *reply,
                 void *owner)
{
    char id[IDENT_SIZE];
    id_digits (plan_id, id);
    const struct span own[] = {span_text (id)};
    call (self, "team", span_text (station), 0, LINK_ONCE, own, 1, on_team,
          ask_new (self, (void (*) (void))reply, owner));
}

bool store_member_at (const struct store_team *answer, size_t index, struct team_member *ret)
{
    enum { NAME, STATE, STARTED, HEARD, ENDED, EXEC, REASON, RESULT, PROGRESS, FIELDS };
    if (index >= answer->count ||
        !reply_is_array (answer->reply->element[TEAM_HEAD + index], FIELDS))
        return false;
    redisReply *const *row = answer->reply->element[TEAM_HEAD + index]->element;
    *ret = (struct team_member){.name = reply_text (row[NAME]),
                                .state = reply_text (row[STATE]),
                                .started_ms = reply_number (row[STARTED]),
                                .heard_ms = reply_number (row[HEARD]),
                                .ended_ms = reply_number (row[ENDED]),
                                .exec_id = reply_text (row[EXEC]),
                                .reason = reply_text (row[REASON]),
                                .result = reply_text (row[RESULT]),
                                .progress = reply_text (row[PROGRESS])};
    return true;
}
