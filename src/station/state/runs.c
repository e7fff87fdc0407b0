#include "runs.h"

#include <stdlib.h>

#include "clock.h"
#include "memory.h"
#include "utf8.h"

static void set_unanswered (struct active_run *run, bool unanswered, bool kept)
{
    int change = (int)unanswered - (int)run->unanswered;
    int counted = (int)(unanswered && !kept) - (int)(run->unanswered && !run->kept);
    run->unanswered = unanswered;
    run->kept = kept;
    run->station->runs_unanswered += (size_t)counted;
    if (run->target)
        target_count_unanswered (run->target, change);
}

static void free_run (struct active_run *run)
{
    struct station *self = run->station;
    heap_remove (&self->deadlines, &run->deadline);
    set_unanswered (run, false, false);
    plan_destroy (&run->plan);
    if (run->ballot)
        ballot_destroy (&run->ballot);
    free (run->progress);
    free (run);
}

void runs_stop (struct station *self)
{
    for (struct active_run *run = runs_next (self, NULL), *next; run; run = next) {
        next = runs_next (self, run);
        free_run (run);
    }
    table_free (&self->runs);
    heap_free (&self->deadlines);
}

struct active_run *runs_find (struct station *self, uint64_t plan_id)
{
    struct table_node *node = table_find (&self->runs, table_hash_number (plan_id));
    while (node && ((struct active_run *)node)->plan_id != plan_id)
        node = table_next (node);
    return (struct active_run *)node;
}

struct active_run *runs_next (const struct station *self, const struct active_run *run)
{
    return (struct active_run *)table_step (&self->runs, run ? &run->node : NULL);
}

struct active_run *runs_find_run (struct station *self, uint64_t plan_id, uint64_t exec_id)
{
    struct active_run *active = runs_find (self, plan_id);
    return active && active->run.exec_id == exec_id ? active : NULL;
}

struct active_run *runs_find_exec (struct station *self, uint64_t exec_id)
{
    struct active_run *run = runs_next (self, NULL);
    while (run && run->run.exec_id != exec_id)
        run = runs_next (self, run);
    return run;
}

struct active_run *runs_next_to_answer (struct station *self, const struct target *target)
{
    struct active_run *oldest = NULL, *answered = NULL;
    size_t answered_count = 0;
    for (struct active_run *run = NULL; (run = runs_next (self, run));) {
        if (run->target != target || run->connection != target_connection (target))
            continue;
        if (!run->unanswered) {
            answered = run;
            answered_count++;
        } else if (!oldest || run->number < oldest->number) {
            oldest = run;
        }
    }
    return oldest ? oldest : answered_count == 1 ? answered : NULL;
}

void runs_forget_target (struct station *self, const struct target *target)
{
    for (struct active_run *run = NULL; (run = runs_next (self, run));) {
        if (run->target != target)
            continue;
        // The run still counts as unanswered until its deadline, but takes no slot of a target.
        if (run->unanswered)
            target_count_unanswered (run->target, -1);
        run->target = NULL;
        run->connection = 0;
    }
}

void runs_drop (struct active_run **run)
{
    table_remove (&(*run)->station->runs, &(*run)->node);
    free_run (*run);
    *run = NULL;
}

struct active_run *runs_add (struct station *self, struct plan *plan, struct span key_station,
                             struct run run)
{
    struct active_run *active = runs_find (self, plan->id);
    if (active)
        runs_drop (&active);
    active = memory_new (sizeof *active);
    active->plan_id = plan->id;
    active->station = self;
    active->run = run;
    active->plan = plan;
    memcpy (active->key_station, key_station.data, key_station.size);
    table_add (&self->runs, &active->node, table_hash_number (plan->id));
    return active;
}

void runs_note_progress (struct active_run *run, struct span words)
{
    words = utf8_cut (words, RUN_PROGRESS_MAX);
    if (!words.size || !utf8_is_text (words) ||
        (!run->progress && run->station->runs.count > RUNS_WHOLE_MAX))
        return;
    if (!run->progress)
        run->progress = memory_new (RUN_PROGRESS_MAX + 1);
    run->progress[span_put (run->progress, 0, words)] = '\0';
}

void runs_set_end (struct active_run *run)
{
    int64_t end_us = engine_run_end_us (run->plan);
    if (end_us && !run->end_us)
        run->end_us = clock_mono_us () + end_us - store_now_us (run->station->store);
}

static void set_status_deadline (struct active_run *run, bool kept, int64_t deadline_us)
{
    set_unanswered (run, true, kept);
    if (run->end_us && run->end_us < deadline_us)
        deadline_us = run->end_us;
    heap_set (&run->station->deadlines, &run->deadline, deadline_us);
}

void runs_wait_status (struct active_run *run, int64_t deadline_us)
{
    set_status_deadline (run, false, deadline_us);
}

void runs_keep (struct active_run *run, int64_t deadline_us)
{
    set_status_deadline (run, true, deadline_us);
}

void runs_forget_at (struct active_run *run, int64_t deadline_us)
{
    set_unanswered (run, false, false);
    heap_set (&run->station->deadlines, &run->deadline, deadline_us);
}

bool runs_forget_later (struct active_run *run)
{
    int64_t lease_us = run->station->settings->exec_timeout_s * 1000000;
    int64_t until_us = clock_mono_us () + lease_us + RUN_FORGET_US;
    bool ends = run->end_us && run->end_us < until_us;
    runs_forget_at (run, ends ? run->end_us : until_us);
    return ends;
}

void runs_set_plan (struct active_run *run, struct plan *plan)
{
    int64_t was_us = run->end_us;
    plan_destroy (&run->plan);
    run->plan = plan;
    run->end_us = 0;
    runs_set_end (run);
    if (!run->unanswered && (run->end_us != 0 || was_us != 0))
        runs_forget_later (run);
}

bool runs_in_progress (struct station *self, const struct plan *plan,
                       const struct store_loaded *answer)
{
    if (!answer->running || answer->no_status)
        return false;
    const struct active_run *active = runs_find (self, plan->id);
    return plan->state == PLAN_EXECUTE || (active && active->run.exec_id == answer->exec_id) ||
           plan->exec_time + self->settings->exec_timeout_s > station_now (self) ||
           engine_poll_end_us (plan) > store_now_us (self->store);
}
