#include "prefetch.h"

#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "memory.h"

enum {
    REACH_US = 20000,       // how far a claim looks ahead
    LEAD_US = REACH_US / 2, // how long before its due time a plan is claimed
    MANY_GAP_US = 5000,     // average gap between plans, below which plans are prefetched
    PAUSE_US = 100000,      // after such a pause the average is reset
    PART = 4,               // weight of the last claim in the average: 1/PART
    LEASE_CHECK_US = 5000   // between two checks whether this station may send again
};

static struct prefetched_plan *plan_of_node (struct heap_node *node)
{
    return node ? (struct prefetched_plan *)((uint8_t *)node -
                                             offsetof (struct prefetched_plan, node))
                : NULL;
}

// -- how far to look ahead

int64_t prefetch_reach_us (const struct station *self)
{
    bool many = self->prefetch_gap_us <= MANY_GAP_US &&
                clock_mono_us () - self->prefetch_counted_us < PAUSE_US;
    return self->prefetch_counted_us && many ? REACH_US : 0;
}

void prefetch_count_claimed (struct station *self, size_t plans)
{
    int64_t now_us = clock_mono_us (), pause_us = now_us - self->prefetch_counted_us;
    if (plans == 0)
        return;
    int64_t gap_us = pause_us / (int64_t)plans;
    if (pause_us >= PAUSE_US)
        self->prefetch_gap_us = PAUSE_US;
    else
        self->prefetch_gap_us += (gap_us - self->prefetch_gap_us) / PART;
    self->prefetch_counted_us = now_us;
}

int64_t prefetch_claim_us (const struct station *self, int64_t due_us)
{
    if (!prefetch_reach_us (self))
        return due_us;
    // Do not claim continuously when plans within reach could not be taken.
    int64_t soonest_us = store_now_us (self->store) + LEAD_US / 2;
    int64_t wanted_us = due_us - LEAD_US;
    if (wanted_us >= soonest_us)
        return wanted_us;
    return due_us < soonest_us ? due_us : soonest_us;
}

// -- waiting plans

void prefetch_keep (struct station *self, const struct store_claimed *claimed)
{
    struct prefetched_plan *plan =
        memory_new (sizeof *plan + claimed->station.size + claimed->message.size);
    plan->claimed = *claimed;
    plan->claimed.station = span_of (plan->store, claimed->station.size);
    plan->claimed.message = span_of (plan->store + claimed->station.size, claimed->message.size);
    memcpy (plan->store, claimed->station.data, claimed->station.size);
    memcpy (plan->store + claimed->station.size, claimed->message.data, claimed->message.size);
    plan->target = station_target (self, claimed->station);
    if (plan->target)
        target_load (plan->target)->prefetched++;
    heap_set (&self->prefetched, &plan->node, claimed->at_us);
}

static void unlink_plan (struct station *self, struct prefetched_plan *plan)
{
    heap_remove (&self->prefetched, &plan->node);
    if (plan->target)
        target_load (plan->target)->prefetched--;
    plan->target = NULL;
}

struct prefetched_plan *prefetch_take (struct station *self)
{
    struct prefetched_plan *plan = plan_of_node (heap_first (&self->prefetched));
    if (!plan || plan->claimed.at_us > store_now_us (self->store) || !store_is_leased (self->store))
        return NULL;
    unlink_plan (self, plan);
    return plan;
}

int64_t prefetch_next_us (const struct station *self)
{
    const struct prefetched_plan *plan = plan_of_node (heap_first (&self->prefetched));
    if (!plan)
        return INT64_MAX;
    int64_t due_us = store_mono_us (self->store, plan->claimed.at_us);
    int64_t soonest_us = store_is_leased (self->store) ? due_us : clock_mono_us () + LEASE_CHECK_US;
    return due_us > soonest_us ? due_us : soonest_us;
}

bool prefetch_drop (struct station *self, uint64_t plan_id)
{
    for (size_t i = self->prefetched.count; i > 0; i--) {
        struct prefetched_plan *plan = plan_of_node (self->prefetched.nodes[i - 1]);
        if (plan->claimed.plan_id != plan_id)
            continue;
        unlink_plan (self, plan);
        free (plan);
        return true;
    }
    return false;
}

void prefetch_forget_target (struct station *self, const struct target *target)
{
    for (size_t i = 0; i < self->prefetched.count; i++) {
        struct prefetched_plan *plan = plan_of_node (self->prefetched.nodes[i]);
        if (plan->target == target)
            plan->target = NULL;
    }
}

void prefetch_drop_all (struct station *self)
{
    if (self->prefetched.count)
        log_event (LEVEL_WARN, "claim.left",
                   "plans=%zu reason=\"not sent; they are due when their lease ends\"",
                   self->prefetched.count);
    for (struct prefetched_plan *plan; (plan = plan_of_node (heap_first (&self->prefetched)));) {
        unlink_plan (self, plan);
        free (plan);
    }
}

void prefetch_stop (struct station *self)
{
    for (size_t i = 0; i < self->prefetched.count; i++)
        // targets_stop has destroyed the targets: their counters must not be touched
        plan_of_node (self->prefetched.nodes[i])->target = NULL;
    prefetch_drop_all (self);
    heap_free (&self->prefetched);
}
