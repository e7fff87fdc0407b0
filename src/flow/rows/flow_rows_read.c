// Reads a run from its rows. They may have been edited by hand, so each row is validated here, and
// the run as a whole in flow_rows_whole.c.
#include <stdlib.h>

#include "flow_rows_private.h"
#include "flow_turn.h"
#include "json.h"
#include "memory.h"

struct rows_reader {
    const struct flow *flow;
    const struct flow_stored *stored;
    struct flow_run *run;
    struct reason *reason;
    bool undo_placed; // the undo number undo_at is in flight
};

// -- texts

// Return the text up to the next blank, and move `rest` after the blank.
static struct span next_word (struct span *rest)
{
    const uint8_t *blank = rest->size ? memchr (rest->data, ' ', rest->size) : NULL;
    struct span word = span_of (rest->data, blank ? (size_t)(blank - rest->data) : rest->size);
    size_t used = word.size + (blank != NULL);
    *rest = span_of (used ? rest->data + used : rest->data, rest->size - used);
    return word;
}

// Parse a decimal number without leading zeros, at most `max`.
static bool read_number (struct span text, uint64_t max, uint64_t *ret)
{
    uint64_t value = 0;
    if (text.size == 0 || text.size > 19 || (text.size > 1 && text.data[0] == '0'))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = 10 * value + (uint64_t)(text.data[i] - '0');
    }
    *ret = value;
    return value <= max;
}

static bool read_u32 (struct span text, uint32_t *ret)
{
    uint64_t value = 0;
    bool ok = read_number (text, UINT32_MAX, &value);
    *ret = (uint32_t)value;
    return ok;
}

static bool read_signed (struct span text, int64_t *ret)
{
    bool minus = text.size > 0 && text.data[0] == '-';
    uint64_t value = 0;
    bool ok =
        read_number (minus ? span_of (text.data + 1, text.size - 1) : text, INT64_MAX, &value);
    *ret = minus ? -(int64_t)value : (int64_t)value;
    return ok;
}

static bool read_enum (struct span word, const char *const *names, int count, int *ret)
{
    for (*ret = 0; *ret < count; ++*ret)
        if (span_is (word, names[*ret]))
            return true;
    return false;
}

static json_t *read_json (struct rows_reader *self, struct span field, struct span text)
{
    json_error_t error;
    json_t *json = json_loadb ((const char *)text.data, text.size,
                               JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!json)
        reason_set (self->reason, "%s: JSON: %.100s", quoted (field), error.text);
    return json;
}

// -- the run

// Read the field run.head.
static bool read_run_head (struct rows_reader *self, struct span text)
{
    struct flow_run *run = self->run;
    uint64_t version = 0;
    bool ok = read_number (next_word (&text), INT32_MAX, &version) &&
              read_u32 (next_word (&text), &run->parallel) &&
              read_signed (next_word (&text), &run->fire) &&
              read_signed (next_word (&text), &run->start) &&
              read_signed (next_word (&text), &run->created);
    run->version = (int)version;
    if (ok && !span_is (text, "-"))
        ok = read_signed (text, &run->batch);
    if (!ok)
        reason_set (self->reason, "run.head: is not six numbers");
    return ok;
}

static bool read_run_flags (struct rows_reader *self, struct span text)
{
    while (text.size) {
        struct span word = next_word (&text);
        bool known = span_is (word, FLOW_FLAG_UNDO_PLACED);
        self->undo_placed = self->undo_placed || known;
        for (size_t i = 0; i < FLOW_RUN_FLAGS; i++)
            if (span_is (word, flow_run_flags[i].name))
                known = *(bool *)((char *)self->run + flow_run_flags[i].offset) = true;
        if (!known) {
            reason_set (self->reason, "run.state: unknown word %s", quoted (word));
            return false;
        }
    }
    return true;
}

// Read the field run.state.
static bool read_run_state (struct rows_reader *self, struct span text)
{
    struct flow_run *run = self->run;
    int phase, outcome;
    uint32_t undo_at = 0;
    if (!read_enum (next_word (&text), flow_phase_names, FLOW_ENDED + 1, &phase) ||
        !read_enum (next_word (&text), flow_outcome_names, FLOW_LATE + 1, &outcome) ||
        !read_u32 (next_word (&text), &run->sequence) || !read_u32 (next_word (&text), &undo_at)) {
        reason_set (self->reason, "run.state: is not a phase, an outcome and two numbers");
        return false;
    }
    run->phase = (enum flow_phase)phase;
    run->outcome = (enum flow_outcome)outcome;
    run->undo_at = undo_at;
    return read_run_flags (self, text);
}

static bool read_param (struct rows_reader *self, const char *name, const json_t *entry)
{
    const json_t *time = json_object_get (entry, "time");
    json_t *value = json_object_get (entry, "value");
    for (size_t i = 0; i < self->flow->param_count; i++) {
        struct flow_value *param = &self->run->params[i];
        if (strcmp (self->flow->params[i].name, name) != 0)
            continue;
        if (json_is_integer (time))
            *param = (struct flow_value){.is_time = true, .local = json_integer_value (time)};
        else
            param->json = json_incref (value);
        if (json_is_integer (time) || value)
            return true;
    }
    reason_set (self->reason, "run.params: %s is no value of a param", quoted (span_text (name)));
    return false;
}

static bool read_params (struct rows_reader *self, struct span field, struct span text)
{
    const char *name;
    json_t *value, *params = read_json (self, field, text);
    bool ok = params;
    if (ok && !json_is_object (params)) {
        reason_set (self->reason, "run.params: must be an object");
        ok = false;
    }
    json_object_foreach (params, name, value) ok = ok && read_param (self, name, value);
    json_decref (params);
    return ok;
}

// Read a JSON field. A former value is released, though a hash has each field only once.
static bool read_json_field (struct rows_reader *self, struct span field, struct span text,
                             json_t **slot)
{
    json_decref (*slot);
    return (*slot = read_json (self, field, text));
}

static bool read_run_fields (struct rows_reader *self)
{
    const struct flow_stored *stored = self->stored;
    struct flow_run *run = self->run;
    const struct {
        const char *name;
        json_t **json;
    } values[] = {{"run.input", &run->input}, // runs of older stations have the input here
                  {"run.output", &run->output},
                  {"run.uncaught", &run->uncaught}};
    bool head = false, state = false, ok = true;
    for (size_t i = 0; ok && i + 1 < stored->run_count; i += 2) {
        struct span field = stored->run[i], text = stored->run[i + 1];
        for (size_t j = 0; j < 3; j++)
            if (span_is (field, values[j].name))
                ok = read_json_field (self, field, text, values[j].json);
        if (span_is (field, "run.head")) {
            ok = head = read_run_head (self, text);
        } else if (span_is (field, "run.state")) {
            ok = state = read_run_state (self, text);
        } else if (span_is (field, "run.params")) {
            ok = read_params (self, field, text);
        } else if (span_is (field, "run.error")) {
            free (run->error);
            run->error = memory_copy (text.data, text.size);
        }
    }
    if (ok && stored->input.size)
        ok = read_json_field (self, span_text ("input"), stored->input, &run->input);
    if (ok && !(head && state))
        reason_set (self->reason, "%s: is missing", head ? "run.state" : "run.head");
    else if (ok && run->uncaught && !json_is_array (run->uncaught))
        reason_set (self->reason, "run.uncaught: must be a list");
    return !self->reason->text[0];
}

// -- nodes

static uint16_t get_u16 (const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint32_t get_u32 (const uint8_t *bytes)
{
    return get_u16 (bytes) | (uint32_t)get_u16 (bytes + 2) << 16;
}

static bool read_nodes (struct rows_reader *self)
{
    struct span bytes = self->stored->nodes;
    uint32_t count = self->flow->step_count;
    if (bytes.size != (size_t)count * FLOW_NODE_SIZE) {
        reason_set (self->reason, "nodes: %zu bytes of %u steps, want %zu", bytes.size, count,
                    (size_t)count * FLOW_NODE_SIZE);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *from = bytes.data + (size_t)i * FLOW_NODE_SIZE;
        self->run->nodes[i] = (struct flow_node){.state = from[0],
                                                 .timer = from[1] / FLOW_MARK_TIMER,
                                                 .logged = from[0],
                                                 .flags = get_u16 (from + 2),
                                                 .generation = get_u16 (from + 4),
                                                 .ended = get_u32 (from + 12)};
    }
    return true;
}

// -- data

enum field_kind { KIND_ENTRY, KIND_ITEM, KIND_LIST, KIND_ERROR, KIND_SIGNAL, KIND_UNKNOWN };

// Parse the name of a data field: INDEX, INDEX.ITEM, INDEX.list, INDEX.error or
// INDEX.signal.NUMBER.
static enum field_kind parse_data_field (struct span field, uint32_t *step, uint32_t *number)
{
    const uint8_t *dot = field.size ? memchr (field.data, '.', field.size) : NULL;
    size_t size = dot ? (size_t)(dot - field.data) : field.size;
    *number = 0;
    if (!read_u32 (span_of (field.data, size), step))
        return KIND_UNKNOWN;
    if (!dot)
        return KIND_ENTRY;
    struct span rest = span_of (dot + 1, field.size - size - 1);
    static const char signal[] = "signal.";
    if (span_is (rest, "list"))
        return KIND_LIST;
    if (span_is (rest, "error"))
        return KIND_ERROR;
    if (read_u32 (rest, number))
        return KIND_ITEM;
    size = sizeof signal - 1;
    if (rest.size > size && memcmp (rest.data, signal, size) == 0 &&
        read_u32 (span_of (rest.data + size, rest.size - size), number))
        return KIND_SIGNAL;
    return KIND_UNKNOWN;
}

bool flow_rows_has_map (struct span field, uint32_t *ret_step)
{
    uint32_t number;
    return parse_data_field (field, ret_step, &number) == KIND_LIST;
}

static struct span find_map (const struct flow_stored *stored, uint32_t step)
{
    for (size_t i = 0; i < stored->map_count; i++)
        if (stored->maps[i].step == step)
            return stored->maps[i].bytes;
    return span_of (NULL, 0);
}

// Read the bytes of a map: the states of all items.
static bool read_map (struct rows_reader *self, uint32_t step, struct span map)
{
    struct flow_items *items = self->run->data[step]->items;
    for (uint32_t i = 0; map.data && i < items->count;
         i++) { // checked before: the map has `count` bytes
        struct flow_item *item = &items->item[i];
        item->state = map.data[i] & (FLOW_MAP_DISPATCHED - 1);
        item->timer = map.data[i] / FLOW_MAP_TIMER;
        if (item->timer > (item->state == FLOW_NEW ? FLOW_TIMER_OVER : FLOW_TIMER_NONE) ||
            item->state > FLOW_CANCELLED || item->state == FLOW_RUNNING) {
            reason_set (self->reason, "map of step %s: item %u: unknown state %u",
                        self->flow->steps[step].name, i, map.data[i]);
            return false;
        }
        item->dispatched = map.data[i] & FLOW_MAP_DISPATCHED;
        item->stopping = map.data[i] & FLOW_MAP_STOPPING;
        item->named = map.data[i] & FLOW_MAP_NAMED;
        item->generation = self->run->nodes[step].generation;
        items->in_flight += item->state == FLOW_NEW;
        items->finished += item->state == FLOW_FINISHED || item->state == FLOW_SKIPPED;
        items->failed += item->state == FLOW_FAILED || item->state == FLOW_CANCELLED;
    }
    return true;
}

static bool read_list (struct rows_reader *self, uint32_t step, struct span field, struct span text)
{
    const uint8_t *node = self->stored->nodes.data + (size_t)step * FLOW_NODE_SIZE;
    struct span map = find_map (self->stored, step);
    struct flow_data *data = flow_data_of (self->run, step);
    json_t *list = read_json (self, field, text);
    int64_t count = flow_item_count (list);
    if (!list)
        return false;
    if (count < 0 || (uint64_t)count != map.size || map.size > UINT32_MAX || data->items ||
        !self->flow->steps[step].for_each) {
        reason_set (self->reason, "%s: step %s: %zu items in its map, want %lld", quoted (field),
                    self->flow->steps[step].name, map.size, (long long)count);
        json_decref (list);
        return false;
    }
    data->items = flow_items_new (list);
    data->items->passes = get_u32 (node + 6);
    data->items->by_name = node[1] & FLOW_MARK_BY_NAME;
    return read_map (self, step, map);
}

static bool read_entry_integer (const json_t *entry, const char *name, json_int_t max,
                                json_int_t *ret)
{
    const json_t *value = json_object_get (entry, name);
    if (value)
        *ret = json_integer_value (value);
    return !value || (json_is_integer (value) && *ret >= 0 && *ret <= max);
}

// Read the entry of a step: value and time.
static bool read_entry (struct rows_reader *self, uint32_t step, const json_t *entry)
{
    struct flow_data *data = flow_data_of (self->run, step);
    json_int_t at = 0;
    if (!read_entry_integer (entry, "at", INT64_MAX, &at))
        return false;
    json_decref (data->value);
    data->at = at;
    data->not_kept = json_is_true (json_object_get (entry, "not_kept"));
    data->value = json_incref (json_object_get (entry, "value"));
    return true;
}

// Read the entry of an item.
static bool read_item (struct rows_reader *self, uint32_t step, uint32_t number,
                       const json_t *entry)
{
    struct flow_item *item = flow_item_of (self->run, step, number);
    json_int_t ended = 0, generation = item ? item->generation : 0;
    if (!item || !read_entry_integer (entry, "ended", UINT32_MAX, &ended) ||
        !read_entry_integer (entry, "generation", UINT16_MAX, &generation))
        return false;
    json_decref (item->value);
    item->ended = (uint32_t)ended;
    item->generation = (uint16_t)generation;
    item->value = json_incref (json_object_get (entry, "value"));
    const json_t *error = json_object_get (entry, "error");
    size_t size;
    char *text = error ? memory_new (flow_json_size (error) + 1) : NULL;
    bool ok = !error || json_to_frame (error, (uint8_t *)text, &size);
    flow_adopt_item_error (self->run, item, text);
    return ok;
}

// Store signal number `number`. Fields come in any order: null stands for signals that have not
// been read yet.
static bool read_signal (struct rows_reader *self, uint32_t step, uint32_t number, json_t *signal)
{
    struct flow_data *data = flow_data_of (self->run, step);
    if (number >= FLOW_SIGNALS_MAX || self->flow->steps[step].kind != FLOW_SIGNAL)
        return false;
    if (!data->signals)
        data->signals = json_array ();
    while (json_array_size (data->signals) <= number)
        json_array_append_new (data->signals, json_null ());
    json_array_set (data->signals, number, signal);
    return true;
}

static bool read_field (struct rows_reader *self, enum field_kind kind, uint32_t step,
                        uint32_t number, struct span field, struct span text)
{
    if (kind == KIND_ERROR) {
        struct flow_data *data = flow_data_of (self->run, step);
        free (data->error);
        data->error = memory_copy (text.data, text.size);
        return true;
    }
    json_t *entry = read_json (self, field, text);
    if (!entry)
        return false;
    bool ok =
        json_is_object (entry) && (kind == KIND_ENTRY  ? read_entry (self, step, entry)
                                   : kind == KIND_ITEM ? read_item (self, step, number, entry)
                                                       : read_signal (self, step, number, entry));
    if (!ok)
        reason_set (self->reason, "%s: step %s: no such item, or it does not match the stored item",
                    quoted (field), self->flow->steps[step].name);
    json_decref (entry);
    return ok;
}

// Read the lists first: their items must exist before the other fields are read.
static bool read_all_data (struct rows_reader *self)
{
    const struct flow_stored *stored = self->stored;
    uint32_t step, number;
    for (int lists = 1; lists >= 0; lists--)
        for (size_t i = 0; i + 1 < stored->data_count; i += 2) {
            struct span field = stored->data[i], text = stored->data[i + 1];
            enum field_kind kind = parse_data_field (field, &step, &number);
            if (kind == KIND_UNKNOWN || step >= self->flow->step_count) {
                reason_set (self->reason, "%s: no such step", quoted (field));
                return false;
            }
            if (lists != (kind == KIND_LIST))
                continue;
            if (!(lists ? read_list (self, step, field, text)
                        : read_field (self, kind, step, number, field, text)))
                return false;
        }
    return true;
}

struct flow_run *flow_rows_read (const struct flow *flow, const char *id,
                                 const struct flow_stored *stored, struct reason *reason)
{
    struct rows_reader self = {
        .flow = flow, .stored = stored, .run = flow_run_new (flow, id), .reason = reason};
    struct flow_run *run = self.run;
    reason->text[0] = '\0';
    if (!read_run_fields (&self) || !read_nodes (&self) || !read_all_data (&self) ||
        !flow_rows_complete (flow, run, self.undo_placed, reason)) {
        flow_run_destroy (&run, flow);
        return NULL;
    }
    run->written = true;
    flow_rows_head_text (run, run->head);
    flow_rows_state_text (run, run->state);
    return run;
}
