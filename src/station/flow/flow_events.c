// Events about runs of flows: plans of steps that are added and removed, and plan.flow.NAME
// (proto/subscribers.md 8.2). They are queued, and published once the decision that caused them is
// written.
#include <inttypes.h>
#include <stdlib.h>

#include "flow_runs_private.h"
#include "flow_why.h"
#include "json.h"
#include "memory.h"
#include "publish.h"

struct queued_event {
    struct queued_event *next;
    struct plan *placed; // plan that was added, held; NULL: the event is `event`
    enum zplan_event_code event;
    uint64_t plan_id;
    char station[STATION_NAME_MAX + 1];
    char *json; // NULL: nobody subscribes
};

// The queued events of a run in one turn.
struct flow_event_queue {
    struct station *station;
    struct queued_event *first, **last;
};

// Append an empty event to the queue of the run.
static struct queued_event *queue_event (struct flow_live *live)
{
    struct flow_event_queue *queue = live->event_queue;
    if (!queue) {
        queue = live->event_queue = memory_new (sizeof *queue);
        queue->station = live->station;
        queue->last = &queue->first;
    }
    struct queued_event *queued_event = memory_new (sizeof *queued_event);
    *queue->last = queued_event;
    queue->last = &queued_event->next;
    return queued_event;
}

static void publish_queued_event (struct station *self, const struct queued_event *queued_event)
{
    if (queued_event->placed)
        publish_added (self, queued_event->placed);
    else
        publish_event (self, &(struct notice){.event = queued_event->event,
                                              .plan_id = queued_event->plan_id,
                                              .station = span_text (queued_event->station),
                                              .json = queued_event->json});
}

static void on_written (void *owner, enum store_result result, const char *error)
{
    struct flow_event_queue *queue = owner;
    (void)error;
    for (struct queued_event *queued_event = queue->first, *next; queued_event;
         queued_event = next) {
        next = queued_event->next;
        if (result == STORE_DONE || result == STORE_UNSURE)
            publish_queued_event (queue->station, queued_event);
        plan_destroy (&queued_event->placed);
        free (queued_event->json);
        free (queued_event);
    }
    free (queue);
}

void flow_events_publish (struct flow_live *live)
{
    struct flow_event_queue *queue = live->event_queue;
    live->event_queue = NULL;
    if (queue)
        store_call_when_written (live->station->store, on_written, queue);
}

// -- plans

void flow_events_plan_placed (struct flow_live *live, struct plan *plan)
{
    queue_event (live)->placed = plan_keep (plan);
}

void flow_events_plan_deleted (struct flow_live *live, struct span station, uint64_t plan_id)
{
    struct queued_event *queued_event = queue_event (live);
    char json[64];
    queued_event->event = ZPLAN_EVENT_REMOVE;
    queued_event->plan_id = plan_id;
    snprintf (queued_event->station, sizeof queued_event->station, "%.*s", (int)station.size,
              (const char *)station.data);
    snprintf (json, sizeof json, "{\"plan_id\":%" PRIu64 "}", plan_id);
    queued_event->json = memory_text (json);
}

// -- the run and its steps

// Queue a plan.flow event. `members`: further members of its JSON, taken over.
static void queue_flow_event (struct flow_live *live, const char *event, const char *step,
                              json_t *members)
{
    struct queued_event *queued_event = queue_event (live);
    queued_event->event = ZPLAN_EVENT_FLOW;
    queued_event->plan_id = live->plan_id;
    snprintf (queued_event->station, sizeof queued_event->station, "%s", live->flow_name);
    if (publish_has_event_subscribers (live->station)) {
        json_t *object =
            json_pack ("{s:I, s:s, s:s, s:i, s:s, s:s*}", "plan_id", (json_int_t)live->plan_id,
                       "flow", live->flow_name, "run", live->name, "version", live->version,
                       "event", event, "step", step);
        json_object_update (object, members);
        queued_event->json = json_write (object);
        json_decref (object);
    }
    json_decref (members);
}

// A text as a member of an object; NULL: there is none.
static json_t *text_json (const char *text)
{
    return text && *text ? json_string (text) : NULL;
}

static void queue_end_event (struct flow_live *live)
{
    json_t *failed = json_array_size (live->run->uncaught) ? live->run->uncaught : NULL;
    queue_flow_event (live, "end", NULL,
                      json_pack ("{s:s, s:o*, s:O*}", "state", flow_live_state (live), "error",
                                 text_json (live->run->error), "failed", failed));
}

// Queue the event of a skipped or blocked step, which has no plan to report it. `skip`: the command
// that skipped it, or NULL.
static void queue_step_event (struct flow_live *live, uint32_t step, const struct flow_event *skip)
{
    const struct flow_node *node = &live->run->nodes[step];
    const char *name = live->flow->steps[step].name;
    char why[REASON_MAX] = "";
    if (node->flags & FLOW_BLOCKED) {
        flow_why_blocked (live->flow, live->run, step, why, sizeof why);
        queue_flow_event (live, "blocked", name, json_pack ("{s:o*}", "why", text_json (why)));
    } else if (node->state == FLOW_SKIPPED) {
        const char *by = node->flags & FLOW_BY_PERSON ? "person" : "rule";
        queue_flow_event (live, "skipped", name,
                          json_pack ("{s:s, s:o*, s:o*}", "by", by, "key",
                                     text_json (skip ? skip->key : NULL), "why",
                                     text_json (skip ? skip->text : NULL)));
    }
}

// The name under which an event is published; NULL: other events report it already.
static const char *published_name (const struct flow_event *event)
{
    bool item = event->item >= 0;
    switch (event->kind) {
    case FLOW_SIGNALLED:
        return "signalled";
    case FLOW_REJECTED:
        return "rejected";
    case FLOW_SUSPEND:
        return "suspended";
    case FLOW_RESUME:
        return "resumed";
    case FLOW_RETRY: // a retry by the flow plan is published as exec, not here
        return event->key ? "retried" : NULL;
    case FLOW_CANCEL: // without a key, the parent run has cancelled this sub-flow
        return event->key ? "cancelled" : NULL;
    case FLOW_SKIP: // queue_step_event handles the skip of a whole step
        return item ? "skipped" : NULL;
    case FLOW_CALL_ENDED:
        return event->undo && event->status == FLOW_OK ? "undone" : NULL;
    default:
        return NULL;
    }
}

// Queue the event of a command, a signal or an undo.
static void queue_command_event (struct flow_live *live, const struct flow_event *event,
                                 const char *published_as)
{
    bool skip = event->kind == FLOW_SKIP,
         has_step = flow_command_has_step (event->kind) || event->kind == FLOW_CALL_ENDED;
    json_t *members =
        json_pack ("{s:o*, s:o*, s:o*, s:o*, s:o*}", "item",
                   event->item >= 0 ? json_integer (event->item) : NULL, "by",
                   text_json (skip ? "person" : event->key), "key",
                   text_json (skip ? event->key : NULL), "steps", json_deep_copy (event->steps),
                   "why", text_json (event->kind != FLOW_CALL_ENDED ? event->text : NULL));
    queue_flow_event (live, published_as, has_step ? live->flow->steps[event->step].name : NULL,
                      members);
}

void flow_events_applied (struct flow_live *live, const struct flow_event *event,
                          const struct flow_effects *effects, bool had_ended)
{
    bool ended = live->run->phase == FLOW_ENDED;
    const char *published_as = effects->dropped ? NULL : published_name (event);
    if (event->kind == FLOW_BEGIN)
        queue_flow_event (live, "begin", NULL, json_object ());
    else if (had_ended && !ended) // a skip or a retry has reopened the run
        queue_flow_event (live, "resumed", NULL, json_object ());
    if (published_as)
        queue_command_event (live, event, published_as);
    for (size_t i = 0; i < effects->changed_count; i++)
        queue_step_event (live, effects->changed[i],
                          event->kind == FLOW_SKIP && event->step == effects->changed[i] ? event
                                                                                         : NULL);
    if (ended && !had_ended)
        queue_end_event (live);
}
