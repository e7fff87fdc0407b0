// The ready plans of a target: which of the due plans runs next. Pure.
//
// Order: the highest priority first, within it one plan of each group in turn, within a group the
// plan that was due first. An entry has 16 bytes. It may be stale: the caller that takes it checks
// whether its plan is still due.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "span.h"
#include "table.h"

struct limit_table;
struct limit_state;

struct ready_plan {
    int64_t due_us; // Redis' clock
    uint64_t id;
};

// A group of one priority of a target, with its ready plans.
struct ready_group {
    struct table_node node;
    struct ready_group *next, *previous; // the groups of a level are a ring
    int priority;
    char *name;                // "" = plans of no group
    struct limit_state *limit; // NULL = none
    // Plans that arrive in order (most do) are in a line, the others in a heap.
    struct ready_plan *line;
    size_t first, end, line_room;
    struct ready_plan *heap;
    size_t heaped, heap_room;
};

// The groups of one priority.
struct ready_level {
    int priority;
    struct ready_group *turn; // the group whose turn it is
};

struct ready {
    struct ready_level *levels; // the highest priority first
    size_t level_count, level_room;
    size_t count;                // plans of all groups
    size_t bytes;                // memory of the plans and their groups
    bool unlimited;              // limits of groups do not apply here
    int floor;                   // plans of lower priorities are not taken now
    struct table groups;         // all groups, by priority and name
    struct ready_group *emptied; // freed with the next call; NULL = none
};

void ready_free (struct ready *self);

// Add a plan. The limit of a new group is looked up in `limits`.
void ready_add (struct ready *self, struct ready_plan plan, int priority, struct span group,
                const struct limit_table *limits);

// Take the next plan that is due at `until_us` or before and that the limit of its group allows;
// `ret_group` is its group, valid until the next call. False: there is none. `ret_waits` is set if
// limits prevent plans from being taken, and `wake_us` lowered to when a rate allows one.
bool ready_take (struct ready *self, int64_t until_us, int64_t now_us, struct ready_plan *ret,
                 const struct ready_group **ret_group, int64_t *wake_us, bool *ret_waits);

// Take this plan, if it is due at `until_us` or before, out of turn and regardless of limits.
// False: it is not there. Examines every plan.
bool ready_take_id (struct ready *self, uint64_t id, int64_t until_us, struct ready_plan *ret,
                    const struct ready_group **ret_group);

// The priority of the level with this index; 0 is the highest level. -1: there are fewer levels.
int ready_priority (const struct ready *self, size_t level);

// Write the ids of at most `max` plans that are likely to be next to `out`, roughly in order.
// Returns their number.
size_t ready_peek (const struct ready *self, uint64_t *out, size_t max);

// How many plans precede a plan of this priority and group due at `due_us`: those of higher
// priorities, and the earlier ones of its group. Examines every plan of its group.
int64_t ready_count_before (const struct ready *self, int priority, struct span group,
                            int64_t due_us, uint64_t id);

// When the plan that has waited longest was due; INT64_MAX = there is none.
int64_t ready_oldest_us (const struct ready *self);

// The approximate median of the plans of this priority and below, ordered by due_us, then by id as
// Redis orders members. False: there are none.
bool ready_median (const struct ready *self, int priority, struct ready_plan *ret);

// Remove the plans of this priority and below for which `removes` returns true (NULL: none), and
// free the memory that is not used. Returns how many were removed.
typedef bool ready_remove_fn (void *owner, struct ready_plan plan);
size_t ready_remove (struct ready *self, int priority, ready_remove_fn *removes, void *owner);

// How many plans there are of this priority and below.
size_t ready_count_below (const struct ready *self, int priority);

// Look up the limit of each group again, after limits were set or removed.
void ready_update_limits (struct ready *self, const struct limit_table *limits);
