#include "cancel.h"

#include "prefetch.h"
#include "codes.h"
#include "late.h"

bool cancel_notify (const struct active_run *active, const char *reason)
{
    char mailbox[MAILBOX_SIZE], plan_id[IDENT_SIZE], exec_id[IDENT_SIZE];
    struct target *target = station_target (active->station, span_text (active->key_station));
    if (!target || target_type (target) == TARGET_PULL || !target_connection (target))
        return false;
    struct message message;
    bool by_identity = target_dispatch_way (target)->by_identity;
    struct span name = span_text (mailbox_text (active->plan_id, mailbox));
    ident_text (active->plan_id, plan_id);
    ident_text (active->run.exec_id, exec_id);
    message_start (&message, ZERO_BYTE_COMMAND_CLOSE_REQUEST);
    message_add (&message, ZERO_FRAME_STATUS, span_text (reason));
    if (by_identity) {
        message_add (&message, ZERO_FRAME_REQUESTER, name);
    } else {
        message.envelope = ENVELOPE_MAILBOX;
        message.sender = name;
    }
    message_add (&message, ZERO_FRAME_LOCAL_ID, span_text (exec_id));
    message_add (&message, ZERO_FRAME_GLOBAL_ID, span_text (by_identity ? exec_id : plan_id));
    return target_send (target, &message);
}

bool cancel_run (struct active_run *active, const char *reason, applied_fn *done, void *owner)
{
    struct station *self = active->station;
    const uint64_t plan_id = active->plan_id, exec_id = active->run.exec_id;
    // A prefetched run is dropped unsent, so its target need not be notified.
    bool sent = !prefetch_drop (self, plan_id);
    struct decision decision =
        apply_outcome (self, &(struct run_outcome){.plan = active->plan,
                                                   .key_station = span_text (active->key_station),
                                                   .run = &active->run,
                                                   .cause = CAUSE_CANCEL,
                                                   .reason = reason,
                                                   .done = done,
                                                   .owner = owner});
    if (decision.commit == COMMIT_END)
        late_remember (self, plan_id, exec_id, active->key_station);
    bool notified = sent && cancel_notify (active, reason);
    active = runs_find_run (self, plan_id, exec_id); // the notification may have ended it
    if (active)
        runs_drop (&active);
    return notified;
}
