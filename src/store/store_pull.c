#include "store_pull.h"

#include <stdlib.h>

#include "clock.h"
#include "memory.h"
#include "store_private.h"

// A call of the core with its arguments, kept until its outcome is written.
struct pull_call {
    struct waiter waiter;
    struct store *store;
    enum pull_op { OP_OFFER, OP_TAKE, OP_ALIVE, OP_REPORT, OP_TEAM } pull_op;
    void (*reply) (void); // the caller's function, cast back to its own type for the call
    void *owner;
    char target[STATION_NAME_MAX + 1], name[STATION_NAME_MAX + 1];
    char *texts[2];
    struct core_offer offer;
    struct core_worker worker;
    struct core_heartbeat heartbeat;
    struct core_report report;
    struct core_pull_take take;
    struct span members[STORE_MEMBERS_MAX];
    char *member_texts;
    union {
        struct store_offered offered;
        struct store_taken taken;
        struct store_alive alive;
        struct store_reported reported;
        struct store_team team;
    } answer;
    struct core_job *jobs;

    // data read from Redis
    struct core_found found;
    char found_target[STATION_NAME_MAX + 1];
    char *message;
};

// -- answers

// Call the reply function with the answer of its type.
static void answer_pull (struct pull_call *self, enum store_result result, const char *error)
{
    switch (self->pull_op) {
    case OP_OFFER:
        self->answer.offered.result = result;
        self->answer.offered.error = error;
        ((store_offered_fn *)self->reply) (self->owner, &self->answer.offered);
        break;
    case OP_TAKE:
        self->answer.taken.result = result;
        self->answer.taken.error = error;
        self->answer.taken.jobs = self->jobs;
        if (result != STORE_DONE)
            self->answer.taken.taken = (struct core_pull_taken){0};
        ((store_taken_fn *)self->reply) (self->owner, &self->answer.taken);
        break;
    case OP_ALIVE:
        self->answer.alive.result = result;
        self->answer.alive.error = error;
        ((store_report_worker_fn *)self->reply) (self->owner, &self->answer.alive);
        break;
    case OP_REPORT:
        self->answer.reported.result = result;
        self->answer.reported.error = error;
        ((store_reported_fn *)self->reply) (self->owner, &self->answer.reported);
        break;
    case OP_TEAM:
        self->answer.team.result = result;
        self->answer.team.error = error;
        ((store_team_fn *)self->reply) (self->owner, &self->answer.team);
        break;
    }
}

static void end_pull (struct pull_call *self, enum store_result result, const char *error)
{
    answer_pull (self, result, error);
    free (self->texts[0]);
    free (self->texts[1]);
    free (self->message);
    free (self->member_texts);
    free (self->jobs);
    free (self);
}

static void on_pull_written (struct waiter *waiter, enum written how, const char *error)
{
    end_pull ((struct pull_call *)waiter, store_result_of_wait (how), error);
}

// Answer that the run is not the plan's current one.
static void on_not_current (struct waiter *waiter, enum written how, const char *error)
{
    (void)how, (void)error;
    end_pull ((struct pull_call *)waiter, STORE_HELD, "");
}

static void wait_for_pull_batch (struct pull_call *self)
{
    bool sure = self->pull_op == OP_OFFER || self->pull_op == OP_REPORT;
    self->waiter =
        (struct waiter){.kind = sure ? WAITER_SURE : WAITER_CLIENT, .release = on_pull_written};
    writer_wait_batch (self->store->writer, &self->waiter, clock_mono_us ());
}

// -- the core's calls

// Make the call of the core with the arguments that were kept.
static enum core_result make_core_call (struct pull_call *self)
{
    struct core *core = self->store->core;
    int64_t now_us = store_now_us (self->store);
    switch (self->pull_op) {
    case OP_OFFER:
        return core_pull_offer (core, &self->offer, now_us, &self->answer.offered.offered);
    case OP_TAKE:
        core_pull_take (core, &self->take, now_us, self->jobs, &self->answer.taken.taken);
        return CORE_DONE;
    case OP_ALIVE:
        return core_pull_alive (core, &self->worker, &self->heartbeat, now_us,
                                &self->answer.alive.alive);
    case OP_REPORT:
        return core_pull_report (core, &self->worker, &self->report, now_us,
                                 &self->answer.reported.reported);
    default:
        return core_pull_team (core, &self->worker, now_us, &self->answer.team.team);
    }
}

static void read_pull_plan (struct pull_call *self);

// Make the call of the core. If it needs data of the plan that are not in memory, read them first
// and call again; else answer when its changes are written.
static void run_pull (struct pull_call *self)
{
    enum core_result result = store_is_serving (self->store) ? make_core_call (self) : CORE_FULL;
    if (result == CORE_UNREAD && !self->found.team) {
        read_pull_plan (self);
    } else if (result == CORE_FULL) {
        end_pull (self, STORE_LOST, "");
    } else if (self->pull_op == OP_TEAM) { // the team is valid until the next call of the core
        end_pull (self, result == CORE_DONE ? STORE_DONE : STORE_NONE, "");
    } else if (result == CORE_DONE) {
        wait_for_pull_batch (self);
    } else {
        self->waiter.release = on_not_current;
        writer_wait_flush (self->store->writer, &self->waiter);
    }
}

static void run_pull_at_turn_end (struct waiter *waiter, enum written how, const char *error)
{
    (void)how, (void)error;
    run_pull ((struct pull_call *)waiter);
}

// Defer the call to the end of the turn, so that no callback runs within the caller's function.
static void defer_pull (struct pull_call *self)
{
    self->waiter.release = run_pull_at_turn_end;
    writer_wait_flush (self->store->writer, &self->waiter);
}

// -- reading the data of a plan that are not in memory

static void on_pull_team (void *owner, const redisReply *reply)
{
    struct pull_call *self = owner;
    if (!reply) {
        end_pull (self, STORE_LOST, "");
        return;
    }
    struct span *spans = reply_texts (reply, &self->found.team_count);
    self->found.team = spans;
    run_pull (self);
    free (spans); // not through `self`, which may be freed already
}

static void on_report_score (void *owner, const redisReply *reply)
{
    struct pull_call *self = owner;
    struct span text = reply ? reply_text (reply) : (struct span){0};
    self->found.report = text.size ? (int64_t)strtod ((const char *)text.data, NULL) : -1;
}

static void on_pull_score (void *owner, const redisReply *reply)
{
    struct pull_call *self = owner;
    self->found.score_us = reply ? reply_score_us (reply) : -1;
}

// Read what else the core needs of the plan: its score, its team and the worker's report.
static void on_pull_plan (void *owner, const struct store_loaded *plan)
{
    struct pull_call *self = owner;
    struct store *store = self->store;
    char key[MEMBER_MAX + 2], report[REPORT_NAME_SIZE];
    if (plan->result == STORE_DONE) {
        memcpy (self->found_target, plan->station.data, plan->station.size);
        self->found.target = span_of (self->found_target, plan->station.size);
        self->message = memory_copy (plan->message.data, plan->message.size);
        self->found.message = span_of (self->message, plan->message.size);
    } else if (plan->result != STORE_NONE) {
        end_pull (self, plan->result, plan->error);
        return;
    }
    uint64_t id = self->pull_op == OP_OFFER ? self->offer.id : self->worker.id;
    plan_key_make (key, KEY_MESSAGE, self->found.target, id);
    store_send_command (store, LINK_ONCE, WORDS (TEXT ("ZSCORE"), TEXT (KEY_TIME_SET), TEXT (key)),
                        on_pull_score, self);
    if (self->pull_op == OP_REPORT) {
        size_t size = core_report_name (&self->worker, report);
        store_send_command (store, LINK_ONCE,
                            WORDS (TEXT ("ZSCORE"), TEXT (KEY_REPORTS), span_of (report, size)),
                            on_report_score, self);
    }
    plan_key_make (key, KEY_TEAM, self->found.target, id);
    store_send_command (store, LINK_ONCE, WORDS (TEXT ("HGETALL"), TEXT (key)), on_pull_team, self);
}

static void read_pull_plan (struct pull_call *self)
{
    bool offers = self->pull_op == OP_OFFER;
    self->found = (struct core_found){.score_us = -1, .report = -1};
    self->offer.found = self->worker.found = &self->found;
    store_find (self->store, offers ? self->offer.id : self->worker.id,
                offers ? self->offer.target : (struct span){0}, on_pull_plan, self);
}

// -- the store's calls

static struct pull_call *pull_call_new (struct store *self, enum pull_op pull_op,
                                        struct span target, void (*reply) (void), void *owner)
{
    struct pull_call *call = memory_new (sizeof *call);
    call->store = self;
    call->pull_op = pull_op;
    call->reply = reply;
    call->owner = owner;
    if (target.size)
        memcpy (call->target, target.data, target.size);
    return call;
}

void store_offer (struct store *self, const struct store_offer *offer, store_offered_fn *reply,
                  void *owner)
{
    struct pull_call *call =
        pull_call_new (self, OP_OFFER, offer->key_station, (void (*) (void))reply, owner);
    call->offer = (struct core_offer){.target = span_text (call->target),
                                      .id = offer->plan_id,
                                      .exec_id = offer->exec_id,
                                      .already_offered = offer->already_offered,
                                      .lease_us = offer->lease_s * 1000000};
    defer_pull (call);
}

static void copy_take_members (struct pull_call *self, const struct store_take *take)
{
    size_t size = 0;
    for (size_t i = 0; i < take->member_count; i++)
        size += take->members[i].size;
    char *at = self->member_texts = memory_resize (NULL, size + 1);
    for (size_t i = 0; i < take->member_count; i++) {
        memcpy (at, take->members[i].data, take->members[i].size);
        self->members[i] = span_of (at, take->members[i].size);
        at += take->members[i].size;
    }
}

void store_take_jobs (struct store *self, const struct store_take *take, store_taken_fn *reply,
                      void *owner)
{
    char limit[LIMIT_NAME_MAX + 1];
    struct pull_call *call =
        pull_call_new (self, OP_TAKE, span_text (take->station), (void (*) (void))reply, owner);
    snprintf (call->name, sizeof call->name, "%s", take->worker);
    copy_take_members (call, take);
    call->take = (struct core_pull_take){.target = span_text (call->target),
                                         .worker = span_text (call->name),
                                         .limit = take->limit,
                                         .from = take->from,
                                         .lease_us = take->lease_s * 1000000,
                                         .alone = take->alone,
                                         .members = call->members,
                                         .member_count = take->member_count};
    int size = snprintf (limit, sizeof limit, "s:%s", take->station);
    core_configure_limit (self->core, span_of (limit, (size_t)size), &take->station_limit);
    call->jobs = memory_new ((size_t)(take->limit > 0 ? take->limit : 1) * sizeof *call->jobs);
    defer_pull (call);
}

int64_t store_offers (const struct store *self, const char *station)
{
    return core_pull_offers (self->core, span_text (station));
}

// A call with the arguments of a worker.
static struct pull_call *worker_call_new (struct store *self, enum pull_op pull_op,
                                          const struct store_worker *worker, void (*reply) (void),
                                          void *owner)
{
    struct pull_call *call =
        pull_call_new (self, pull_op, span_text (worker->station), reply, owner);
    snprintf (call->name, sizeof call->name, "%s", worker->worker ? worker->worker : "");
    call->worker = (struct core_worker){.id = worker->plan_id,
                                        .target = span_text (call->target),
                                        .worker = span_text (call->name),
                                        .exec_id = worker->exec_id,
                                        .lease_us = worker->lease_s * 1000000};
    return call;
}

static struct span copy_call_text (struct pull_call *self, int at, struct span text)
{
    self->texts[at] = memory_copy (text.data, text.size);
    return span_of (self->texts[at], text.size);
}

void store_report_worker (struct store *self, const struct store_worker *worker,
                          const struct store_heartbeat *heartbeat, store_report_worker_fn *reply,
                          void *owner)
{
    struct pull_call *call =
        worker_call_new (self, OP_ALIVE, worker, (void (*) (void))reply, owner);
    call->heartbeat =
        (struct core_heartbeat){copy_call_text (call, 0, heartbeat->progress), heartbeat->release};
    defer_pull (call);
}

void store_report (struct store *self, const struct store_worker *worker,
                   const struct core_report *report, store_reported_fn *reply, void *owner)
{
    struct pull_call *call =
        worker_call_new (self, OP_REPORT, worker, (void (*) (void))reply, owner);
    call->report = *report;
    call->report.reason = copy_call_text (call, 0, report->reason);
    call->report.result = copy_call_text (call, 1, report->result);
    defer_pull (call);
}

void store_team (struct store *self, uint64_t plan_id, const char *station, store_team_fn *reply,
                 void *owner)
{
    const struct store_worker worker = {.plan_id = plan_id, .station = station};
    defer_pull (worker_call_new (self, OP_TEAM, &worker, (void (*) (void))reply, owner));
}
