// The store in memory: what the scripts of src/store/scripts do, less what one plan in one process
// does not need.
#include "sim_private.h"

#include "plan_json.h"

struct plan *sim_stored (struct sim *self, const struct sim_plan *sim_plan)
{
    struct reason reason = {""};
    struct plan *plan =
        plan_from_stored_json (sim_plan->id, span_text (sim_plan->message), &reason);
    if (!plan)
        fail_msg ("%s: plan %" PRIx64 ": %s", self->name, sim_plan->id, reason.text);
    return plan;
}

// Every write has another revision, which the writer knows.
static void write_message (struct sim *self, struct sim_plan *sim_plan, struct plan *plan)
{
    plan->revision = sim_plan->revision = ++self->revisions;
    size_t size;
    free (sim_plan->message);
    sim_plan->message = plan_stored_text (plan, &size);
}

// -- submit

void store_submit (struct sim *self, struct sim_plan *sim_plan, struct plan *plan)
{
    write_message (self, sim_plan, plan);
    sim_plan->queued = true;
    sim_plan->score_us = plan_due_time (plan) * SIM_S;
}

// -- claim

// The first due plan, by score and then by key.
static struct sim_plan *first_due (struct sim *self)
{
    struct sim_plan *first = NULL;
    for (size_t i = 0; i < self->plan_count; i++) {
        struct sim_plan *sim_plan = &self->plans[i];
        if (sim_plan->queued && sim_plan->score_us <= self->now_us &&
            (!first || sim_plan->score_us < first->score_us))
            first = sim_plan;
    }
    return first;
}

static void claim_one (struct sim *self, struct sim_plan *sim_plan)
{
    struct plan *plan = sim_stored (self, sim_plan);
    bool expired = sim_plan->held && !sim_plan->no_status;
    const struct due due = {.exec_id = sim_plan->held, .lost = true, .now_us = self->now_us};
    sim_plan->lost = expired && engine_ends_lost (plan, &due);
    sim_plan->held_again |= expired;
    sim_plan->no_status = false;
    if (!sim_plan->lost)
        sim_plan->held = ++self->exec;
    sim_plan->score_us = self->now_us + SIM_LEASE_US;
    sim_plan->waits = false;
    plan->exec_id = sim_plan->held;
    plan->exec_time = self->now_us / SIM_S;
    plan->state = PLAN_EXECUTE;
    write_message (self, sim_plan, plan);
    plan_destroy (&plan);
}

size_t store_claim (struct sim *self, struct sim_plan *claimed[SIM_BATCH])
{
    size_t count = 0;
    struct sim_plan *due = first_due (self);
    if (due && self->exec < (uint64_t)self->now_us - 1)
        self->exec = (uint64_t)self->now_us - 1;
    for (; due && count < SIM_BATCH; due = first_due (self)) {
        claim_one (self, due);
        claimed[count++] = due;
    }
    return count;
}

// -- commit

static void end_plan (struct sim_plan *sim_plan)
{
    free (sim_plan->message);
    sim_plan->message = NULL;
    sim_plan->queued = false;
    sim_plan->has_work = false;
    sim_plan->told_us = 0;
}

static void save_plan (struct sim *self, struct sim_plan *sim_plan, struct plan *plan,
                       const struct decision *decision)
{
    if (!decision->unchanged)
        write_message (self, sim_plan, plan);
    sim_plan->has_work |= decision->save_work;
    sim_plan->queued = decision->commit != COMMIT_PARK && !decision->unqueued;
    if (decision->commit == COMMIT_NEXT)
        sim_plan->score_us = plan_due_time (plan) * SIM_S;
    else if (decision->commit == COMMIT_LEASE)
        sim_plan->score_us = self->now_us + SIM_LEASE_US;
    else
        sim_plan->score_us = self->now_us + decision->delay_ms * 1000;
}

static void save_run (struct sim_plan *sim_plan, enum commit commit)
{
    sim_plan->no_status = commit == COMMIT_DOUBT;
    if (commit == COMMIT_LEASE || commit == COMMIT_DOUBT)
        return;
    sim_plan->held = 0;
    sim_plan->held_again &= commit == COMMIT_RETRY;
}

static void broadcast (struct sim *self, struct sim_plan *sim_plan, enum broadcast kind)
{
    if (kind == BROADCAST_RESULT)
        sim_plan->results++;
    if (kind != BROADCAST_FAILURE)
        return;
    if (sim_plan->told_us && self->now_us - sim_plan->told_us < 60 * SIM_S)
        return;
    sim_plan->told_us = self->now_us;
    sim_plan->failures++;
}

enum committed store_commit (struct sim *self, struct sim_plan *sim_plan, struct plan *plan,
                             uint64_t exec_id, const struct decision *decision)
{
    if (sim_plan->held != exec_id || !sim_plan->message)
        return NOT_CURRENT;
    if (sim_plan->revision != plan->revision)
        return CHANGED;
    broadcast (self, sim_plan, decision->broadcast);
    if (decision->commit == COMMIT_END)
        end_plan (sim_plan);
    else
        save_plan (self, sim_plan, plan, decision);
    save_run (sim_plan, decision->commit);
    sim_plan->waits = decision->waiting == WAITING_FOR_TARGET;
    return COMMITTED;
}

// -- change

void store_change (struct sim *self, struct sim_plan *sim_plan, struct plan *plan,
                   enum requeue requeue)
{
    write_message (self, sim_plan, plan);
    if (requeue == REQUEUE_KEEP)
        return;
    // It is for its target no more that it waits.
    sim_plan->waits = false;
    sim_plan->queued = requeue != REQUEUE_OUT;
    if (requeue == REQUEUE_TIME)
        sim_plan->score_us = plan_due_time (plan) * SIM_S;
    else
        sim_plan->score_us = self->now_us + (requeue == REQUEUE_LEASE ? SIM_LEASE_US : 0);
    // No run is in hand: an old one is of what was before, though its answer may still come.
    if (requeue == REQUEUE_NOW || requeue == REQUEUE_TIME) {
        sim_plan->held_again |= sim_plan->held && !sim_plan->no_status;
        sim_plan->held = 0;
        sim_plan->no_status = false;
    }
}

// -- wake

void store_wake (struct sim *self)
{
    for (size_t i = 0; i < self->plan_count; i++) {
        struct sim_plan *sim_plan = &self->plans[i];
        if (!sim_plan->waits)
            continue;
        sim_plan->waits = false;
        sim_plan->free_us = self->now_us;
        if (sim_plan->queued && sim_plan->score_us > self->now_us)
            sim_plan->score_us = self->now_us;
    }
}
