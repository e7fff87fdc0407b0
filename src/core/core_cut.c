// The memory limit of ready plans. When it is reached, the largest target drops the ready plans of
// its lowest priorities that are due last. These are in Redis only, and are read again when half of
// the others have run. The plans in memory run in exact order, and those that were cut run after
// them.
#include <limits.h>

#include "core_private.h"

bool is_cut (const struct core_target *target, uint64_t id, int64_t score_us, int priority)
{
    return target->cut && priority <= target->cut_priority &&
           !cursor_covers (&target->cut_at, target, id, score_us);
}

void cut_uncount (struct core_target *target)
{
    target->unread -= target->unread > 0;
}

void cut_clear (struct core *self, struct core_target *target)
{
    self->cuts -= target->cut;
    target->cut = target->read_more = false;
    target->unread = target->unread_us = 0;
    target->kept = 0;
}

// -- cutting

struct cutting {
    struct core *core;
    struct core_target *target;
};

// Whether to cut a plan: it is due after the cut, and not open. One that is open only because it
// was prefetched is closed, and cut too.
static bool should_cut (void *owner, struct ready_plan ready)
{
    const struct cutting *self = owner;
    struct core_target *target = self->target;
    if (cursor_covers (&target->cut_at, target, ready.id, ready.due_us))
        return false;
    struct open_plan *plan = open_find_in (self->core, target, ready.id);
    if (plan && (!plan->prepared || plan->batches || plan->chosen || plan->prefetching))
        return false;
    if (plan)
        open_close (self->core, plan);
    if (ready.due_us > target->unread_us)
        target->unread_us = ready.due_us;
    return true;
}

// The priority up to which plans are cut: the lowest such that it and those below have at least
// half of the plans.
static int priority_to_cut (const struct ready *ready)
{
    size_t at = ready->level_count - 1;
    while (at && ready_count_below (ready, ready->levels[at].priority) * 2 < ready->count)
        at--;
    return ready->levels[at].priority;
}

// Drop the later half of the plans up to that priority.
static void cut_target (struct core *self, struct core_target *target)
{
    struct ready_plan middle;
    int priority = priority_to_cut (&target->ready);
    if (!ready_median (&target->ready, priority, &middle))
        return;
    // If a former cut is earlier, the plans after it stay cut off.
    if (!target->cut || cursor_covers (&target->cut_at, target, middle.id, middle.due_us))
        target->cut_at = cursor_at (target, middle.id, middle.due_us);
    if (!target->cut || priority > target->cut_priority)
        target->cut_priority = priority;
    self->cuts += !target->cut;
    target->cut = true;
    target->read_more = false;
    struct cutting cutting = {self, target};
    target->unread +=
        (int64_t)ready_remove (&target->ready, target->cut_priority, should_cut, &cutting);
    target->kept = target->ready.count;
    if (self->reading && self->page_target == target)
        self->rereads++; // the page in flight continues the former cut
}

// Whether most of the memory belongs to plans that were taken.
static bool is_mostly_unused (const struct ready *ready)
{
    enum { PART = 3, GROUP_BYTES = 128 };
    return ready->bytes / PART >
           ready->count * sizeof (struct ready_plan) + ready->groups.count * GROUP_BYTES;
}

void core_bound_ready_memory (struct core *self)
{
    size_t most = (size_t)(self->bounds.ready_bytes ? self->bounds.ready_bytes : CORE_READY_BYTES);
    struct core_target *largest = NULL;
    size_t bytes = 0;
    for (struct core_target *target = self->first_target; target; target = target->next_target) {
        bytes += target->ready.bytes;
        if (!largest || target->ready.bytes > largest->ready.bytes)
            largest = target;
    }
    if (bytes <= most)
        self->uncut_bytes = 0;
    if (bytes <= most || bytes / 5 * 4 < self->uncut_bytes)
        return;
    size_t before = largest->ready.bytes;
    if (is_mostly_unused (&largest->ready))
        ready_remove (&largest->ready, MAX_PRIORITY, NULL, NULL);
    else if (largest->ready.count > 1)
        cut_target (self, largest);
    size_t freed = before - largest->ready.bytes;
    self->uncut_bytes = freed < before / 5 ? bytes : 0;
}

// -- reading cut plans again

// Returns none while due plans are in the window: the page would contain them too, and they would
// be added twice.
struct core_target *cut_find_readable (const struct core *self, int64_t now_us)
{
    if (!self->cuts || (self->window.count && self->window.plans[0].due_us <= now_us))
        return NULL;
    for (struct core_target *target = self->first_target; target; target = target->next_target)
        if (target->cut && (target->read_more || target->ready.count <= target->kept / 2))
            return target;
    return NULL;
}

// Whether a member is of the target and of a priority that was cut.
static bool has_cut_priority (struct core_target *target, const struct core_member *member)
{
    int priority = 0;
    if (!span_is (member->target, target->name))
        return false;
    if (member->class.size)
        class_group (member->class, &priority);
    return priority <= target->cut_priority;
}

void cut_load_page (struct core *self, struct core_target *target,
                    const struct core_member *members, size_t count, size_t all)
{
    bool ends = all < CORE_PAGE;
    size_t found = 0;
    window_move_due (self, target->unread_us, INT_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct core_member *member = &members[i];
        struct core_target *member_target = core_target_for (self, member->target);
        ends = ends || member->score_us > target->unread_us ||
               !core_cursor_covers (self, member_target, member->id, member->score_us);
        if (member->score_us > target->unread_us ||
            !core_cursor_covers (self, member_target, member->id, member->score_us))
            break;
        if (cursor_covers (&target->cut_at, member_target, member->id, member->score_us))
            continue;
        target->cut_at = cursor_at (member_target, member->id, member->score_us);
        if (has_cut_priority (target, member) && core_load_member (self, member)) {
            cut_uncount (target);
            found++;
        }
    }
    target->read_more = !ends && target->ready.count + found < target->kept;
    if (ends)
        cut_clear (self, target);
}
