#include "flow_cancel.h"

#include <stdlib.h>

#include "cancel.h"
#include "failpoint.h"
#include "flow_runs_private.h"
#include "memory.h"
#include "plan_json.h"
#include "results.h"

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
    bool runs =
        answer->result == STORE_DONE && answer->running && answer->exec_id == self->cancel.exec_id;
    struct plan *plan = runs ? plan_from_stored_json (plan_id, answer->message, &reason) : NULL;
    self->run = plan ? plan->flow_run : 0;
    plan_destroy (&plan);
    if (self->run) {
        flow_runs_load (station, self->run, on_sub_run, self);
        return;
    }
    struct active_run *active = runs ? results_restore_run (station, plan_id, answer) : NULL;
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
