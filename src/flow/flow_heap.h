// Steps that wait for a start, and decisions that are due.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Two heaps: of steps that need a free slot, and of those that need none.
struct flow_heap;
struct flow_heap *flow_heap_new (void);
void flow_heap_destroy (struct flow_heap **self);
void flow_heap_clear (struct flow_heap *self);
enum flow_lane { FLOW_LANE_FREE, FLOW_LANE_CALLS };
void flow_heap_push (struct flow_heap *self, enum flow_lane lane, uint64_t key);
// False: it is empty.
bool flow_heap_pop (struct flow_heap *self, enum flow_lane lane, uint64_t *ret);
bool flow_heap_peek (const struct flow_heap *self, enum flow_lane lane, uint64_t *ret);

// First in, first out.
struct flow_todo;
struct flow_todo *flow_todo_new (void);
void flow_todo_destroy (struct flow_todo **self);
void flow_todo_push (struct flow_todo *self, uint32_t what);
bool flow_todo_pop (struct flow_todo *self, uint32_t *ret);
bool flow_todo_empty (const struct flow_todo *self);
