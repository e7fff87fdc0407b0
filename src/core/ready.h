// The due plans, by target: which one runs next. Pure.
//
// The highest priority first; in it its groups in turn, one plan each; in a group the plan that was
// due first. A plan here is 16 bytes; whether it is due still is judged when it is taken.
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

// A group of a target, and what it has ready.
struct ready_group {
    struct table_node node;
    struct ready_group *next, *previous; // of its level, in a ring
    int priority;
    char *name;                // "" = plans of no group
    struct limit_state *limit; // NULL = none
    // Most come in order: those are in a line, the others in a heap.
    struct ready_plan *line;
    size_t first, end, line_room;
    struct ready_plan *heap;
    size_t heaped, heap_room;
};

// Those of one priority.
struct ready_level {
    int priority;
    struct ready_group *turn; // whose turn it is
};

struct ready {
    struct ready_level *levels; // the highest priority first
    size_t level_count, level_room;
    size_t count;                // plans
    size_t bytes;                // that they and their groups take
    bool unlimited;              // limits of groups do not hold here
    int floor;                   // plans of lower priorities are not taken now
    struct table groups;         // all of them
    struct ready_group *emptied; // goes with the next call; NULL = none
};

void ready_free (struct ready *self);

// Put a plan in. `limits` has the limit of a group that is new here.
void ready_add (struct ready *self, struct ready_plan plan, int priority, struct span group,
                const struct limit_table *limits);

// Take the next one that is due until then and that its group's limit allows; `ret_group` is the
// group it was of, valid until the next call. False: there is none; `wake_us` is lowered to when a
// rate of a group allows another, and `ret_waits` set when some wait for a limit.
bool ready_take (struct ready *self, int64_t until_us, int64_t now_us, struct ready_plan *ret,
                 const struct ready_group **ret_group, int64_t *wake_us, bool *ret_waits);

// Take this plan out of turn. False: it is not there. Looks at every plan.
bool ready_take_id (struct ready *self, uint64_t id, int64_t until_us, struct ready_plan *ret,
                    const struct ready_group **ret_group);

// The priority of level `level` of those that have plans, the highest is 0; -1 = there is none.
int ready_priority (const struct ready *self, size_t level);

// At most `max` plans that are likely to be next, in about their order.
size_t ready_look (const struct ready *self, uint64_t *out, size_t max);

// The plans that go before one of this class that was due then. Looks at every plan of its group.
int64_t ready_before (const struct ready *self, int priority, struct span group, int64_t due_us,
                      uint64_t id);

// When the one was due that has waited longest; INT64_MAX = there is none.
int64_t ready_oldest_us (const struct ready *self);

// A plan in the middle of those of this priority and below, by (due_us, id as Redis orders
// members), approximately. False: there are none.
bool ready_middle (const struct ready *self, int priority, struct ready_plan *ret);

// Take out those of this priority and below that `goes` says of, and give back their memory;
// returns how many there were.
typedef bool ready_goes_fn (void *owner, struct ready_plan plan);
size_t ready_cut (struct ready *self, int priority, ready_goes_fn *goes, void *owner);

// How many plans there are of this priority and below.
size_t ready_below (const struct ready *self, int priority);

// Limits were set or removed: look up those of the groups again.
void ready_limits (struct ready *self, const struct limit_table *limits);
