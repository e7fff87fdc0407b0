// The queue is read in pages, ahead of time. Plans that are not due yet wait in the window; those
// that are due are moved to the ready plans of their target.
#include <stdlib.h>

#include "core_private.h"
#include "ident.h"
#include "memory.h"
#include "plant.h"

enum {
    AHEAD_US = 10000000, // the window contains the plans that are due within this time
    MOVED_MAX = 4096,    // most plans moved from the window at a time
    SHORT_US = 5000000,  // a page is read when the window reaches less far ahead than this,
    AHEAD_PLANS = 16384  // and contains fewer plans than this
};

// -- the window

static bool window_precedes (const struct window_plan *left, const struct window_plan *right)
{
    return left->due_us != right->due_us ? left->due_us < right->due_us : left->id < right->id;
}

void window_push (struct core *self, struct window_plan plan)
{
    struct window *window = &self->window;
    window->plans =
        memory_grow (window->plans, window->count, &window->room, sizeof *window->plans);
    size_t at = window->count++;
    for (size_t parent; at && window_precedes (&plan, &window->plans[parent = (at - 1) / 2]);
         at = parent)
        window->plans[at] = window->plans[parent];
    window->plans[at] = plan;
}

void window_set_class (struct core *self, const struct open_plan *plan)
{
    for (size_t i = 0; i < self->window.count; i++) {
        struct window_plan *at = &self->window.plans[i];
        if (at->id != plan->id || at->target != plan->target)
            continue;
        free (at->class);
        at->class = open_class (plan);
    }
}

// Take the plan that is due first; the window must not be empty.
static struct window_plan window_pop (struct window *window)
{
    struct window_plan first = window->plans[0], last = window->plans[--window->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < window->count; at = child) {
        child += child + 1 < window->count &&
                 window_precedes (&window->plans[child + 1], &window->plans[child]);
        if (!window_precedes (&window->plans[child], &last))
            break;
        window->plans[at] = window->plans[child];
    }
    window->plans[at] = last;
    window->plans[window->count].class = NULL;
    return first;
}

// -- the cursor

void window_restart (struct core *self)
{
    for (size_t i = 0; i < self->window.count; i++)
        free (self->window.plans[i].class);
    self->window.count = 0;
    self->cursor = (struct core_cursor){.score_us = INT64_MIN};
}

// Compare two members as Redis orders members of the same score: by their bytes.
static int compare_members (const char *target, uint64_t id, const char *other_target,
                            uint64_t other_id)
{
    char digits[IDENT_SIZE], other_digits[IDENT_SIZE];
    for (; *target && *target == *other_target; target++)
        other_target++;
    if (*target || *other_target) // the shorter name is followed by a colon
        return (*target ? *target : ':') - (*other_target ? *other_target : ':');
    return strcmp (ident_text (id, digits), ident_text (other_id, other_digits));
}

struct core_cursor cursor_at (const struct core_target *target, uint64_t id, int64_t score_us)
{
    struct core_cursor cursor = {.score_us = score_us, .id = id};
    memcpy (cursor.target, target->name, sizeof cursor.target);
    return cursor;
}

bool cursor_covers (const struct core_cursor *cursor, const struct core_target *target, uint64_t id,
                    int64_t score_us)
{
    if (score_us != cursor->score_us)
        return score_us < cursor->score_us;
    return cursor->all || compare_members (target->name, id, cursor->target, cursor->id) <= 0;
}

bool core_cursor_covers (const struct core *self, const struct core_target *target, uint64_t id,
                         int64_t score_us)
{
    return cursor_covers (&self->cursor, target, id, score_us);
}

bool core_wants_page (struct core *self, int64_t now_us, struct core_cursor *ret)
{
    bool window = self->cursor.score_us < now_us + SHORT_US && self->window.count < AHEAD_PLANS;
    struct core_target *target = window ? NULL : cut_find_readable (self, now_us);
    if (self->reading || (!window && !target))
        return false;
    self->reading = true;
    self->page_rereads = self->rereads;
    self->page_target = target;
    *ret = target ? target->cut_at : self->cursor;
    return true;
}

void core_page_lost (struct core *self)
{
    self->reading = false;
}

// Close the plans that are open only because their messages were prefetched: somebody may have
// edited them.
static void drop_prefetched (struct core *self)
{
    for (struct table_node *node = table_step (&self->open, NULL), *next; node; node = next) {
        struct open_plan *plan = (struct open_plan *)node;
        next = table_step (&self->open, node);
        if (plan->prepared && !plan->batches && !plan->chosen && !plan->prefetching)
            open_close (self, plan);
    }
}

void core_reread (struct core *self)
{
    for (struct core_target *target = self->first_target; target; target = target->next_target) {
        ready_free (&target->ready);
        ready_free (&target->exempt);
        cut_clear (self, target);
    }
    window_restart (self);
    self->stale = 0;
    self->rereads++;
    drop_prefetched (self);
    for (struct table_node *node = NULL; (node = table_step (&self->open, node));) {
        struct open_plan *plan = (struct open_plan *)node;
        // Its ready entry was dropped: return it to the leases, so that it becomes ready again.
        if (plan->lease_expired)
            heap_set (&self->leases, &plan->lease, plan->score_us);
        plan->lease_expired = plan->prepared = false;
    }
}

// The score of an open plan was read. The record is newer, unless its run was only loaded: then the
// score is the end of its lease.
static void load_open_score (struct core *self, struct open_plan *plan, int64_t score_us)
{
    bool has_run = open_has_run (plan);
    if (!has_run || plan->batches || plan->chosen || plan->lease_expired)
        return;
    if (PLANTED (SENT_GIVEN_UP) && !plan->placed && plan->flight == FLIGHT_TAKEN)
        score_us = 0;
    plan->placed = plan->queued = true;
    plan->score_us = score_us;
    heap_set (&self->leases, &plan->lease, score_us);
}

// Whether the score in Redis is up to date: the plan is open only to read or write its message.
static bool is_score_current (const struct open_plan *plan)
{
    bool moves = plan->placed && plan->batches;
    return !open_has_run (plan) && !moves && !plan->chosen && !plan->submitted && !plan->gone;
}

bool core_load_member (struct core *self, const struct core_member *member)
{
    struct core_target *target = core_target_for (self, member->target);
    struct open_plan *plan = open_find (self, member->target, member->id);
    if (plan && !is_score_current (plan)) {
        load_open_score (self, plan, member->score_us);
        return false;
    }
    if (plan && plan->placed)
        plan->score_us = member->score_us;
    char *class = NULL;
    if (plan && plan->batches)
        class = open_class (plan);
    else if (member->class.size)
        class = memory_copy (member->class.data, member->class.size);
    window_push (self, (struct window_plan){member->score_us, member->id, target, class});
    return true;
}

void core_load_page (struct core *self, const struct core_member *members, size_t count, size_t all,
                     int64_t now_us)
{
    struct core_cursor *cursor = &self->cursor;
    self->reading = false;
    if (self->page_rereads != self->rereads)
        return;
    if (self->page_target) {
        cut_load_page (self, self->page_target, members, count, all);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct core_member *member = &members[i];
        struct core_target *target = core_target_for (self, member->target);
        if (core_cursor_covers (self, target, member->id, member->score_us))
            continue;
        core_load_member (self, member);
        *cursor = cursor_at (target, member->id, member->score_us);
    }
    if (all < CORE_PAGE && cursor->score_us < now_us + AHEAD_US)
        *cursor = (struct core_cursor){.score_us = now_us + AHEAD_US, .all = true};
}

// -- what is due

// Add an entry to the ready plans of a target: to the exempt ones if the run counts toward limits
// already (`counts`), or its group is exempt.
static void add_ready_entry (struct core *self, struct core_target *target, bool counts,
                             struct ready_plan plan, int priority, struct span group)
{
    bool exempt = counts || span_is (group, CORE_EXEMPT_GROUP);
    struct ready *to = exempt ? &target->exempt : &target->ready;
    to->unlimited = to->unlimited || exempt;
    ready_add (to, plan, priority, group, &self->limits);
}

void core_make_ready (struct core *self, struct core_target *target, struct ready_plan plan,
                      int priority, struct span group)
{
    add_ready_entry (self, target, false, plan, priority, group);
}

void open_make_ready (struct core *self, const struct open_plan *plan, int64_t due_us)
{
    // The run of a flow, or an offered one, counts already, or counts when a worker takes it.
    bool counts = plan->flight == FLIGHT_OFFERED || plan->flight == FLIGHT_FLOW;
    add_ready_entry (self, plan->target, counts, (struct ready_plan){due_us, plan->id},
                     plan->priority, open_group (plan));
}

bool core_place_ready (struct core *self, struct core_target *target, struct ready_plan plan,
                       int priority, struct span group)
{
    if (!is_cut (target, plan.id, plan.due_us, priority)) {
        core_make_ready (self, target, plan, priority, group);
        return true;
    }
    target->unread++;
    if (plan.due_us > target->unread_us)
        target->unread_us = plan.due_us;
    return false;
}

void window_move_due (struct core *self, int64_t until_us, int most)
{
    struct window *window = &self->window;
    for (int i = 0; i < most && window->count && window->plans[0].due_us <= until_us; i++) {
        struct window_plan plan = window_pop (window);
        int priority = 0;
        struct span group = {0};
        if (plan.class)
            group = class_group (span_text (plan.class), &priority);
        if (plan.due_us > self->ahead_until_us)
            self->ahead_until_us = plan.due_us;
        core_place_ready (self, plan.target, (struct ready_plan){plan.due_us, plan.id}, priority,
                          group);
        free (plan.class);
    }
}

void core_advance (struct core *self, int64_t now_us, int64_t ahead_us)
{
    window_move_due (self, now_us + ahead_us, MOVED_MAX);
    pull_discharge_late (self, now_us);
    for (struct heap_node *node; (node = heap_first (&self->leases)) && node->at <= now_us;) {
        struct open_plan *plan =
            (struct open_plan *)((uint8_t *)node - offsetof (struct open_plan, lease));
        heap_remove (&self->leases, node);
        bool run_continues = plan->flight == FLIGHT_OFFERED || plan->flight == FLIGHT_FLOW;
        if (!run_continues) // those count while workers are at work, or until the flow ends
            open_discharge (self, plan);
        plan->lease_expired = true;
        open_make_ready (self, plan, plan->score_us);
    }
    core_bound_ready_memory (self);
}

bool core_is_quiet (const struct core *self)
{
    return !self->reading && !self->in_flight && !core_has_rows (self);
}

int64_t core_expected_due (struct core *self, int64_t now_us, int64_t *ret_until_us)
{
    int64_t count = -self->stale;
    core_advance (self, now_us, 0);
    *ret_until_us = now_us > self->ahead_until_us ? now_us : self->ahead_until_us;
    drop_prefetched (self);
    if (!core_is_quiet (self) || self->cursor.score_us <= *ret_until_us)
        return -1;
    for (struct core_target *target = self->first_target; target; target = target->next_target)
        count += (int64_t)(target->ready.count + target->exempt.count) + target->unread;
    return count;
}

int64_t core_next_us (const struct core *self)
{
    const struct heap_node *lease = heap_first (&self->leases), *busy = heap_first (&self->busy);
    int64_t next_us = self->rate_wake_us < self->ready_us ? self->rate_wake_us : self->ready_us;
    if (busy && busy->at < next_us)
        next_us = busy->at;
    if (lease && lease->at < next_us)
        next_us = lease->at;
    if (self->window.count && self->window.plans[0].due_us < next_us)
        next_us = self->window.plans[0].due_us;
    return next_us;
}
