// Events about runs of flows: plans of steps that are added and removed, and plan.flow.NAME
// (proto/subscribers.md 8.2). They are published once the decision that caused them is written.
#include <inttypes.h>
#include <stdlib.h>

#include "flow_runs_private.h"
#include "flow_why.h"
#include "json.h"
#include "memory.h"
#include "publish.h"

struct news {
    struct news *next;
    struct plan *placed; // a reference; NULL = the event below
    enum zplan_event_code event;
    uint64_t plan_id;
    char station[STATION_NAME_MAX + 1];
    char *json; // NULL = there is no subscriber
};

// The events of a turn.
struct flow_news {
    struct station *station;
    struct news *first, **last;
};

static struct news *news_add (struct flow_live *live)
{
    struct flow_news *all = live->news;
    if (!all) {
        all = live->news = memory_new (sizeof *all);
        all->station = live->station;
        all->last = &all->first;
    }
    struct news *news = memory_new (sizeof *news);
    *all->last = news;
    all->last = &news->next;
    return news;
}

static void news_publish (struct station *self, const struct news *news)
{
    if (news->placed)
        publish_added (self, news->placed);
    else
        publish_event (self, &(struct notice){.event = news->event,
                                              .plan_id = news->plan_id,
                                              .station = span_text (news->station),
                                              .json = news->json});
}

static void on_written (void *owner, enum store_result result, const char *error)
{
    struct flow_news *all = owner;
    (void)error;
    for (struct news *news = all->first, *next; news; news = next) {
        next = news->next;
        if (result == STORE_DONE || result == STORE_UNSURE)
            news_publish (all->station, news);
        plan_destroy (&news->placed);
        free (news->json);
        free (news);
    }
    free (all);
}

void flow_news_send (struct flow_live *live)
{
    struct flow_news *all = live->news;
    live->news = NULL;
    if (all)
        store_when_written (live->station->store, on_written, all);
}

// -- plans

void flow_news_placed (struct flow_live *live, struct plan *plan)
{
    news_add (live)->placed = plan_keep (plan);
}

void flow_news_taken_back (struct flow_live *live, struct span station, uint64_t plan_id)
{
    struct news *news = news_add (live);
    char json[64];
    news->event = ZPLAN_EVENT_REMOVE;
    news->plan_id = plan_id;
    snprintf (news->station, sizeof news->station, "%.*s", (int)station.size,
              (const char *)station.data);
    snprintf (json, sizeof json, "{\"plan_id\":%" PRIu64 "}", plan_id);
    news->json = memory_text (json);
}

// -- the run and its steps

// Add a plan.flow event. `more`: further members of its JSON, taken over.
static void report_flow (struct flow_live *live, const char *event, const char *step, json_t *more)
{
    struct news *news = news_add (live);
    news->event = ZPLAN_EVENT_FLOW;
    news->plan_id = live->plan_id;
    snprintf (news->station, sizeof news->station, "%s", live->flow_name);
    if (publish_has_event_subscribers (live->station)) {
        json_t *object = json_pack ("{s:I, s:s, s:s, s:i, s:s}", "plan_id",
                                    (json_int_t)live->plan_id, "flow", live->flow_name, "run",
                                    live->name, "version", live->version, "event", event);
        if (step)
            json_object_set_new (object, "step", json_string (step));
        json_object_update (object, more);
        news->json = json_write (object);
        json_decref (object);
    }
    json_decref (more);
}

static void set_text (json_t *object, const char *name, const char *text)
{
    if (text && *text)
        json_object_set_new (object, name, json_string (text));
}

static void report_end (struct flow_live *live)
{
    json_t *more = json_object ();
    set_text (more, "state", flow_live_state (live));
    set_text (more, "error", live->run->error);
    if (json_array_size (live->run->uncaught))
        json_object_set (more, "failed", live->run->uncaught);
    report_flow (live, "end", NULL, more);
}

// Report a skipped or blocked step, which has no plan to report it. `skip`: the command that
// skipped it, or NULL.
static void report_step (struct flow_live *live, uint32_t step, const struct flow_event *skip)
{
    const struct flow_node *node = &live->run->nodes[step];
    const char *name = live->flow->steps[step].name;
    char why[REASON_MAX] = "";
    json_t *more;
    if (node->flags & FLOW_BLOCKED) {
        more = json_object ();
        flow_why_blocked (live->flow, live->run, step, why, sizeof why);
        set_text (more, "why", why);
        report_flow (live, "blocked", name, more);
    } else if (node->state == FLOW_SKIPPED) {
        more = json_object ();
        set_text (more, "by", node->flags & FLOW_BY_PERSON ? "person" : "rule");
        set_text (more, "key", skip ? skip->key : NULL);
        set_text (more, "why", skip ? skip->text : NULL);
        report_flow (live, "skipped", name, more);
    }
}

// The name of the event, if it adds to the reports of the steps; else NULL.
static const char *event_word (const struct flow_event *event)
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
    case FLOW_RETRY: // a retry of its flow plan publishes exec
        return event->key ? "retried" : NULL;
    case FLOW_CANCEL: // a cancel of the parent run also cancels a sub-flow
        return event->key ? "cancelled" : NULL;
    case FLOW_SKIP: // report_step reports a whole step
        return item ? "skipped" : NULL;
    case FLOW_CALL_ENDED:
        return event->undo && event->status == FLOW_OK ? "undone" : NULL;
    default:
        return NULL;
    }
}

static void report_event (struct flow_live *live, const struct flow_event *event, const char *word)
{
    bool skip = event->kind == FLOW_SKIP,
         has_step = flow_command_has_step (event->kind) || event->kind == FLOW_CALL_ENDED;
    json_t *more = json_object ();
    if (event->item >= 0)
        json_object_set_new (more, "item", json_integer (event->item));
    set_text (more, "by", skip ? "person" : event->key);
    set_text (more, "key", skip ? event->key : NULL);
    if (event->steps)
        json_object_set_new (more, "steps", json_deep_copy (event->steps));
    if (event->kind != FLOW_CALL_ENDED)
        set_text (more, "why", event->text);
    report_flow (live, word, has_step ? live->flow->steps[event->step].name : NULL, more);
}

void flow_news_carried (struct flow_live *live, const struct flow_event *event,
                        const struct flow_effects *effects, bool had_ended)
{
    bool ended = live->run->phase == FLOW_ENDED;
    const char *word = effects->dropped ? NULL : event_word (event);
    if (event->kind == FLOW_BEGIN)
        report_flow (live, "begin", NULL, json_object ());
    else if (had_ended && !ended) // by a skip or a retry
        report_flow (live, "resumed", NULL, json_object ());
    if (word)
        report_event (live, event, word);
    for (size_t i = 0; i < effects->changed_count; i++)
        report_step (live, effects->changed[i],
                     event->kind == FLOW_SKIP && event->step == effects->changed[i] ? event : NULL);
    if (ended && !had_ended)
        report_end (live);
}
