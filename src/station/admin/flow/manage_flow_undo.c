#include "manage_flow_undo.h"

#include <stdlib.h>

#include "flow_live.h"
#include "manage_flow_step.h"
#include "memory.h"
#include "permit.h"

struct resolve_request {
    struct station *station;
    struct peer *peer;
    struct step_name name;
    bool again;
};

static void resolve_request_end (struct resolve_request *self)
{
    struct station *station = self->station;
    free (self);
    station_resume (station);
}

static void on_written (void *owner, enum store_result result, const char *error)
{
    struct resolve_request *self = owner;
    if (result == STORE_DONE)
        manage_reply (self->station, self->peer, 0, NULL);
    else
        reply_refuse_store (self->station, self->peer, result, error);
    resolve_request_end (self);
}

static void on_step (void *owner, struct flow_live *live, uint32_t step)
{
    struct resolve_request *self = owner;
    struct reason reason = {""};
    char who[SPEAKER_SIZE], by[SPEAKER_SIZE];
    const struct span key = permit_user_in_effect (self->station, self->peer, who);
    snprintf (by, sizeof by, "%.*s", (int)key.size, (const char *)key.data);
    const struct flow_event event = {.kind = self->again ? FLOW_UNDO_RESET : FLOW_UNDO_DONE,
                                     .step = step,
                                     .item = self->name.item,
                                     .key = by};
    if (!live) { // the request was rejected
        resolve_request_end (self);
        return;
    }
    if (flow_undo_is_parked (live, step, self->name.item) &&
        flow_live_apply (live, &event, &reason)) {
        store_call_when_written (self->station->store, on_written, self);
        return;
    }
    reason_set (&reason, "%s: no undo of %s has failed permanently", self->again ? "reset" : "done",
                self->name.step);
    reply_refuse (self->station, self->peer, ZPLAN_EARGUMENT, reason.text);
    resolve_request_end (self);
}

bool manage_flow_undo (struct station *self, struct request *request, struct span name, bool again)
{
    struct step_name step;
    if (!step_name_parse (name, &step))
        return false;
    struct resolve_request *resolving = memory_new (sizeof *resolving);
    *resolving = (struct resolve_request){self, peer_keep (self, request), step, again};
    step_find (self, resolving->peer, again ? "reset" : "done", &step, on_step, resolving);
    return true;
}
