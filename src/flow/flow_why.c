#include "flow_why.h"

#include <inttypes.h>
#include <string.h>

void flow_call_name (const struct flow *flow, uint32_t step, int64_t item,
                     char text[FLOW_CALL_NAME_SIZE])
{
    const char *name = flow->steps[step].name;
    if (item < 0)
        snprintf (text, FLOW_CALL_NAME_SIZE, "%s", name);
    else
        snprintf (text, FLOW_CALL_NAME_SIZE, "%s.%" PRId64, name, item);
}

// The source of a step that ended last; -1: none has ended.
static int64_t last_ended_source (const struct flow *flow, const struct flow_run *run,
                                  uint32_t step)
{
    const struct flow_step *own = &flow->steps[step];
    int64_t at = -1;
    for (uint32_t i = 0; i < own->in_count; i++) {
        uint32_t source = flow->in[own->in_first + i].step;
        const struct flow_node *node = &run->nodes[source];
        if (node->state >= FLOW_FINISHED && (at < 0 || node->ended > run->nodes[at].ended))
            at = source;
    }
    return at;
}

void flow_why_starts (const struct flow *flow, const struct flow_run *run, uint32_t step,
                      char *text, size_t size)
{
    int64_t source = last_ended_source (flow, run, step);
    if (source >= 0)
        snprintf (text, size, "after %s", flow->steps[source].name);
}

void flow_why_blocked (const struct flow *flow, const struct flow_run *run, uint32_t step,
                       char *text, size_t size)
{
    const struct flow_step *own = &flow->steps[step];
    snprintf (text, size, "a failure stands in the way");
    for (uint32_t i = 0; i < own->in_count; i++) {
        const struct flow_edge *edge = &flow->in[own->in_first + i];
        const struct flow_node *node = &run->nodes[edge->step];
        const struct flow_data *data = run->data[edge->step];
        bool blocked = node->flags & FLOW_BLOCKED;
        if (!(edge->on & FLOW_ON_FINISHED) ||
            (!blocked && node->state != FLOW_FAILED && node->state != FLOW_CANCELLED))
            continue;
        snprintf (text, size, "%s %s%s%s", flow->steps[edge->step].name,
                  blocked ? "is blocked" : flow_state_name (node->state),
                  data && data->error ? ": " : "", data && data->error ? data->error : "");
        return;
    }
}

// Append `before` and a name, cut to the size of the buffer; NULL: nothing.
static void append_cut_text (char *text, size_t size, const char *before, const char *name)
{
    size_t used = strlen (text);
    if (name)
        snprintf (text + used, size - used, "%s%.64s", before, name);
}

void flow_why_waits (const struct flow *flow, const struct flow_run *run, uint32_t index,
                     char *text, size_t size)
{
    const struct flow_step *step = &flow->steps[index];
    const json_t *signals = run->data[index] ? run->data[index]->signals : NULL;
    size_t i;
    const char *before = " (";
    const json_t *entry;
    char count[32];
    snprintf (text, size, "for %u signal%s", step->signal_count,
              step->signal_count == 1 ? "" : "s");
    json_array_foreach (step->signal_who, i, entry)
        append_cut_text (text, size, i ? ", " : " of ", json_string_value (entry));
    if (!json_array_size (signals))
        return;
    snprintf (count, sizeof count, "%zu so far", json_array_size (signals));
    append_cut_text (text, size, ", ", count);
    json_array_foreach (signals, i, entry)
    {
        const char *key = json_string_value (json_object_get (entry, "key"));
        append_cut_text (text, size, before, key);
        before = key ? ", " : before;
    }
    if (*before == ',')
        append_cut_text (text, size, "", ")");
}
