// Outcomes of runs: their numbers, and which failures are broadcast.
#include <stdio.h>
#include <stdlib.h>

#include "core_private.h"
#include "memory.h"

enum { TOLD_US = 60000000, TOLD_MAX = 100000 };

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

// -- failures, told once a minute

static struct told *told_find (const struct core *self, const struct open_plan *plan)
{
    struct table_node *node = table_find (&self->told, table_hash_number (plan->id));
    for (; node; node = table_next (node)) {
        struct told *told = (struct told *)node; // it is the first member
        if (told->id == plan->id && strcmp (told->target, plan->target->name) == 0)
            return told;
    }
    return NULL;
}

// Whether a failure of this plan is broadcast: none was within the last minute.
bool tells_failure (struct core *self, const struct open_plan *plan, int64_t now_us)
{
    for (struct told *told; (told = self->told_first) &&
                            (now_us - told->at_us >= TOLD_US || now_us < told->at_us - TOLD_US ||
                             self->told.count >= TOLD_MAX);) {
        self->told_first = told->next;
        if (!told->next)
            self->told_last = &self->told_first;
        table_remove (&self->told, &told->node);
        free (told);
    }
    if (told_find (self, plan))
        return false;
    struct told *told = memory_new (sizeof *told + plan->target->name_size + 1);
    told->id = plan->id;
    told->at_us = now_us;
    memcpy (told->target, plan->target->name, plan->target->name_size);
    table_add (&self->told, &told->node, table_hash_number (plan->id));
    *self->told_last = told;
    self->told_last = &told->next;
    return true;
}
