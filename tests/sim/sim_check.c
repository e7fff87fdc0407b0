// The invariants. What management asked for is remembered here by itself, so that the engine's own
// record of it is checked, not believed.
#include "sim_private.h"

#include "codes.h"

static bool is_queue_state (enum plan_state state)
{
    return state == PLAN_QUEUE || state == PLAN_EXECUTE || state == PLAN_RETRY;
}

// -- a stored plan

static void check_counts (struct sim *self, struct sim_plan *sim_plan, const struct plan *plan)
{
    bool once = plan->schedule.type <= SCHEDULE_TIME;
    int64_t repeat = once ? 1 : plan->schedule.repeat;
    if (repeat != SCHEDULE_FOREVER)
        SIM_CHECK (self, sim_plan, plan->real_repet + plan->skip_num <= repeat);
    SIM_CHECK (self, sim_plan, plan->real_repet == sim_plan->counted);
    SIM_CHECK (self, sim_plan, plan->skip_num >= sim_plan->skipped);
    SIM_CHECK (self, sim_plan, plan->plan_time >= sim_plan->last_time);
    SIM_CHECK (self, sim_plan, plan->real_repet <= sim_plan->fires);
    SIM_CHECK (self, sim_plan, plan->exec_id <= self->exec);
    SIM_CHECK (self, sim_plan, plan->missed == sim_plan->missed);
    sim_plan->skipped = plan->skip_num;
    sim_plan->last_time = plan->plan_time;
}

// A run besides the schedule leaves the schedule as it is.
static void check_order (struct sim *self, struct sim_plan *sim_plan, const struct plan *plan)
{
    SIM_CHECK (self, sim_plan, plan->plan_time == sim_plan->order_time);
    SIM_CHECK (self, sim_plan, plan->error_count == sim_plan->order_errors);
}

// What management made of it, it stays.
static void check_state (struct sim *self, struct sim_plan *sim_plan, const struct plan *plan)
{
    if (sim_plan->closed)
        SIM_CHECK (self, sim_plan, plan->state == PLAN_CLOSE);
    else if (!sim_plan->stopped)
        SIM_CHECK (self, sim_plan, is_queue_state (plan->state));
    else if (sim_plan->order == ORDER_NONE)
        SIM_CHECK (self, sim_plan, plan->state == PLAN_PAUSE || plan->state == PLAN_ERROR);
    bool extra = plan->extra != PLAN_NONE;
    SIM_CHECK (self, sim_plan, extra == (sim_plan->order != ORDER_NONE));
}

// Each plan is in the queue, stopped or gone, and nothing of a gone plan is left.
void check_plan (struct sim *self, struct sim_plan *sim_plan)
{
    if (!sim_plan->message) {
        SIM_CHECK (self, sim_plan, !sim_plan->queued && !sim_plan->waits && !sim_plan->has_work);
        SIM_CHECK (self, sim_plan, !sim_plan->held && !sim_plan->held_again);
        SIM_CHECK (self, sim_plan, !sim_plan->told_us && !sim_plan->plan);
        return;
    }
    struct plan *plan = sim_stored (self, sim_plan);
    SIM_CHECK (self, sim_plan, plan->revision == sim_plan->revision);
    SIM_CHECK (self, sim_plan, sim_plan->queued == is_queue_state (plan->state));
    SIM_CHECK (self, sim_plan, sim_plan->queued || !sim_plan->held || sim_plan->stopped);
    SIM_CHECK (self, sim_plan, sim_plan->queued || !sim_plan->waits);
    // Rule 6: the right to run.
    SIM_CHECK (self, sim_plan,
               !sim_plan->queued || plan->last_state != ZERO_STATUS_FRAME_PLANERROR_ID);
    check_state (self, sim_plan, plan);
    check_counts (self, sim_plan, plan);
    if (sim_plan->order)
        check_order (self, sim_plan, plan);
    plan_destroy (&plan);
}

// -- a dispatch

void check_fire (struct sim *self, struct sim_fire *fire)
{
    struct sim_plan *sim_plan = fire->plan;
    fire->extra = sim_plan->order != ORDER_NONE;
    if (fire->extra) {
        SIM_CHECK (self, sim_plan, sim_plan->order == ORDER_GIVEN); // it is tried once
        sim_plan->order = ORDER_OUT;
    } else {
        SIM_CHECK (self, sim_plan, !sim_plan->stopped);
        SIM_CHECK (self, sim_plan, fire->at_us >= fire->plan_time * SIM_S);
    }
    // Nothing is fired anew that was fired and left behind, or missed.
    if (!fire->extra) {
        SIM_CHECK (self, sim_plan, fire->plan_time >= sim_plan->run_last);
        sim_plan->seen += fire->plan_time > sim_plan->run_last;
        sim_plan->run_last = fire->plan_time;
        sim_plan->untried = false;
    }
    SIM_CHECK (self, sim_plan, fire->at_us >= sim_plan->free_us);
    SIM_CHECK (self, sim_plan, fire->exec_id >= (uint64_t)fire->at_us);
    if (self->fire_count > 0)
        SIM_CHECK (self, sim_plan, fire->exec_id > self->fires[self->fire_count - 1].exec_id);
}

// -- what became of a run

// A run ended well: it was fired, and it has not been counted before.
static void count_run (struct sim *self, struct sim_plan *sim_plan, uint64_t exec_id)
{
    struct sim_fire *fire = NULL;
    for (size_t i = self->fire_count; i > 0 && !fire; i--)
        if (self->fires[i - 1].exec_id == exec_id)
            fire = &self->fires[i - 1];
    SIM_CHECK (self, sim_plan, fire && fire->plan == sim_plan && !fire->counted && !fire->extra);
    fire->counted = true;
    sim_plan->counted++;
}

static void set_free (struct sim *self, struct sim_plan *sim_plan, const struct decision *decision)
{
    sim_plan->free_us = self->now_us;
    if (decision->commit == COMMIT_LEASE)
        sim_plan->free_us += SIM_LEASE_US;
    else if (decision->commit == COMMIT_RETRY || decision->commit == COMMIT_DOUBT)
        sim_plan->free_us += decision->delay_ms * 1000;
}

// What is missed lies behind what was fired. Only of what was tried, and came too late when it was
// to be tried again, it begins with it.
static void count_missed (struct sim *self, struct sim_plan *sim_plan, const struct misses *misses)
{
    const struct missed *missed = &misses->missed;
    if (missed->count == 0)
        return;
    bool tried = missed->first == sim_plan->run_last;
    SIM_CHECK (self, sim_plan, missed->first > sim_plan->run_last || tried);
    SIM_CHECK (self, sim_plan,
               !tried || sim_plan->untried || strcmp (misses->why, "end_time") == 0);
    SIM_CHECK (self, sim_plan, missed->last >= missed->first && !missed->more);
    sim_plan->missed += missed->count;
    sim_plan->seen += missed->count - tried;
    sim_plan->run_last = missed->last;
}

void check_committed (struct sim *self, struct sim_plan *sim_plan, const struct plan *plan,
                      uint64_t exec_id, const struct decision *decision)
{
    count_missed (self, sim_plan, &decision->misses);
    sim_plan->untried |= decision->broadcast == BROADCAST_FAILURE;
    set_free (self, sim_plan, decision);
    if (!commit_ends_run (decision->commit))
        return;
    bool parked = decision->commit == COMMIT_PARK && plan->state == PLAN_ERROR;
    if (sim_plan->order) {
        // A run that was asked for is sent, unless its target is away.
        SIM_CHECK (self, sim_plan, sim_plan->order == ORDER_OUT || !self->connection);
        check_order (self, sim_plan, plan);
        sim_plan->order = ORDER_NONE;
    } else if (plan->last_state < ZERO_STATUS_ERROR_FLAG && !parked) {
        count_run (self, sim_plan, exec_id);
    }
    sim_plan->stopped |= parked;
}

// -- what management did

// Those asked for are skipped, none of them twice, and never the last.
static void check_skip (struct sim *self, struct sim_plan *sim_plan, const struct plan *plan,
                        const struct manage_request *request)
{
    bool behind = request->running && !sim_plan->order;
    int64_t left = plan->schedule.repeat - plan->real_repet - plan->skip_num - plan->skip_wait;
    sim_plan->asked += request->count;
    SIM_CHECK (self, sim_plan, plan->skip_num + plan->skip_wait >= sim_plan->asked);
    if (plan->schedule.repeat != SCHEDULE_FOREVER)
        SIM_CHECK (self, sim_plan, left >= 1 + behind);
    if (behind)
        SIM_CHECK (self, sim_plan, plan->plan_time == sim_plan->last_time);
}

void check_managed (struct sim *self, struct sim_plan *sim_plan, const struct plan *plan,
                    const struct manage_request *request)
{
    enum manage_command command = request->command;
    if (command == MANAGE_SKIP)
        check_skip (self, sim_plan, plan, request);
    else if (sim_plan->order)
        SIM_CHECK (self, sim_plan, plan->plan_time == sim_plan->order_time);
    bool stops = command == MANAGE_PAUSE || command == MANAGE_CLOSE;
    if (stops || command == MANAGE_RESET) {
        sim_plan->stopped = stops;
        sim_plan->closed |= command == MANAGE_CLOSE;
        // A run besides the schedule that was not sent is given up; one that is lost, by a reset.
        if (!plan->extra)
            sim_plan->order = ORDER_NONE;
    }
    sim_plan->untried |= command == MANAGE_RESET;
    if (command == MANAGE_DONE) {
        sim_plan->order = ORDER_NONE;
        sim_plan->stopped = sim_plan->closed = plan->state == PLAN_CLOSE;
        sim_plan->seen += plan->missed - sim_plan->missed;
        sim_plan->missed = plan->missed;
    }
    if (command == MANAGE_RUN) {
        SIM_CHECK (self, sim_plan, !request->running);
        sim_plan->order = ORDER_GIVEN;
    }
    // Its pace begins anew, but a run that is out keeps its lease.
    if (command == MANAGE_RESET || !request->running)
        sim_plan->free_us = self->now_us + (request->running ? SIM_LEASE_US : 0);
    sim_plan->order_time = plan->plan_time;
    sim_plan->order_errors = plan->error_count;
}
