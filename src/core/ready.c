#include "ready.h"

#include <stdlib.h>

#include "ident.h"
#include "limit_state.h"
#include "memory.h"

enum { ROOM_FIRST = 4 };

// -- the plans of a group, ordered by due_us, then id

static bool ready_precedes (struct ready_plan left, struct ready_plan right)
{
    return left.due_us != right.due_us ? left.due_us < right.due_us : left.id < right.id;
}

static size_t group_count (const struct ready_group *self)
{
    return self->end - self->first + self->heaped;
}

static void resize_plans (struct ready *ready, struct ready_plan **plans, size_t *room,
                          size_t count)
{
    ready->bytes += (count - *room) * sizeof **plans; // may shrink: the sum is modulo 2^64
    *room = count;
    *plans = memory_resize (*plans, count * sizeof **plans);
}

static size_t grown_room (size_t room)
{
    return room ? 2 * room : ROOM_FIRST;
}

static void group_heap_push (struct ready *ready, struct ready_group *self, struct ready_plan plan)
{
    if (self->heaped == self->heap_room)
        resize_plans (ready, &self->heap, &self->heap_room, grown_room (self->heap_room));
    size_t at = self->heaped++;
    for (size_t parent; at && ready_precedes (plan, self->heap[parent = (at - 1) / 2]); at = parent)
        self->heap[at] = self->heap[parent];
    self->heap[at] = plan;
}

static void group_heap_remove (struct ready_group *self, size_t at)
{
    struct ready_plan last = self->heap[--self->heaped];
    if (at == self->heaped)
        return;
    for (size_t parent; at && ready_precedes (last, self->heap[parent = (at - 1) / 2]); at = parent)
        self->heap[at] = self->heap[parent];
    for (size_t child; (child = 2 * at + 1) < self->heaped; at = child) {
        child +=
            child + 1 < self->heaped && ready_precedes (self->heap[child + 1], self->heap[child]);
        if (!ready_precedes (self->heap[child], last))
            break;
        self->heap[at] = self->heap[child];
    }
    self->heap[at] = last;
}

static void group_line_push (struct ready *ready, struct ready_group *self, struct ready_plan plan)
{
    if (self->end == self->line_room && self->first > self->line_room / 2) {
        memmove (self->line, self->line + self->first,
                 (self->end - self->first) * sizeof *self->line);
        self->end -= self->first;
        self->first = 0;
    } else if (self->end == self->line_room) {
        resize_plans (ready, &self->line, &self->line_room, grown_room (self->line_room));
    }
    self->line[self->end++] = plan;
}

// Add a plan to the line if it is due last, else to the heap.
static void group_push (struct ready *ready, struct ready_group *self, struct ready_plan plan)
{
    if (self->first == self->end || !ready_precedes (plan, self->line[self->end - 1]))
        group_line_push (ready, self, plan);
    else
        group_heap_push (ready, self, plan);
}

// The plan of a group that was due first; the group must not be empty.
static struct ready_plan group_first (const struct ready_group *self)
{
    if (self->first == self->end)
        return self->heap[0];
    bool heap = self->heaped && ready_precedes (self->heap[0], self->line[self->first]);
    return heap ? self->heap[0] : self->line[self->first];
}

// Take the plan that was due first.
static struct ready_plan group_take (struct ready_group *self)
{
    struct ready_plan first = group_first (self);
    if (self->first < self->end && self->line[self->first].id == first.id &&
        self->line[self->first].due_us == first.due_us)
        self->first++;
    else
        group_heap_remove (self, 0);
    return first;
}

// Take this plan, if it is due at `until_us` or before. False: it is not in the group.
static bool group_take_id (struct ready_group *self, uint64_t id, int64_t until_us,
                           struct ready_plan *ret)
{
    for (size_t i = self->first; i < self->end; i++) {
        if (self->line[i].id != id || self->line[i].due_us > until_us)
            continue;
        *ret = self->line[i];
        memmove (&self->line[i], &self->line[i + 1], (--self->end - i) * sizeof *self->line);
        return true;
    }
    for (size_t i = 0; i < self->heaped; i++) {
        if (self->heap[i].id != id || self->heap[i].due_us > until_us)
            continue;
        *ret = self->heap[i];
        group_heap_remove (self, i);
        return true;
    }
    return false;
}

// -- levels and groups

// The memory of a group without its plans.
static size_t group_own_bytes (const struct ready_group *group)
{
    return sizeof *group + strlen (group->name) + 1;
}

static void group_free (struct ready *ready, struct ready_group *group)
{
    ready->bytes -=
        group_own_bytes (group) + (group->line_room + group->heap_room) * sizeof *group->line;
    free (group->line);
    free (group->heap);
    free (group->name);
    free (group);
}

// The level of this priority, added if needed.
static struct ready_level *level_for (struct ready *self, int priority)
{
    size_t at = 0;
    while (at < self->level_count && self->levels[at].priority > priority)
        at++;
    if (at < self->level_count && self->levels[at].priority == priority)
        return &self->levels[at];
    self->levels =
        memory_grow (self->levels, self->level_count, &self->level_room, sizeof *self->levels);
    memmove (&self->levels[at + 1], &self->levels[at],
             (self->level_count++ - at) * sizeof *self->levels);
    self->levels[at] = (struct ready_level){.priority = priority};
    return &self->levels[at];
}

static void set_group_limit (struct ready_group *group, const struct limit_table *limits)
{
    group->limit = *group->name ? limits_find_for (limits, 'g', group->name) : NULL;
}

static uint64_t group_hash (int priority, struct span name)
{
    return table_hash (name) + (uint64_t)priority;
}

// Step through all groups, in no order: the one after `group`, the first after NULL.
static struct ready_group *group_step (const struct ready *self, struct ready_group *group)
{
    return (struct ready_group *)table_step (&self->groups, group ? &group->node : NULL);
}

static struct ready_group *group_find (const struct ready *self, int priority, struct span name)
{
    struct table_node *node = table_find (&self->groups, group_hash (priority, name));
    for (; node; node = table_next (node)) {
        struct ready_group *group = (struct ready_group *)node; // it is the first member
        if (group->priority == priority && span_is (name, group->name))
            return group;
    }
    return NULL;
}

// The group, added if needed. A new group is the last in turn.
static struct ready_group *group_for (struct ready *self, int priority, struct span name,
                                      const struct limit_table *limits)
{
    struct ready_group *group = group_find (self, priority, name);
    if (group)
        return group;
    struct ready_level *level = level_for (self, priority);
    group = memory_new (sizeof *group);
    group->priority = priority;
    group->name = memory_copy (name.data, name.size);
    self->bytes += group_own_bytes (group);
    set_group_limit (group, limits);
    table_add (&self->groups, &group->node, group_hash (priority, name));
    group->next = level->turn ? level->turn : group;
    group->previous = level->turn ? level->turn->previous : group;
    group->next->previous = group;
    group->previous->next = group;
    if (!level->turn)
        level->turn = group;
    return group;
}

static void group_remove (struct ready *self, struct ready_group *group)
{
    struct ready_level *level = level_for (self, group->priority);
    if (level->turn == group)
        level->turn = group->next == group ? NULL : group->next;
    group->next->previous = group->previous;
    group->previous->next = group->next;
    table_remove (&self->groups, &group->node);
    group_free (self, group);
    if (!level->turn)
        memmove (level, level + 1,
                 (size_t)(&self->levels[--self->level_count] - level) * sizeof *level);
}

// Free the group that the last call emptied: it returned the group, so could not free it.
static void remove_emptied_group (struct ready *self)
{
    if (self->emptied && group_count (self->emptied) == 0)
        group_remove (self, self->emptied);
    self->emptied = NULL;
}

void ready_free (struct ready *self)
{
    while (self->level_count)
        group_remove (self, self->levels[self->level_count - 1].turn);
    table_free (&self->groups);
    free (self->levels);
    *self = (struct ready){0};
}

void ready_add (struct ready *self, struct ready_plan plan, int priority, struct span group,
                const struct limit_table *limits)
{
    group_push (self, group_for (self, priority, group, limits), plan);
    self->count++;
}

// -- which plan is next

// The next group in turn that has a due plan and is within its limit. `ret_waits` is set if a limit
// prevents a group with a due plan.
static struct ready_group *next_group (const struct ready *self, const struct ready_level *level,
                                       int64_t until_us, int64_t now_us, int64_t *wake_us,
                                       bool *ret_waits)
{
    struct ready_group *group = level->turn;
    do {
        if (group_count (group) && group_first (group).due_us <= until_us) {
            if (self->unlimited || !group->limit || limit_allows (group->limit, now_us, wake_us))
                return group;
            *ret_waits = true;
        }
        group = group->next;
    } while (group != level->turn);
    return NULL;
}

// A plan was taken from the group.
static void note_plan_taken (struct ready *self, struct ready_group *group)
{
    self->count--;
    if (group_count (group) == 0)
        self->emptied = group;
}

bool ready_take (struct ready *self, int64_t until_us, int64_t now_us, struct ready_plan *ret,
                 const struct ready_group **ret_group, int64_t *wake_us, bool *ret_waits)
{
    remove_emptied_group (self);
    for (size_t i = 0; i < self->level_count && self->levels[i].priority >= self->floor; i++) {
        struct ready_level *level = &self->levels[i];
        struct ready_group *group = next_group (self, level, until_us, now_us, wake_us, ret_waits);
        if (!group)
            continue;
        level->turn = group->next;
        *ret = group_take (group);
        *ret_group = group;
        note_plan_taken (self, group);
        return true;
    }
    return false;
}

bool ready_take_id (struct ready *self, uint64_t id, int64_t until_us, struct ready_plan *ret,
                    const struct ready_group **ret_group)
{
    remove_emptied_group (self);
    for (struct ready_group *group = NULL; (group = group_step (self, group));) {
        if (!group_take_id (group, id, until_us, ret))
            continue;
        *ret_group = group;
        note_plan_taken (self, group);
        return true;
    }
    return false;
}

// How many plans of the group are due before this one.
static int64_t group_count_before (const struct ready_group *self, struct ready_plan plan)
{
    int64_t before = 0;
    for (size_t i = self->first; i < self->end && ready_precedes (self->line[i], plan); i++)
        before++;
    for (size_t i = 0; i < self->heaped; i++)
        before += ready_precedes (self->heap[i], plan);
    return before;
}

int ready_priority (const struct ready *self, size_t level)
{
    for (size_t i = 0; i < self->level_count; i++) {
        const struct ready_group *turn = self->levels[i].turn;
        bool empty = turn == self->emptied && turn->next == turn && group_count (turn) == 0;
        if (!empty && level-- == 0)
            return self->levels[i].priority;
    }
    return -1;
}

size_t ready_peek (const struct ready *self, uint64_t *out, size_t max)
{
    size_t found = 0, groups = self->groups.count;
    size_t share = groups ? (max + groups - 1) / groups : 0;
    for (size_t i = 0; i < self->level_count && found < max; i++) {
        const struct ready_group *group = self->levels[i].turn;
        do {
            size_t lined = group->end - group->first;
            for (size_t k = 0; k < lined && k < share && found < max; k++)
                out[found++] = group->line[group->first + k].id;
            for (size_t k = lined; k < share && k - lined < group->heaped && found < max; k++)
                out[found++] = group->heap[k - lined].id;
            group = group->next;
        } while (group != self->levels[i].turn);
    }
    return found;
}

int64_t ready_count_before (const struct ready *self, int priority, struct span name,
                            int64_t due_us, uint64_t id)
{
    const struct ready_plan plan = {due_us, id};
    const struct ready_group *own = group_find (self, priority, name);
    int64_t before = own ? group_count_before (own, plan) : 0;
    for (struct ready_group *group = NULL; (group = group_step (self, group));)
        before += group->priority > priority ? (int64_t)group_count (group) : 0;
    return before;
}

int64_t ready_oldest_us (const struct ready *self)
{
    int64_t oldest_us = INT64_MAX;
    for (struct ready_group *group = NULL; (group = group_step (self, group));)
        if (group_count (group) && group_first (group).due_us < oldest_us)
            oldest_us = group_first (group).due_us;
    return oldest_us;
}

// -- cutting

// Compare plans of a target as Redis orders their members: by score, then by their bytes.
static int compare_as_redis (const void *left_p, const void *right_p)
{
    const struct ready_plan *left = left_p, *right = right_p;
    char id[IDENT_SIZE], right_id[IDENT_SIZE];
    if (left->due_us != right->due_us)
        return left->due_us < right->due_us ? -1 : 1;
    return strcmp (ident_text (left->id, id), ident_text (right->id, right_id));
}

// Copy every `step`th plan, counted across all lists: `passed` plans were counted before. Returns
// how many were copied.
static size_t copy_every_nth (const struct ready_plan *plans, size_t first, size_t end, size_t step,
                              size_t *passed, struct ready_plan *out)
{
    size_t taken = 0;
    for (size_t at = first; at < end; at++, ++*passed)
        if (*passed % step == 0)
            out[taken++] = plans[at];
    return taken;
}

size_t ready_count_below (const struct ready *self, int priority)
{
    size_t count = 0;
    for (struct ready_group *group = NULL; (group = group_step (self, group));)
        count += group->priority <= priority ? group_count (group) : 0;
    return count;
}

bool ready_median (const struct ready *self, int priority, struct ready_plan *ret)
{
    enum { SAMPLES = 1024 };
    size_t step = ready_count_below (self, priority) / SAMPLES + 1, passed = 0, count = 0;
    struct ready_plan *samples = memory_new ((SAMPLES + 1) * sizeof *samples);
    for (struct ready_group *group = NULL; (group = group_step (self, group));) {
        if (group->priority > priority)
            continue;
        count +=
            copy_every_nth (group->line, group->first, group->end, step, &passed, samples + count);
        count += copy_every_nth (group->heap, 0, group->heaped, step, &passed, samples + count);
    }
    qsort (samples, count, sizeof *samples, compare_as_redis);
    if (count)
        *ret = samples[count / 2];
    free (samples);
    return count > 0;
}

// Remove the plans of a group for which `removes` returns true, and free the memory not used.
static void group_remove_plans (struct ready *self, struct ready_group *group,
                                ready_remove_fn *removes, void *owner)
{
    size_t kept = 0, heaped = group->heaped;
    for (size_t i = group->first; i < group->end; i++)
        if (!removes || !removes (owner, group->line[i]))
            group->line[kept++] = group->line[i];
    group->first = 0;
    group->end = kept;
    resize_plans (self, &group->line, &group->line_room, kept);
    group->heaped = 0;
    for (size_t i = 0; i < heaped; i++) { // a push never writes beyond `i`
        struct ready_plan plan = group->heap[i];
        if (!removes || !removes (owner, plan))
            group_heap_push (self, group, plan);
    }
    resize_plans (self, &group->heap, &group->heap_room, group->heaped);
}

size_t ready_remove (struct ready *self, int priority, ready_remove_fn *removes, void *owner)
{
    size_t before = self->count;
    remove_emptied_group (self);
    for (struct ready_group *group = group_step (self, NULL), *next; group; group = next) {
        next = group_step (self, group);
        if (group->priority > priority)
            continue;
        self->count -= group_count (group);
        group_remove_plans (self, group, removes, owner);
        self->count += group_count (group);
        if (group_count (group) == 0)
            group_remove (self, group);
    }
    return before - self->count;
}

void ready_update_limits (struct ready *self, const struct limit_table *limits)
{
    for (struct ready_group *group = NULL; (group = group_step (self, group));)
        set_group_limit (group, limits);
}
