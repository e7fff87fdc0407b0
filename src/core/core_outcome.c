// Outcomes of runs: their numbers, and which failures are broadcast.
#include <stdio.h>
#include <stdlib.h>

#include "core_private.h"
#include "memory.h"

enum { REPORTED_US = 60000000, REPORTED_MAX = 100000 };

// -- outcomes

void add_outcome (struct core *self, const struct open_plan *plan, int64_t seq, int64_t sub,
                  int64_t now_us, struct span record, struct span output)
{
    struct rows *rows = self->gathering;
    if (!record.size || !self->bounds.outcomes)
        return;
    rows_outcome (rows, &(struct outcome_row){
                            .seq = seq,
                            .sub = sub,
                            .station = span_of (plan->target->name, plan->target->name_size),
                            .plan_id = plan->id,
                            .ended_ms = now_us / 1000,
                            .record = rows_copy (rows, record),
                            .output = rows_copy (rows, output),
                        });
}

// Behind the last broadcast.
void add_silent (struct core *self, const struct open_plan *plan, int64_t now_us,
                 struct span record, struct span output)
{
    if (record.size)
        add_outcome (self, plan, self->seq, ++self->sub, now_us, record, output);
}

void core_outcome (struct core *self, struct span target, uint64_t id, int64_t ended_ms,
                   struct span record, struct span output)
{
    const struct open_plan plan = {.target = target_for (self, target), .id = id};
    add_silent (self, &plan, ended_ms * 1000, record, output);
}

int64_t next_seq (struct core *self, int64_t now_us)
{
    if (!self->epoch[0] || self->seq == 0) {
        snprintf (self->epoch, sizeof self->epoch, "%llx%05llx",
                  (unsigned long long)(now_us / 1000000), (unsigned long long)(now_us % 1000000));
        self->new_epoch = true;
    }
    self->sub = 0;
    return ++self->seq;
}

const char *core_epoch (const struct core *self)
{
    return self->epoch;
}

int64_t core_seq (const struct core *self)
{
    return self->seq;
}

uint64_t core_exec_id (const struct core *self)
{
    return self->exec_id;
}

// -- failures, broadcast once a minute

static struct reported *reported_find (const struct core *self, const struct open_plan *plan)
{
    struct table_node *node = table_find (&self->reported, table_hash_number (plan->id));
    for (; node; node = table_next (node)) {
        struct reported *one = (struct reported *)node; // it is the first member
        if (one->id == plan->id && strcmp (one->target, plan->target->name) == 0)
            return one;
    }
    return NULL;
}

// Whether a failure of this plan is broadcast: none was within the last minute.
bool reports_failure (struct core *self, const struct open_plan *plan, int64_t now_us)
{
    for (struct reported *one;
         (one = self->reported_first) &&
         (now_us - one->at_us >= REPORTED_US || now_us < one->at_us - REPORTED_US ||
          self->reported.count >= REPORTED_MAX);) {
        self->reported_first = one->next;
        if (!one->next)
            self->reported_last = &self->reported_first;
        table_remove (&self->reported, &one->node);
        free (one);
    }
    if (reported_find (self, plan))
        return false;
    struct reported *one = memory_new (sizeof *one + plan->target->name_size + 1);
    one->id = plan->id;
    one->at_us = now_us;
    memcpy (one->target, plan->target->name, plan->target->name_size);
    table_add (&self->reported, &one->node, table_hash_number (plan->id));
    *self->reported_last = one;
    self->reported_last = &one->next;
    return true;
}
