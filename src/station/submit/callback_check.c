#include "callback_check.h"

#include "failure_plan.h"
#include "targets.h"

int callback_check (struct station *self, const char *user, const struct policy *policy,
                    struct reason *reason)
{
    int rc = on_failure_check (self, user, policy, reason);
    return rc ? rc : callback_check_target (self, policy, reason);
}

int callback_check_target (struct station *self, const struct policy *policy, struct reason *reason)
{
    struct reason why;
    if (!policy || !policy->callback ||
        !targets_ensure_pull (self, self->settings->callback_target, &why))
        return 0;
    reason_set (reason, "callback: %s", why.text);
    return ZPLAN_EPLAN;
}
