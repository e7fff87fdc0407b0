// Priority queues of steps that are ready and of decisions that are due. The smallest key is first,
// so that a run continues in the same order after it is read from Redis.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Two heaps. For ready steps: those that need no free slot, and those that need one. For decisions:
// ends that the targets must count, and joins that must be decided.
struct flow_heap;
struct flow_heap *flow_heap_new (void);
void flow_heap_destroy (struct flow_heap **self);
void flow_heap_clear (struct flow_heap *self);
enum flow_lane { FLOW_LANE_FREE, FLOW_LANE_CALLS, FLOW_LANE_ENDS = 0, FLOW_LANE_JOINS = 1 };
void flow_heap_push (struct flow_heap *self, enum flow_lane lane, uint64_t key);
// Remove the smallest key. False: the lane is empty.
bool flow_heap_pop (struct flow_heap *self, enum flow_lane lane, uint64_t *ret);
// Whether both lanes are empty.
bool flow_heap_empty (const struct flow_heap *self);
