// Submissions of flow plans: plans whose target is a flow. proto/flows.md 18.11.
#include "codes.h"
#include "expr.h"
#include "flow.h"
#include "submit.h"

int submit_check_input (const struct message *message, struct reason *reason)
{
    struct span input = {0};
    struct reason why;
    size_t count = 0;
    for (size_t i = 0; i < message->desc.count; i++)
        if (message->desc.types[i] == ZERO_FRAME_JSON && ++count == 1)
            input = message->frames[i];
    if (count > 1) {
        reason_set (reason, "JSON: a flow takes one frame, its input, got %zu", count);
        return ZPLAN_EPLAN;
    }
    if (input.size > FLOW_VALUE_MAX) {
        reason_set (reason, "JSON: the input of a flow has at most %d bytes, got %zu",
                    FLOW_VALUE_MAX, input.size);
        return ZPLAN_EPLAN;
    }
    json_t *json = count ? expr_read_json (input, &why) : NULL;
    bool good = !count || json_is_object (json);
    if (!good)
        reason_set (reason, "JSON: the input of a flow: %s", json ? "want an object" : why.text);
    json_decref (json);
    return good ? 0 : ZPLAN_EPLAN;
}

int submit_check_flow (enum vote_need need, const struct policy *policy, struct reason *reason)
{
    bool workers = policy && policy->workers.count;
    if (need == VOTE_NONE && !workers)
        return 0;
    reason_set (reason, "%s: is for plans of %s targets, this one is of a flow",
                workers ? "workers" : "vote", workers ? "pull" : "vote");
    return ZPLAN_EPLAN;
}
