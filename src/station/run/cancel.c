#include "cancel.h"

#include <stdlib.h>

#include "prefetch.h"
#include "codes.h"
#include "late.h"
#include "failpoint.h"
#include "memory.h"
#include "plan_json.h"
#include "results.h"

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
    struct run_outcome outcome = run_outcome_of (active, CAUSE_CANCEL, reason);
    outcome.done = done;
    outcome.owner = owner;
    struct decision decision = apply_outcome (self, &outcome);
    if (decision.commit == COMMIT_END)
        late_remember (self, plan_id, exec_id, active->key_station);
    bool notified = sent && cancel_notify (active, reason);
    active = runs_find_run (self, plan_id, exec_id); // the notification may have ended it
    if (active)
        runs_drop (&active);
    return notified;
}

// -- calls that flows no longer need

struct call_cancel {
    struct station *station;
    struct flow_cancel cancel;
    uint64_t run; // run of a sub-flow
};

// The run of the sub-flow has been loaded, if there is one: cancel it.
static void on_sub_run (void *owner, bool found, const char *damage)
{
    struct call_cancel *self = owner;
    struct reason reason;
    (void)found, (void)damage;
    FAILPOINT ("flow_cancel_sub");
    flow_runs_apply (
        self->station, self->run,
        &(struct flow_event){.kind = FLOW_CANCEL, .item = -1, .force = self->cancel.force},
        &reason);
    station_resume (self->station);
    free (self);
}

static void on_loaded (void *owner, const struct store_loaded *answer)
{
    struct call_cancel *self = owner;
    struct station *station = self->station;
    struct reason reason;
    uint64_t plan_id = self->cancel.plan_id;
    bool running =
        answer->result == STORE_DONE && answer->running && answer->exec_id == self->cancel.exec_id;
    struct plan *plan = running ? plan_from_stored_json (plan_id, answer->message, &reason) : NULL;
    self->run = plan ? plan->flow_run : 0;
    plan_destroy (&plan);
    if (self->run) {
        flow_runs_load (station, self->run, on_sub_run, self);
        return;
    }
    struct active_run *active = running ? results_restore_run (station, plan_id, answer) : NULL;
    if (active)
        cancel_run (active, "its flow needs it no more", NULL, NULL);
    FAILPOINT ("flow_cancelled");
    free (self);
    station_resume (station);
}

void flow_cancel_call (struct station *self, const struct flow_cancel *cancel)
{
    struct call_cancel *call_cancel = memory_new (sizeof *call_cancel);
    *call_cancel = (struct call_cancel){.station = self, .cancel = *cancel};
    store_load (self->store, cancel->plan_id, LINK_REPEAT, on_loaded, call_cancel);
}
