// The plan that the engine's tests begin with.
#pragma once

#include "engine.h"
#include "rows.h"

enum { NOW = 1012, EXEC_ID = 77 };

// A run as the store claims it for a target that takes the mailbox in the envelope.
static inline struct due due_now (uint64_t exec_id)
{
    static const struct dispatch_way way = {false, ""};
    return (struct due){
        .key_station = span_text ("api1"), .exec_id = exec_id, .way = &way, .now = NOW};
}

// The claim of a plan whose run had no result within its lease: the engine ends that run, or the
// occurrence runs again.
static inline struct due due_after_lease (const struct plan *plan)
{
    struct due due = due_now (EXEC_ID);
    due.lost = true;
    due.lost = engine_ends_lost (plan, &due);
    due.exec_id += !due.lost;
    due.earlier_may_answer = true;
    return due;
}

// A plan for every ten seconds from 1000 on, five times, whose first occurrence (1010) is running.
static inline struct plan *plan_in_hand (void)
{
    static const struct span messages[] = {BYTES ("*1f"), BYTES ("\4\2\2$%\5\0"), BYTES ("api1"),
                                           BYTES ("do"),  BYTES ("arg"),          BYTES ("{}")};
    struct plan *plan = plan_new (0);
    plan->id = 0x1f;
    plan->schedule = (struct schedule){SCHEDULE_SECOND, 10, 5, false, 1000, 900};
    plan->plan_time = 1010;
    plan->exec_time = 1010;
    plan->exec_id = EXEC_ID;
    plan->state = PLAN_EXECUTE;
    plan->station = span_text ("api1");
    memcpy (plan->messages, messages, sizeof messages);
    plan->message_count = ROWS (messages);
    return plan;
}
