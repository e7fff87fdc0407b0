// The checks of a submission that need no Redis.
#include "codes.h"
#include "flow_book.h"
#include "permit.h"
#include "plan_message.h"
#include "submit.h"
#include "submit_private.h"
#include "inquiry.h"
#include "zones.h"
#include "failure_plan.h"
#include "targets.h"

enum { NAME_BYTES_MAX = 4096 }; // size of REQUEST_ID, and of a caller

int submit_check_frames (const struct message *message, const struct target *target,
                         struct reason *reason)
{
    bool given, named = message->envelope == ENVELOPE_CALLER;
    struct span id = message_frame (message, ZERO_FRAME_REQUEST_ID, NULL);
    // These are part of every JSON of the plan, so they must stay small.
    if (id.size > NAME_BYTES_MAX || (named && message->sender.size > NAME_BYTES_MAX))
        return reason_error (reason, ZPLAN_EBUSY, "%s: at most %d bytes",
                             id.size > NAME_BYTES_MAX ? "REQUEST_ID" : "caller", NAME_BYTES_MAX);
    if (!target)
        return submit_check_input (message, reason);
    // What each type of target must be sent (plan document 3.1).
    enum target_type type = target_type (target);
    uint8_t wanted = type == TARGET_PUB ? ZERO_FRAME_PUB_TITLE : ZERO_FRAME_COMMAND;
    struct span frame = message_frame (message, wanted, &given);
    if (!given || !frame.size)
        return reason_error (reason, ZPLAN_EPLAN, "%s: is %s, plans for %s targets need it",
                             type == TARGET_PUB ? "PUB_TITLE" : "COMMAND",
                             given ? "empty" : "missing", target_type_name (type));
    if (plan_dispatch_fits (&message->desc, target_dispatch_way (target)))
        return 0;
    return reason_error (
        reason, ZPLAN_EFRAME,
        "frames: too many; the station adds some (PLAN_TIME, LOCAL_ID, GLOBAL_ID), "
        "and a message has at most 32");
}

// Check the rule for votes: a plan of a vote target has one, by default that all vote; no other
// plan has one.
static int check_vote (const struct target *target, struct plan_fields *fields,
                       struct reason *reason)
{
    bool vote = target_type (target) == TARGET_VOTE;
    if (!vote && fields->vote.need != VOTE_NONE)
        return reason_error (reason, ZPLAN_EPLAN,
                             "vote: is for plans of vote targets, %s is of type %s",
                             target_name (target), target_type_name (target_type (target)));
    if (vote && fields->vote.need == VOTE_NONE)
        fields->vote.need = VOTE_ALL;
    return 0;
}

int submit_check_policy (const struct target *target, const struct policy *policy,
                         struct reason *reason)
{
    bool pull = target && target_type (target) == TARGET_PULL;
    const char *field = target ? policy_flow_field (policy) : NULL;
    if (!field && (!target || !policy || !policy->workers.count || pull))
        return 0;
    return reason_error (reason, ZPLAN_EPLAN, "%s: is for plans of %s, %s is of type %s",
                         field ? field : "workers", field ? "flows" : "pull targets",
                         target_name (target), target_type_name (target_type (target)));
}

int submission_check (struct station *self, const char *user, const struct message *message,
                      struct plan_fields *fields, uint64_t *ret_id, struct reason *reason)
{
    bool given;
    struct span frame = message_frame (message, ZERO_FRAME_PLAN, &given);
    int rc;
    if (!given)
        return reason_error (reason, ZPLAN_EPLAN, "PLAN: the frame is missing");
    if ((rc = plan_frame_parse (frame, &self->settings->limits.plan, fields, reason)))
        return rc;
    *ret_id = 0;
    frame = message_frame (message, ZERO_FRAME_GLOBAL_ID, &given);
    if (given && !ident_parse (frame, ret_id))
        return reason_error (reason, ZPLAN_EPLAN,
                             "GLOBAL_ID: want 1..16 hex digits, 1..7fffffffffffffff, got %s",
                             quoted (frame));
    frame = message_frame (message, ZERO_FRAME_STATION_ID, &given);
    if (!given)
        return reason_error (reason, ZPLAN_EPLAN, "STATION_ID: is missing");
    if (station_is_callbacks (self, frame))
        return permit_callback_denied (reason);
    const struct target *target = station_target (self, frame);
    if (!target && !flow_book_takes (self, frame))
        return target_not_found (self, user, "STATION_ID", frame, reason);
    if ((rc = submit_check_frames (message, target, reason)) ||
        (rc = target ? check_vote (target, fields, reason)
                     : submit_check_flow (fields->vote.need, fields->policy, reason)) ||
        !fields->policy || (rc = submit_check_policy (target, fields->policy, reason)))
        return rc;
    return zones_find (self, fields->policy, reason) ? 0 : ZPLAN_EPLAN;
}

// -- what plans and kinds ask to be called at the end of runs

int callback_check (struct station *self, const char *user, const struct policy *policy,
                    struct reason *reason)
{
    int rc = check_on_failure (self, user, policy, reason);
    return rc ? rc : callback_check_target (self, policy, reason);
}

int callback_check_target (struct station *self, const struct policy *policy, struct reason *reason)
{
    struct reason why;
    if (!policy || !policy->callback ||
        !targets_ensure_pull (self, self->settings->callback_target, &why))
        return 0;
    return reason_error (reason, ZPLAN_EPLAN, "callback: %s", why.text);
}
