// Definitions of flows: input is a text up to the first NUL, and after it a byte for each event. A
// flow that is read must run to its end.
#include "flow_run.h"
#include "fuzz.h"

static void check_errors (json_t *errors)
{
    HOLDS (json_array_size (errors) >= 1 && json_array_size (errors) <= FLOW_ERRORS_MAX);
    size_t index;
    json_t *error;
    json_array_foreach (errors, index, error)
    {
        HOLDS (json_string_value (json_object_get (error, "path")));
        HOLDS (json_string_value (json_object_get (error, "reason")));
    }
    json_decref (errors);
}

static void carry (const struct flow *flow, struct flow_run *run, const struct flow_event *event)
{
    struct flow_effects effects = {.count = 0};
    const struct flow_event more = {.kind = FLOW_CHECK, .item = -1};
    flow_step (flow, run, event, 1000, &effects);
    for (int i = 0; effects.more && i < 100; i++)
        flow_step (flow, run, &more, 1000, &effects);
    for (size_t i = 0; i < effects.count; i++)
        HOLDS (effects.items[i].step < flow->step_count);
    HOLDS (!run->parallel || run->in_flight <= run->parallel || run->phase == FLOW_UNDOING);
    flow_effects_clear (&effects);
}

// The generation of the call in flight: the ends of older calls are dropped.
static unsigned generation_of (const struct flow_run *run, const struct flow_event *event)
{
    const struct flow_data *data = run->data[event->step];
    const struct flow_items *items = data ? data->items : NULL;
    return items && event->item >= 0 && event->item < items->count
               ? items->item[event->item].generation
               : run->nodes[event->step].generation;
}

static void play (const struct flow *flow, struct span events)
{
    struct flow_run *run = flow_run_new (flow, "1f");
    struct flow_event begin = {.kind = FLOW_BEGIN, .item = -1};
    json_t *value = json_integer (1);
    carry (flow, run, &begin);
    for (size_t i = 0; i + 1 < events.size && i < 400; i += 2) {
        uint8_t what = events.data[i], where = events.data[i + 1];
        struct flow_event event = {.kind =
                                       (enum flow_event_kind) (1 + what % (FLOW_UNDO - FLOW_BEGIN)),
                                   .step = where % flow->step_count,
                                   .item = what & 0x80 ? where / 16 : -1,
                                   .status = (enum flow_status) (where / 8 % 3),
                                   .undo = run->phase == FLOW_UNDOING,
                                   .force = where & 0x80,
                                   .fresh = where & 0x40,
                                   .restart = where & 0x20,
                                   .value = value};
        event.generation = generation_of (run, &event);
        carry (flow, run, &event);
    }
    json_decref (value);
    flow_run_destroy (&run, flow);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    struct span text = feed_text (&feed);
    struct span events = feed_take (&feed, feed.left.size);
    json_t *errors = NULL;
    struct flow *flow = flow_parse (text, NULL, &errors);
    if (flow)
        play (flow, events);
    else
        check_errors (errors);
    flow_destroy (&flow);
    feed_free (&feed);
    return 0;
}
