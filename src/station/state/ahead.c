#include "ahead.h"

#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "memory.h"

enum {
    REACH_US = 20000,
    LEAD_US = REACH_US / 2, // so long before one is due it is claimed, with those behind it
    MANY_GAP_US = 5000,     // between two plans, on the average: many are due one after the other
    PAUSE_US = 100000,      // after which nothing is left of the average
    PART = 4,               // of it that the last claim makes up
    SOON_US = 3000,
    LEASE_US = 5000 // between two looks whether this station may send again
};

static struct ahead_plan *early_of (struct heap_node *node)
{
    return node ? (struct ahead_plan *)((uint8_t *)node - offsetof (struct ahead_plan, node))
                : NULL;
}

// -- how far

int64_t ahead_reach_us (const struct station *self)
{
    bool many =
        self->ahead_gap_us <= MANY_GAP_US && clock_mono_us () - self->ahead_counted_us < PAUSE_US;
    return self->ahead_counted_us && many ? REACH_US : 0;
}

void ahead_count (struct station *self, size_t plans)
{
    int64_t now_us = clock_mono_us (), pause_us = now_us - self->ahead_counted_us;
    if (plans == 0)
        return;
    int64_t gap_us = pause_us / (int64_t)plans;
    if (pause_us >= PAUSE_US)
        self->ahead_gap_us = PAUSE_US;
    else
        self->ahead_gap_us += (gap_us - self->ahead_gap_us) / PART;
    self->ahead_counted_us = now_us;
}

int64_t ahead_claim_us (const struct station *self, int64_t due_us)
{
    if (!ahead_reach_us (self))
        return due_us;
    // Plans within reach that could not be taken are not asked for all the time.
    int64_t soonest_us = store_now_us (self->store) + LEAD_US / 2;
    int64_t wanted_us = due_us - LEAD_US;
    if (wanted_us >= soonest_us)
        return wanted_us;
    return due_us < soonest_us ? due_us : soonest_us;
}

// -- those that wait

void ahead_keep (struct station *self, const struct store_claimed *claimed)
{
    struct ahead_plan *early =
        memory_new (sizeof *early + claimed->station.size + claimed->message.size);
    early->claimed = *claimed;
    early->claimed.station = span_of (early->store, claimed->station.size);
    early->claimed.message = span_of (early->store + claimed->station.size, claimed->message.size);
    memcpy (early->store, claimed->station.data, claimed->station.size);
    memcpy (early->store + claimed->station.size, claimed->message.data, claimed->message.size);
    early->target = station_target (self, claimed->station);
    if (early->target)
        target_load (early->target)->ahead++;
    heap_set (&self->ahead, &early->node, claimed->at_us);
}

static void take_out (struct station *self, struct ahead_plan *early)
{
    heap_remove (&self->ahead, &early->node);
    if (early->target)
        target_load (early->target)->ahead--;
    early->target = NULL;
}

struct ahead_plan *ahead_take (struct station *self)
{
    struct ahead_plan *early = early_of (heap_first (&self->ahead));
    if (!early || early->claimed.at_us > store_now_us (self->store) ||
        !store_is_leased (self->store))
        return NULL;
    take_out (self, early);
    return early;
}

int64_t ahead_next_us (const struct station *self)
{
    const struct ahead_plan *early = early_of (heap_first (&self->ahead));
    if (!early)
        return INT64_MAX;
    int64_t due_us = store_mono_us (self->store, early->claimed.at_us);
    int64_t soonest_us = store_is_leased (self->store) ? due_us : clock_mono_us () + LEASE_US;
    return due_us > soonest_us ? due_us : soonest_us;
}

bool ahead_drop (struct station *self, uint64_t plan_id)
{
    for (size_t i = self->ahead.count; i > 0; i--) {
        struct ahead_plan *early = early_of (self->ahead.nodes[i - 1]);
        if (early->claimed.plan_id != plan_id)
            continue;
        take_out (self, early);
        free (early);
        return true;
    }
    return false;
}

void ahead_forget_target (struct station *self, const struct target *target)
{
    for (size_t i = 0; i < self->ahead.count; i++) {
        struct ahead_plan *early = early_of (self->ahead.nodes[i]);
        if (early->target == target)
            early->target = NULL;
    }
}

void ahead_forget (struct station *self)
{
    if (self->ahead.count)
        log_event (LEVEL_WARN, "claim.left",
                   "plans=%zu reason=\"not sent; they are due when their lease ends\"",
                   self->ahead.count);
    for (struct ahead_plan *early; (early = early_of (heap_first (&self->ahead)));) {
        take_out (self, early);
        free (early);
    }
}

void ahead_stop (struct station *self)
{
    for (size_t i = 0; i < self->ahead.count; i++)
        early_of (self->ahead.nodes[i])->target = NULL; // all are gone
    ahead_forget (self);
    heap_free (&self->ahead);
}
