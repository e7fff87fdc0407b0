#include "missed.h"

#include <inttypes.h>

#include "codes.h"
#include "store.h"

static const char *missed_reason (const char *why)
{
    static const char *const reasons[][2] = {
        {"submission", "before the plan was submitted"},
        {"overlap", "a run was in progress"},
        {"end_time", "end_time is past"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp (why, reasons[i][0]) == 0)
            return reasons[i][1];
    return "they are too late";
}

char *missed_record (const struct plan *plan, const struct misses *misses, uint64_t exec_id,
                     size_t *ret_size)
{
    *ret_size = 0;
    if (misses->missed.count == 0 || (plan->policy && plan->policy->log == LOG_NONE))
        return NULL;
    struct reason reason;
    reason_set (&reason, "missed: %" PRId64 "%s, %s", misses->missed.count,
                misses->missed.more ? " or more" : "", missed_reason (misses->why));
    char step[OUTCOME_STEP_SIZE];
    struct outcome_record record = {
        .title = plan->description,
        .key = policy_key (plan->policy),
        .nominal = misses->missed.first,
        .status = ZERO_STATUS_MISSED_ID,
        .state = plan->state,
        .exec_id = exec_id,
        .worker = plan->station,
        .reason = span_text (reason.text),
        .missed = misses->missed,
        .missed_why = misses->why,
    };
    outcome_set_flow (&record, plan, step);
    return store_record (&record, ret_size);
}
