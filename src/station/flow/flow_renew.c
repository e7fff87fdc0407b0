// Continues a run with another version of its definition.
#include "flow_book.h"
#include "flow_runs_private.h"

// Whether the steps keep their targets, if calls are in flight: the plans of these calls stay with
// the old target.
static bool check_same_targets (const struct flow_live *live, const struct flow *flow,
                                struct reason *reason)
{
    for (uint32_t i = 0; live->run->in_flight && i < flow->step_count; i++) {
        const struct flow_step *step = &flow->steps[i];
        const char *was = i < live->flow->step_count && step->kind == FLOW_CALL
                              ? flow_call_target (&live->flow->steps[i], false)
                              : NULL;
        if (was && strcmp (was, flow_call_target (step, false)) != 0) {
            reason_set (reason,
                        "step %s has another target in this version: retry when no call is in "
                        "flight",
                        quoted (span_text (step->name)));
            return false;
        }
    }
    return true;
}

bool flow_live_apply_version (struct flow_live *live, const struct flow_event *event,
                              const struct flow *flow, int version, struct reason *reason)
{
    const struct flow *was = live->flow;
    int was_version = live->version;
    struct flow_event retry = *event;
    if (!check_same_targets (live, flow, reason))
        return false;
    retry.was = was;
    retry.version = version;
    live->flow = flow_book_hold (live->station, flow);
    live->version = version;
    bool taken = flow_live_apply (live, &retry, reason);
    if (taken) {
        flow_live_write_version (live);
    } else {
        live->flow = was;
        live->version = was_version;
    }
    flow_book_release (live->station, taken ? was : flow);
    return taken;
}
