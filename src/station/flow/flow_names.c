#include "flow_names.h"

#include <stdlib.h>

#include "json.h"
#include "memory.h"
#include "saturate.h"

// -- the set

static int compare_name (struct span name, const char *text)
{
    size_t size = strlen (text), common = name.size < size ? name.size : size;
    int rc = common ? memcmp (name.data, text, common) : 0;
    return rc ? rc : (name.size > size) - (name.size < size);
}

// The index of the first name that does not sort before this one.
static size_t name_position (const struct flow_names *self, struct span name)
{
    size_t from = 0, to = self->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (compare_name (name, self->entries[middle].name) > 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

struct flow_entry *flow_names_find (const struct flow_names *self, struct span name)
{
    size_t at = name_position (self, name);
    bool found = at < self->count && span_is (name, self->entries[at].name);
    return found ? &self->entries[at] : NULL;
}

size_t flow_names_after (const struct flow_names *self, struct span name)
{
    size_t at = name_position (self, name);
    return at + (at < self->count && span_is (name, self->entries[at].name));
}

struct flow_entry *flow_names_add (struct flow_names *self, struct span name)
{
    size_t at = name_position (self, name);
    if (at < self->count && span_is (name, self->entries[at].name))
        return &self->entries[at];
    self->entries = memory_grow (self->entries, self->count, &self->room, sizeof *self->entries);
    memmove (&self->entries[at + 1], &self->entries[at],
             (self->count - at) * sizeof *self->entries);
    self->count++;
    struct flow_entry *entry = &self->entries[at];
    *entry = (struct flow_entry){.use = 0};
    memcpy (entry->name, name.data, name.size < FLOW_NAME_MAX ? name.size : FLOW_NAME_MAX);
    return entry;
}

void flow_names_remove (struct flow_names *self, struct span name)
{
    struct flow_entry *entry = flow_names_find (self, name);
    if (!entry)
        return;
    flow_facts_release (&entry->facts);
    size_t at = (size_t)(entry - self->entries);
    self->count--;
    memmove (entry, entry + 1, (self->count - at) * sizeof *entry);
}

void flow_names_copy (struct flow_names *self, const struct flow_names *from)
{
    *self = (struct flow_names){.count = from->count, .room = from->count};
    self->entries = memory_new ((from->count + 1) * sizeof *self->entries);
    if (from->count)
        memcpy (self->entries, from->entries, from->count * sizeof *self->entries);
    for (size_t i = 0; i < self->count; i++)
        if (self->entries[i].facts)
            self->entries[i].facts->holders++;
}

void flow_names_clear (struct flow_names *self)
{
    for (size_t i = 0; i < self->count; i++)
        flow_facts_release (&self->entries[i].facts);
    free (self->entries);
    *self = (struct flow_names){0};
}

void flow_entry_set_facts (struct flow_entry *self, struct flow_facts *facts)
{
    flow_facts_release (&self->facts);
    self->facts = facts;
}

// -- facts

static struct flow_facts *facts_new (size_t calls)
{
    struct flow_facts *self = memory_new (sizeof *self);
    self->holders = 1;
    self->calls = memory_new ((calls + 1) * sizeof *self->calls);
    return self;
}

void flow_facts_release (struct flow_facts **self)
{
    struct flow_facts *facts = *self;
    *self = NULL;
    if (!facts || --facts->holders > 0)
        return;
    json_decref (facts->report.because);
    free (facts->calls);
    free (facts);
}

// Add calls of a flow, which may be called by several steps.
static void add_called_flow (struct flow_facts *self, const char *name, uint64_t times)
{
    size_t at = 0;
    while (at < self->call_count && strcmp (self->calls[at].name, name) != 0)
        at++;
    if (at == self->call_count) {
        snprintf (self->calls[at].name, sizeof self->calls[at].name, "%s", name);
        self->call_count++;
    }
    self->calls[at].times = saturate_add (self->calls[at].times, times);
}

struct flow_facts *flow_facts_of (const struct flow *flow)
{
    size_t calls = 0;
    for (uint32_t i = 0; i < flow->step_count; i++)
        calls += flow->steps[i].call.is_flow;
    struct flow_facts *self = facts_new (calls);
    self->report = flow->report;
    self->report.warnings = NULL;
    self->report.because = json_array ();
    self->steps = flow->step_count;
    for (size_t i = 0; i < json_array_size (flow->report.because) && i < FLOW_INFO_BECAUSE_MAX; i++)
        json_array_append_new (self->report.because,
                               json_copy (json_array_get (flow->report.because, i)));
    for (uint32_t i = 0; i < flow->step_count; i++) {
        const struct flow_step *step = &flow->steps[i];
        uint64_t items = flow_items_max (step);
        self->own_calls = saturate_add (self->own_calls, step->kind == FLOW_CALL ? items : 0);
        if (step->call.is_flow)
            add_called_flow (self, step->call.target, items);
    }
    return self;
}

char *flow_facts_text (const struct flow_facts *self)
{
    const struct flow_report *report = &self->report;
    json_t *calls = json_object ();
    for (size_t i = 0; i < self->call_count; i++)
        json_object_set_new (calls, self->calls[i].name,
                             json_integer ((json_int_t)self->calls[i].times));
    json_t *json = json_pack ("{s:I, s:I, s:i, s:b, s:b, s:I, s:I, s:o, s:O*}", "steps",
                              (json_int_t)self->steps, "steps_max", (json_int_t)report->steps_max,
                              "depth", (int)report->depth, "bounded", report->bounded, "has_tail",
                              report->has_tail, "seconds_max", (json_int_t)report->seconds_max,
                              "calls", (json_int_t)self->own_calls, "flows", calls, "because",
                              json_array_size (report->because) ? report->because : NULL);
    char *text = json_write (json);
    json_decref (json);
    return text;
}

// Read the texts of `because`. False: not valid.
static bool read_because (struct flow_facts *self, const json_t *list)
{
    self->report.because = json_array ();
    for (size_t i = 0; i < json_array_size (list) && i < FLOW_INFO_BECAUSE_MAX; i++) {
        json_t *text = json_array_get (list, i);
        if (!json_is_string (text))
            return false;
        json_array_append (self->report.because, text);
    }
    return true;
}

// Read the called flows, name -> maximum calls. False: not valid.
static bool read_calls (struct flow_facts *self, const json_t *calls)
{
    const char *name;
    json_t *times;
    json_object_foreach ((json_t *)calls, name, times)
    {
        if (!flow_name_valid (name) || !json_is_integer (times) || json_integer_value (times) < 0)
            return false;
        add_called_flow (self, name, (uint64_t)json_integer_value (times));
    }
    return json_is_object (calls);
}

struct flow_facts *flow_facts_read (struct span text)
{
    struct reason reason;
    int64_t steps = 0, steps_max = 0, depth = 0, seconds = 0, own = 0;
    json_t *json = json_read_object (text, &reason);
    const json_t *calls = json_object_get (json, "flows");
    struct flow_facts *self = facts_new (json_object_size (calls));
    bool good = json && json_get_integer (json, "steps", 1, FLOW_STEPS_MAX, &steps) &&
                json_get_integer (json, "steps_max", 0, INT64_MAX, &steps_max) &&
                json_get_integer (json, "depth", 1, INT32_MAX, &depth) &&
                json_get_integer (json, "seconds_max", 0, INT64_MAX, &seconds) &&
                json_get_integer (json, "calls", 0, INT64_MAX, &own) &&
                read_because (self, json_object_get (json, "because")) && read_calls (self, calls);
    self->report.steps_max = (uint64_t)steps_max;
    self->report.depth = (unsigned)depth;
    self->report.seconds_max = (uint64_t)seconds;
    self->report.bounded = json_is_true (json_object_get (json, "bounded"));
    self->report.has_tail = json_is_true (json_object_get (json, "has_tail"));
    self->own_calls = (uint64_t)own;
    self->steps = (uint32_t)steps;
    json_decref (json);
    if (!good)
        flow_facts_release (&self);
    return self;
}

// -- the graph of calls: it may have cycles after edits by hand, so each entry is visited once

struct call_sum {
    enum { SUM_NEW, SUM_BEGUN, SUM_DONE } state;
    uint64_t calls;
    unsigned depth;
};

struct summation {
    const struct flow_names *names;
    struct span changed; // the flow that has `facts` instead of those in `names`; empty: none
    const struct flow_facts *facts;
    struct call_sum *sums;
};

// Compute the maximum calls and the depth of an entry and of all flows that it calls.
static const struct call_sum *sum_entry (struct summation *self, size_t at, unsigned level)
{
    struct call_sum *call_sum = &self->sums[at];
    const struct flow_entry *entry = &self->names->entries[at];
    bool changed = self->changed.size && span_is (self->changed, entry->name);
    const struct flow_facts *facts = changed ? self->facts : entry->facts;
    if (call_sum->state != SUM_NEW)
        return call_sum;
    call_sum->state = SUM_BEGUN;
    call_sum->calls = facts ? facts->own_calls : 0;
    call_sum->depth = 1;
    for (size_t i = 0; facts && level < 2 * FLOW_DEPTH_MAX && i < facts->call_count; i++) {
        const struct flow_entry *called =
            flow_names_find (self->names, span_text (facts->calls[i].name));
        if (!called)
            continue;
        const struct call_sum *callee_sum =
            sum_entry (self, (size_t)(called - self->names->entries), level + 1);
        call_sum->calls = saturate_add (
            call_sum->calls, saturate_multiply (facts->calls[i].times, callee_sum->calls));
        if (callee_sum->depth + 1 > call_sum->depth)
            call_sum->depth = callee_sum->depth + 1;
    }
    call_sum->state = SUM_DONE;
    return call_sum;
}

static bool entry_leads_to (const struct flow_names *self, const struct flow_entry *entry,
                            struct span to, bool *seen_entries)
{
    size_t at = (size_t)(entry - self->entries);
    if (span_is (to, entry->name))
        return true;
    if (seen_entries[at] || !entry->facts)
        return false;
    seen_entries[at] = true;
    for (size_t i = 0; i < entry->facts->call_count; i++) {
        const struct flow_entry *called =
            flow_names_find (self, span_text (entry->facts->calls[i].name));
        if (called && entry_leads_to (self, called, to, seen_entries))
            return true;
    }
    return false;
}

bool flow_names_lead_to (const struct flow_names *self, struct span from, struct span to)
{
    const struct flow_entry *entry = flow_names_find (self, from);
    if (!entry)
        return false;
    bool *seen_entries = memory_new (self->count + 1);
    bool found = entry_leads_to (self, entry, to, seen_entries);
    free (seen_entries);
    return found;
}

bool flow_names_check_limits (const struct flow_names *self, const char *name,
                              const struct flow_facts *facts, struct reason *reason)
{
    struct summation summation = {self, span_text (name), facts,
                                  memory_new ((self->count + 1) * sizeof *summation.sums)};
    bool fits = true;
    for (size_t i = 0; i < self->count && fits; i++) {
        const struct flow_entry *entry = &self->entries[i];
        const struct call_sum *call_sum = sum_entry (&summation, i, 0);
        bool deep = call_sum->depth > FLOW_DEPTH_MAX, many = call_sum->calls > FLOW_CALLS_MAX;
        if (!(deep || many) || strcmp (entry->name, name) == 0 ||
            !flow_names_lead_to (self, span_text (entry->name), span_text (name)))
            continue;
        fits = false;
        if (deep)
            reason_set (reason, "flow %s, which leads here, would be %u flows deep, more than %d",
                        entry->name, call_sum->depth, FLOW_DEPTH_MAX);
        else
            reason_set (reason,
                        "a run of flow %s, which leads here, might make %llu calls, more than %d",
                        entry->name, (unsigned long long)call_sum->calls, FLOW_CALLS_MAX);
    }
    free (summation.sums);
    return fits;
}

const struct flow_entry *flow_names_caller (const struct flow_names *self, struct span name)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct flow_entry *entry = &self->entries[i];
        for (size_t j = 0; entry->facts && j < entry->facts->call_count; j++)
            if (span_is (name, entry->facts->calls[j].name) && !span_is (name, entry->name))
                return entry;
    }
    return NULL;
}

void flow_names_recompute (struct flow_names *self)
{
    struct summation summation = {.names = self,
                                  .sums = memory_new ((self->count + 1) * sizeof *summation.sums)};
    for (size_t i = 0; i < self->count; i++)
        sum_entry (&summation, i, 0);
    for (size_t i = 0; i < self->count; i++) {
        const struct flow_facts *old = self->entries[i].facts;
        const struct call_sum *call_sum = &summation.sums[i];
        if (!old ||
            (old->report.steps_max == call_sum->calls && old->report.depth == call_sum->depth))
            continue;
        struct flow_facts *facts = facts_new (old->call_count);
        struct flow_calls *calls = facts->calls;
        memcpy (calls, old->calls, old->call_count * sizeof *calls);
        *facts = *old;
        facts->holders = 1;
        facts->calls = calls;
        json_incref (facts->report.because);
        facts->report.steps_max = call_sum->calls;
        facts->report.depth = call_sum->depth;
        flow_entry_set_facts (&self->entries[i], facts);
    }
    free (summation.sums);
}
