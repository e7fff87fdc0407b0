// Writes a run as rows. The engine marks each part of a run that it changes (flow_mark_row); this
// file writes rows for the marked parts, and clears the marks.
#include "flow_rows.h"

#include <stdlib.h>

#include "decimal.h"
#include "flow_rows_private.h"
#include "flow_turn.h"
#include "json_text.h"
#include "memory.h"

const char *const flow_phase_names[] = {"unborn", "active", "undoing", "final", "ended"};

const struct flow_run_flag flow_run_flags[] = {
    {"suspended", offsetof (struct flow_run, suspended)},
    {"stop", offsetof (struct flow_run, stop)},
    {"fast", offsetof (struct flow_run, fast)},
    {"undone", offsetof (struct flow_run, undone)},
    {"undo_parked", offsetof (struct flow_run, undo_parked)},
    {"forced", offsetof (struct flow_run, forced)},
    {"goes_on", offsetof (struct flow_run, continues_on_error)},
};

struct rows_writer {
    const struct flow *flow;
    struct flow_run *run;
    flow_row_fn *put;
    void *owner;
    struct json_text *text; // buffer for the value that is being written
};

// Set a field, or delete it if the value has no data.
static void put_field (const struct rows_writer *self, enum flow_key key, const char *field,
                       struct span value)
{
    self->put (self->owner, &(struct flow_row){.key = key,
                                               .kind = value.data ? FLOW_ROW_SET : FLOW_ROW_DEL,
                                               .field = span_text (field),
                                               .value = value});
}

static void put_range (const struct rows_writer *self, enum flow_key key, uint32_t step,
                       uint32_t offset, struct span value)
{
    self->put (
        self->owner,
        &(struct flow_row){
            .key = key, .kind = FLOW_ROW_RANGE, .step = step, .offset = offset, .value = value});
}

// Set a field; text NULL: delete it.
static void put_text_field (const struct rows_writer *self, enum flow_key key, const char *field,
                            const char *text)
{
    put_field (self, key, field, text ? span_text (text) : (struct span){0});
}

static void put_json_field (const struct rows_writer *self, enum flow_key key, const char *field,
                            const json_t *json)
{
    json_text_clear (self->text);
    if (json)
        json_text_value (self->text, json);
    put_field (self, key, field, span_of (json ? self->text->bytes : NULL, self->text->size));
}

// Begin an entry: an object of the members that have a value. An entry without members is deleted.
static void entry_begin (const struct rows_writer *self)
{
    json_text_clear (self->text);
    json_text_raw (self->text, span_text ("{"));
}

static void entry_add (const struct rows_writer *self, const struct json_name *name,
                       const json_t *value)
{
    if (!value)
        return;
    json_text_name (self->text, name);
    json_text_value (self->text, value);
}

static void entry_end (const struct rows_writer *self, const char *field)
{
    bool empty = self->text->size == 1;
    json_text_raw (self->text, span_text ("}"));
    put_field (self, FLOW_KEY_DATA, field,
               empty ? (struct span){0} : span_of (self->text->bytes, self->text->size));
}

// -- the run

void flow_rows_head_text (struct flow_run *run, char text[sizeof run->head])
{
    const int64_t numbers[] = {run->version, run->parallel, run->fire, run->start, run->created};
    size_t size = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        size += decimal_text (numbers[i], text + size);
        text[size++] = ' ';
    }
    if (run->batch != INT64_MIN)
        decimal_text (run->batch, text + size);
    else
        memcpy (text + size, "-", 2);
}

void flow_rows_state_text (struct flow_run *run, char text[sizeof run->state])
{
    bool undoing = run->phase == FLOW_UNDOING;
    size_t size = span_put (text, 0, span_text (flow_phase_names[run->phase]));
    text[size++] = ' ';
    size = span_put (text, size, span_text (flow_outcome_names[run->outcome]));
    text[size++] = ' ';
    size += decimal_text (run->sequence, text + size);
    text[size++] = ' ';
    size += decimal_text (undoing ? (int64_t)run->undo_at : 0, text + size);
    for (size_t i = 0; i < FLOW_RUN_FLAGS; i++)
        if (*(const bool *)((const char *)run + flow_run_flags[i].offset)) {
            text[size++] = ' ';
            size = span_put (text, size, span_text (flow_run_flags[i].name));
        }
    if (undoing && run->in_flight > 0)
        size = span_put (text, size, span_text (" " FLOW_FLAG_UNDO_PLACED));
    text[size] = '\0';
}

static void put_params (const struct rows_writer *self)
{
    json_t *params = json_object ();
    for (size_t i = 0; i < self->flow->param_count; i++) {
        const struct flow_value *value = &self->run->params[i];
        if (value->is_time)
            json_object_set_new (params, self->flow->params[i].name,
                                 json_pack ("{s:I}", "time", (json_int_t)value->local));
        else if (value->json)
            json_object_set_new (params, self->flow->params[i].name,
                                 json_pack ("{s:O}", "value", value->json));
    }
    if (json_object_size (params) || self->run->written)
        put_json_field (self, FLOW_KEY_RUN, "run.params", params);
    json_decref (params);
}

// The input has its own key: one long value in a hash doubles the memory of all its fields.
static void put_input (const struct rows_writer *self)
{
    const json_t *input = self->run->input;
    char *text = input ? json_dumps (input, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (input)
        put_range (self, FLOW_KEY_INPUT, 0, 0, span_text (text ? text : "null"));
    free (text);
}

static void put_run_fields (const struct rows_writer *self)
{
    struct flow_run *run = self->run;
    char head[sizeof run->head], state[sizeof run->state];
    unsigned fields = run->touched_fields;
    flow_rows_head_text (run, head);
    flow_rows_state_text (run, state);
    if (strcmp (head, run->head) != 0)
        put_text_field (self, FLOW_KEY_RUN, "run.head", head);
    if (strcmp (state, run->state) != 0)
        put_text_field (self, FLOW_KEY_RUN, "run.state", state);
    snprintf (run->head, sizeof run->head, "%s", head);
    snprintf (run->state, sizeof run->state, "%s", state);
    if (fields & FLOW_TOUCHED_PARAMS)
        put_params (self);
    if (fields & FLOW_TOUCHED_INPUT)
        put_input (self);
    if (fields & FLOW_TOUCHED_OUTPUT)
        put_json_field (self, FLOW_KEY_RUN, "run.output", run->output);
    if (fields & FLOW_TOUCHED_UNCAUGHT)
        put_json_field (self, FLOW_KEY_RUN, "run.uncaught", run->uncaught);
    if (fields & FLOW_TOUCHED_ERROR)
        put_text_field (self, FLOW_KEY_RUN, "run.error", run->error);
    run->touched_fields = 0;
}

// -- nodes

static int compare_indices (const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static void put_u16 (uint8_t *out, uint16_t value)
{
    out[0] = (uint8_t)value;
    out[1] = (uint8_t)(value >> 8);
}

static void put_u32 (uint8_t *out, uint32_t value)
{
    put_u16 (out, (uint16_t)value);
    put_u16 (out + 2, (uint16_t)(value >> 16));
}

static void encode_node (const struct flow_run *run, uint32_t step, uint8_t out[FLOW_NODE_SIZE])
{
    const struct flow_node *node = &run->nodes[step];
    const struct flow_items *items = flow_items_of (run, step);
    memset (out, 0, FLOW_NODE_SIZE);
    out[0] = node->state;
    out[1] = (uint8_t)((items && items->by_name ? FLOW_MARK_BY_NAME : 0) |
                       node->timer * FLOW_MARK_TIMER);
    put_u16 (out + 2, node->flags & (uint16_t) ~(FLOW_CHANGED | FLOW_TOUCHED));
    put_u16 (out + 4, node->generation);
    put_u32 (out + 6, items ? items->passes : 0);
    put_u32 (out + 12, node->ended);
}

// Write the bytes of touched nodes or items, `size` bytes each; adjacent ones share one range.
static void put_joined_ranges (const struct rows_writer *self, enum flow_key key, uint32_t step,
                               const uint32_t *list, uint32_t count, const uint8_t *bytes,
                               uint32_t size)
{
    uint32_t from = 0;
    for (uint32_t i = 1; i <= count; i++)
        if (i == count || list[i] != list[i - 1] + 1) {
            put_range (self, key, step, list[from] * size,
                       span_of (bytes + (size_t)from * size, (size_t)(i - from) * size));
            from = i;
        }
}

static void put_nodes (const struct rows_writer *self)
{
    struct flow_run *run = self->run;
    uint8_t *bytes = memory_new ((size_t)run->touched_count * FLOW_NODE_SIZE + 1);
    // The first write gives the string its full length.
    if (!run->written)
        put_range (self, FLOW_KEY_NODE, 0, self->flow->step_count * FLOW_NODE_SIZE - 1,
                   span_of ("", 1));
    for (uint32_t i = 0; i < run->touched_count; i++)
        encode_node (run, run->touched[i], bytes + (size_t)i * FLOW_NODE_SIZE);
    put_joined_ranges (self, FLOW_KEY_NODE, 0, run->touched, run->touched_count, bytes,
                       FLOW_NODE_SIZE);
    free (bytes);
}

// -- data

static const struct json_name name_value = JSON_NAME ("value"), name_ended = JSON_NAME ("ended"),
                              name_generation = JSON_NAME ("generation"),
                              name_error = JSON_NAME ("error"), name_at = JSON_NAME ("at"),
                              name_not_kept = JSON_NAME ("not_kept");

static void put_item (const struct rows_writer *self, uint32_t step, uint32_t number)
{
    const struct flow_item *item = &self->run->data[step]->items->item[number];
    char field[32];
    entry_begin (self);
    entry_add (self, &name_value, item->value);
    if (item->ended)
        json_text_number (self->text, &name_ended, item->ended, 0);
    if (item->error) {
        json_text_name (self->text, &name_error);
        json_text_frame (self->text, span_text (item->error));
    }
    // Items of a new list have the generation of their step.
    if (item->generation != self->run->nodes[step].generation)
        json_text_number (self->text, &name_generation, item->generation, 0);
    snprintf (field, sizeof field, "%u.%u", step, number);
    entry_end (self, field);
}

static void put_items (const struct rows_writer *self, uint32_t step)
{
    struct flow_items *items = self->run->data[step]->items;
    uint32_t count = items->touched_count;
    if (!count)
        return;
    uint8_t *bytes = memory_new (count);
    qsort (items->touched, count, sizeof *items->touched, compare_indices);
    for (uint32_t i = 0; i < count; i++) {
        const struct flow_item *item = &items->item[items->touched[i]];
        bytes[i] = (uint8_t)(item->state | (item->dispatched ? FLOW_MAP_DISPATCHED : 0) |
                             (item->stopping ? FLOW_MAP_STOPPING : 0) |
                             (item->named ? FLOW_MAP_NAMED : 0) | item->timer * FLOW_MAP_TIMER);
    }
    put_joined_ranges (self, FLOW_KEY_MAP, step, items->touched, count, bytes, 1);
    for (uint32_t i = 0; i < count; i++) {
        struct flow_item *item = &items->item[items->touched[i]];
        if (item->touched & FLOW_TOUCHED_ENTRY)
            put_item (self, step, items->touched[i]);
        item->touched = 0;
    }
    free (bytes);
    free (items->touched);
    items->touched = NULL;
    items->touched_count = 0;
}

// Delete the rows of a former list, and write the new one.
static void put_list (const struct rows_writer *self, uint32_t step)
{
    struct flow_data *data = self->run->data[step];
    const struct flow_items *items = data->items;
    char field[32];
    if (data->items_to_delete)
        self->put (self->owner,
                   &(struct flow_row){.key = FLOW_KEY_MAP, .kind = FLOW_ROW_DROP, .step = step});
    for (uint32_t i = 0; i < data->items_to_delete; i++) {
        snprintf (field, sizeof field, "%u.%u", step, i);
        put_text_field (self, FLOW_KEY_DATA, field, NULL);
    }
    data->items_to_delete = 0;
    snprintf (field, sizeof field, "%u.list", step);
    json_t *list = !items        ? NULL
                   : items->list ? json_incref (items->list)
                                 : json_integer (items->count);
    put_json_field (self, FLOW_KEY_DATA, field, list);
    json_decref (list);
    if (items && items->count)
        put_range (self, FLOW_KEY_MAP, step, items->count - 1, span_of ("", 1));
}

static void put_signals (const struct rows_writer *self, uint32_t step)
{
    struct flow_data *data = self->run->data[step];
    uint32_t count = (uint32_t)json_array_size (data->signals);
    char field[32];
    for (uint32_t i = count; i < data->signals_to_delete; i++) {
        snprintf (field, sizeof field, "%u.signal.%u", step, i);
        put_text_field (self, FLOW_KEY_DATA, field, NULL);
    }
    for (uint32_t i = data->signals_written; i < count; i++) {
        snprintf (field, sizeof field, "%u.signal.%u", step, i);
        put_json_field (self, FLOW_KEY_DATA, field, json_array_get (data->signals, i));
    }
    data->signals_to_delete = 0;
    data->signals_written = count;
}

static void put_step_data (const struct rows_writer *self, uint32_t step)
{
    struct flow_data *data = self->run->data[step];
    char field[32];
    if (data->touched & FLOW_TOUCHED_LIST)
        put_list (self, step);
    if (data->touched & FLOW_TOUCHED_ERROR) {
        snprintf (field, sizeof field, "%u.error", step);
        put_text_field (self, FLOW_KEY_DATA, field, data->error);
    }
    if (data->touched & FLOW_TOUCHED_ENTRY) {
        entry_begin (self);
        // A value collected from the items is stored in their fields.
        if (!flow_value_is_collected (self->run, step))
            entry_add (self, &name_value, data->value);
        if (data->not_kept)
            entry_add (self, &name_not_kept, json_true ());
        if (data->at)
            json_text_number (self->text, &name_at, data->at, 0);
        decimal_text (step, field);
        entry_end (self, field);
    }
    data->touched = 0;
    put_signals (self, step);
    if (data->items)
        put_items (self, step);
}

void flow_rows_write (const struct flow *flow, struct flow_run *run, flow_row_fn *put, void *owner)
{
    struct json_text text;
    json_text_start (&text, 64);
    const struct rows_writer self = {
        .flow = flow, .run = run, .put = put, .owner = owner, .text = &text};
    put_run_fields (&self);
    if (run->touched_count)
        qsort (run->touched, run->touched_count, sizeof *run->touched, compare_indices);
    put_nodes (&self);
    for (uint32_t i = 0; i < run->touched_count; i++) {
        uint32_t step = run->touched[i];
        if (run->data[step])
            put_step_data (&self, step);
        run->nodes[step].flags &= (uint16_t)~FLOW_TOUCHED;
    }
    free (run->touched);
    run->touched = NULL;
    run->touched_count = 0;
    run->written = true;
    free (text.bytes);
}
