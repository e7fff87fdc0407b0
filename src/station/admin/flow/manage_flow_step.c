#include "manage_flow_step.h"

#include <inttypes.h>
#include <stdlib.h>

#include "flow_live.h"
#include "memory.h"
#include "permit.h"

// Cut `text` at the first `mark`. Returns the rest after the mark; without data: there is no mark.
static struct span split_at (struct span *text, char mark)
{
    const uint8_t *at = text->size ? memchr (text->data, mark, text->size) : NULL;
    size_t size = at ? (size_t)(at - text->data) : text->size;
    struct span rest = at ? span_of (at + 1, text->size - size - 1) : (struct span){0};
    text->size = size;
    return rest;
}

bool step_item_parse (struct span text, struct span *ret_step, int64_t *ret_item)
{
    struct span item = split_at (&text, '.');
    *ret_step = text;
    *ret_item = -1;
    return text.size && (!item.data || argument_number (item, 0, FLOW_ITEMS_MAX, ret_item));
}

bool step_name_parse (struct span text, struct step_name *ret)
{
    struct span name, step = split_at (&text, '/');
    *ret = (struct step_name){.item = -1};
    if (!ident_parse (text, &ret->run) || !step_item_parse (step, &name, &ret->item) ||
        name.size > FLOW_NAME_MAX)
        return false;
    memcpy (ret->step, name.data, name.size);
    return flow_step_name_valid (ret->step);
}

struct step_search {
    struct station *station;
    struct peer *peer;
    const char *command;
    struct step_name name;
    step_found_fn *found;
    void *owner;
};

static void on_run (void *owner, bool found, const char *damage)
{
    struct step_search *self = owner;
    struct station *station = self->station;
    const struct step_name *name = &self->name;
    struct flow_live *live = flow_live_find (station, name->run);
    struct reason reason;
    char run[IDENT_SIZE];
    int64_t step = -1;
    bool lost = found && !live;
    if (live && !permits_station (station, self->peer->user, span_text (live->flow_name)))
        live = NULL;
    if (live)
        step = flow_find (live->flow, name->step);
    if (lost)
        reply_refuse (station, self->peer, ZPLAN_ENET, "Redis was lost meanwhile");
    else if (damage)
        reason_set (&reason, "%s: run %s is damaged: %s", self->command,
                    ident_text (name->run, run), damage);
    else if (!live)
        reason_set (&reason, "%s: no run %s is known", self->command, ident_text (name->run, run));
    else if (step < 0)
        reason_set (&reason, "%s: %s has no step %s", self->command, live->flow_name, name->step);
    else if (name->item >= 0 && !flow_item_of (live->run, (uint32_t)step, name->item))
        reason_set (&reason, "%s: %s has no item %" PRId64, self->command, name->step, name->item);
    else {
        self->found (self->owner, live, (uint32_t)step);
        free (self);
        return;
    }
    if (!lost)
        reply_refuse (station, self->peer, ZPLAN_ENOTFIND, reason.text);
    self->found (self->owner, NULL, 0);
    free (self);
    station_resume (station);
}

void step_find (struct station *self, struct peer *peer, const char *command,
                const struct step_name *name, step_found_fn *found, void *owner)
{
    struct step_search *search = memory_new (sizeof *search);
    *search = (struct step_search){.station = self,
                                   .peer = peer,
                                   .command = command,
                                   .name = *name,
                                   .found = found,
                                   .owner = owner};
    flow_runs_load (self, name->run, on_run, search);
}

// -- done and reset of RUN/STEP

struct resolve_request {
    struct station *station;
    struct peer *peer;
    struct step_name name;
    bool reset;
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
    if (!live) { // the request was rejected, and its peer is released
        resolve_request_end (self);
        return;
    }
    const struct span key = permit_user_in_effect (self->station, self->peer, who);
    snprintf (by, sizeof by, "%.*s", (int)key.size, (const char *)key.data);
    const struct flow_event event = {.kind = self->reset ? FLOW_UNDO_RESET : FLOW_UNDO_DONE,
                                     .step = step,
                                     .item = self->name.item,
                                     .key = by};
    if (flow_undo_is_parked (live, step, self->name.item) &&
        flow_live_apply (live, &event, &reason)) {
        store_call_when_written (self->station->store, on_written, self);
        return;
    }
    reason_set (&reason, "%s: no undo of %s has failed permanently", self->reset ? "reset" : "done",
                self->name.step);
    reply_refuse (self->station, self->peer, ZPLAN_EARGUMENT, reason.text);
    resolve_request_end (self);
}

bool manage_flow_undo (struct station *self, struct request *request, struct span name, bool reset)
{
    struct step_name step;
    if (!step_name_parse (name, &step))
        return false;
    struct resolve_request *resolve = memory_new (sizeof *resolve);
    *resolve = (struct resolve_request){self, peer_keep (self, request), step, reset};
    step_find (self, resolve->peer, reset ? "reset" : "done", &step, on_step, resolve);
    return true;
}
