#include "store_pull.h"

#include <stdlib.h>

#include "clock.h"
#include "frames.h"
#include "memory.h"
#include "store_private.h"

// A call of the core with its arguments, kept until its outcome is written.
struct pull_call {
    struct waiter waiter;
    struct store *store;
    enum pull_op { OP_OFFER, OP_TAKE, OP_ALIVE, OP_REPORT, OP_TEAM } pull_op;
    store_pulled_fn *reply;
    void *owner;
    struct frames *texts; // texts of the arguments below
    struct core_offer offer;
    struct core_worker worker;
    struct core_heartbeat heartbeat;
    struct core_report report;
    struct core_pull_take take;
    struct frames *members;
    struct store_pulled answer;
    struct core_job *jobs;
    bool not_current; // the run is not the plan's current one

    // data read from Redis
    struct core_found found;
    char found_target[STATION_NAME_MAX + 1];
    char *message;
};

static void end_pull (struct pull_call *self, enum store_result result, const char *error)
{
    struct store_pulled *answer = &self->answer;
    if (self->pull_op == OP_TAKE && result != STORE_DONE)
        answer->taken = (struct core_pull_taken){0};
    if (self->pull_op == OP_TAKE)
        answer->jobs = self->jobs;
    answer->result = result;
    answer->error = error;
    self->reply (self->owner, answer);
    free (self->texts);
    free (self->message);
    free (self->members);
    free (self->jobs);
    free (self);
}

static void on_pull_written (struct waiter *waiter, enum written how, const char *error)
{
    struct pull_call *self = (struct pull_call *)waiter; // it is the first member
    end_pull (self, self->not_current ? STORE_HELD : store_result_of_wait (how), error);
}

// -- the core's calls

// Make the call of the core with the arguments that were kept.
static enum core_result make_core_call (struct pull_call *self)
{
    struct core *core = self->store->core;
    int64_t now_us = store_now_us (self->store);
    switch (self->pull_op) {
    case OP_OFFER:
        return core_pull_offer (core, &self->offer, now_us, &self->answer.offered);
    case OP_TAKE:
        core_pull_take (core, &self->take, now_us, self->jobs, &self->answer.taken);
        return CORE_DONE;
    case OP_ALIVE:
        return core_pull_alive (core, &self->worker, &self->heartbeat, now_us, &self->answer.alive);
    case OP_REPORT:
        return core_pull_report (core, &self->worker, &self->report, now_us,
                                 &self->answer.reported);
    default:
        return core_pull_team (core, &self->worker, now_us, &self->answer.team);
    }
}

static void read_pull_plan (struct pull_call *self);

// Make the call of the core. If it needs data of the plan that are not in memory, read them first
// and call again; else answer when its changes are written.
static void run_pull (struct pull_call *self)
{
    enum core_result result = store_is_serving (self->store) ? make_core_call (self) : CORE_FULL;
    bool sure = self->pull_op == OP_OFFER || self->pull_op == OP_REPORT;
    self->waiter =
        (struct waiter){.kind = sure ? WAITER_SURE : WAITER_CLIENT, .release = on_pull_written};
    if (result == CORE_UNREAD && !self->found.team) {
        read_pull_plan (self);
    } else if (result == CORE_FULL) {
        end_pull (self, STORE_LOST, "");
    } else if (self->pull_op == OP_TEAM) { // the team is valid until the next call of the core
        end_pull (self, result == CORE_DONE ? STORE_DONE : STORE_NONE, "");
    } else if (result == CORE_DONE) {
        writer_wait_batch (self->store->writer, &self->waiter, clock_mono_us ());
    } else {
        self->not_current = true;
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
    struct span text = reply_text (reply);
    self->found.report = text.size ? (int64_t)strtod ((const char *)text.data, NULL) : -1;
}

static void on_pull_score (void *owner, const redisReply *reply)
{
    struct pull_call *self = owner;
    self->found.score_us = reply_score_us (reply);
}

// Read what else the core needs of the plan: its score, its team and the worker's report.
static void on_pull_plan (void *owner, const struct store_loaded *plan)
{
    struct pull_call *self = owner;
    struct store *store = self->store;
    char report[REPORT_NAME_SIZE];
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
    struct span key = PLAN_KEY (KEY_MESSAGE, self->found.target, id);
    store_get (store, WORDS (TEXT ("ZSCORE"), TEXT (KEY_TIME_SET), key), on_pull_score, self);
    if (self->pull_op == OP_REPORT) {
        size_t size = core_report_name (&self->worker, report);
        store_get (store, WORDS (TEXT ("ZSCORE"), TEXT (KEY_REPORTS), span_of (report, size)),
                   on_report_score, self);
    }
    store_get (store, WORDS (TEXT ("HGETALL"), PLAN_KEY (KEY_TEAM, self->found.target, id)),
               on_pull_team, self);
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
                                        store_pulled_fn *reply, void *owner)
{
    struct pull_call *call = memory_new (sizeof *call);
    call->store = self;
    call->pull_op = pull_op;
    call->reply = reply;
    call->owner = owner;
    return call;
}

void store_offer (struct store *self, const struct core_offer *offer, store_pulled_fn *reply,
                  void *owner)
{
    struct pull_call *call = pull_call_new (self, OP_OFFER, reply, owner);
    call->offer = *offer;
    call->texts = frames_copy (&offer->target, 1);
    call->offer.target = call->texts->at[0];
    defer_pull (call);
}

void store_take_jobs (struct store *self, const struct core_pull_take *take,
                      const struct limit *limit, store_pulled_fn *reply, void *owner)
{
    struct pull_call *call = pull_call_new (self, OP_TAKE, reply, owner);
    call->texts = frames_copy (WORDS (take->target, take->worker));
    call->members = frames_copy (take->members, take->member_count);
    call->take = *take;
    call->take.target = call->texts->at[0];
    call->take.worker = call->texts->at[1];
    call->take.members = call->members->at;
    configure_target_limit (self, take->target, limit);
    call->jobs = memory_new ((size_t)(take->limit > 0 ? take->limit : 1) * sizeof *call->jobs);
    defer_pull (call);
}

// Keep the arguments of a worker, and the texts of what it sends: texts->at[2] and [3].
static void copy_worker (struct pull_call *self, const struct core_worker *worker,
                         struct span first, struct span second)
{
    self->texts = frames_copy (WORDS (worker->target, worker->worker, first, second));
    self->worker = *worker;
    self->worker.target = self->texts->at[0];
    self->worker.worker = self->texts->at[1];
}

void store_report_worker (struct store *self, const struct core_worker *worker,
                          const struct core_heartbeat *heartbeat, store_pulled_fn *reply,
                          void *owner)
{
    struct pull_call *call = pull_call_new (self, OP_ALIVE, reply, owner);
    copy_worker (call, worker, heartbeat->progress, (struct span){0});
    call->heartbeat = *heartbeat;
    call->heartbeat.progress = call->texts->at[2];
    defer_pull (call);
}

void store_report (struct store *self, const struct core_worker *worker,
                   const struct core_report *report, store_pulled_fn *reply, void *owner)
{
    struct pull_call *call = pull_call_new (self, OP_REPORT, reply, owner);
    copy_worker (call, worker, report->reason, report->result);
    call->report = *report;
    call->report.reason = call->texts->at[2];
    call->report.result = call->texts->at[3];
    defer_pull (call);
}

void store_team (struct store *self, uint64_t plan_id, const char *station, store_pulled_fn *reply,
                 void *owner)
{
    struct pull_call *call = pull_call_new (self, OP_TEAM, reply, owner);
    const struct core_worker worker = {.id = plan_id, .target = span_text (station)};
    copy_worker (call, &worker, (struct span){0}, (struct span){0});
    defer_pull (call);
}
