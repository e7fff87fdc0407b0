// A model in memory of a run's keys in Redis: rows are applied to it, and a run is read from it.
#pragma once

#include <stdlib.h>
#include <string.h>

#include "flow_rows.h"
#include "rows.h"

struct bytes {
    uint8_t *data; // a block of its own, of this size
    size_t size;
};

struct shelf_hash {
    struct bytes *fields; // field, value, field, value, ...
    size_t count;         // fields and values together
};

struct shelf {
    struct shelf_hash run, data;
    struct bytes nodes, input;
    struct bytes *maps; // one for each step
    uint32_t map_count;
    size_t rows, written; // the last write: its rows, and its bytes of fields and values
};

static inline void bytes_set (struct bytes *self, struct span value)
{
    free (self->data);
    self->data = exact_bytes (value);
    self->size = value.size;
}

static inline struct span bytes_span (const struct bytes *self)
{
    return span_of (self->data, self->size);
}

static inline size_t shelf_find (const struct shelf_hash *hash, struct span field)
{
    size_t at = 0;
    while (at < hash->count && !span_equal (bytes_span (&hash->fields[at]), field))
        at += 2;
    return at;
}

static inline void shelf_set (struct shelf_hash *hash, struct span field, struct span value)
{
    size_t at = shelf_find (hash, field);
    if (at == hash->count) {
        if ((hash->count & (hash->count - 1)) == 0)
            hash->fields = realloc (hash->fields, (2 * hash->count + 2) * sizeof *hash->fields);
        hash->fields[at] = hash->fields[at + 1] = (struct bytes){NULL, 0};
        bytes_set (&hash->fields[at], field);
        hash->count += 2;
    }
    bytes_set (&hash->fields[at + 1], value);
}

static inline void shelf_del (struct shelf_hash *hash, struct span field)
{
    size_t at = shelf_find (hash, field);
    if (at == hash->count)
        return;
    free (hash->fields[at].data);
    free (hash->fields[at + 1].data);
    hash->count -= 2;
    hash->fields[at] = hash->fields[hash->count];
    hash->fields[at + 1] = hash->fields[hash->count + 1];
}

// Delete all but the first `count` fields and values.
static inline void shelf_cut (struct shelf_hash *hash, size_t count)
{
    while (hash->count > count)
        free (hash->fields[--hash->count].data);
}

static inline void shelf_range (struct bytes *self, size_t offset, struct span value)
{
    size_t size = offset + value.size > self->size ? offset + value.size : self->size;
    self->data = realloc (self->data, size);
    memset (self->data + self->size, 0, size - self->size);
    memcpy (self->data + offset, value.data, value.size);
    self->size = size;
}

static inline struct bytes *shelf_map (struct shelf *self, uint32_t step)
{
    if (step >= self->map_count) {
        self->maps = realloc (self->maps, (step + 1) * sizeof *self->maps);
        memset (self->maps + self->map_count, 0, (step + 1 - self->map_count) * sizeof *self->maps);
        self->map_count = step + 1;
    }
    return &self->maps[step];
}

static inline void shelf_apply (void *owner, const struct flow_row *row)
{
    struct shelf *self = owner;
    struct shelf_hash *hash = row->key == FLOW_KEY_RUN ? &self->run : &self->data;
    struct bytes *string = row->key == FLOW_KEY_MAP     ? shelf_map (self, row->step)
                           : row->key == FLOW_KEY_INPUT ? &self->input
                                                        : &self->nodes;
    self->rows++;
    self->written += row->field.size + row->value.size;
    switch (row->kind) {
    case FLOW_ROW_SET:
        shelf_set (hash, row->field, row->value);
        break;
    case FLOW_ROW_DEL:
        shelf_del (hash, row->field);
        break;
    case FLOW_ROW_RANGE:
        shelf_range (string, row->offset, row->value);
        break;
    case FLOW_ROW_DROP:
        bytes_set (string, span_of (NULL, 0));
        break;
    }
}

static inline void shelf_write (struct shelf *self, const struct flow *flow, struct flow_run *run)
{
    self->rows = self->written = 0;
    flow_rows_write (flow, run, shelf_apply, self);
}

static inline struct span *shelf_spans (const struct shelf_hash *hash)
{
    struct span *spans = calloc (hash->count + 1, sizeof *spans);
    for (size_t i = 0; i < hash->count; i++)
        spans[i] = bytes_span (&hash->fields[i]);
    return spans;
}

static inline struct flow_run *shelf_read (const struct shelf *self, const struct flow *flow,
                                           struct reason *reason)
{
    struct span *run = shelf_spans (&self->run), *data = shelf_spans (&self->data);
    struct flow_stored_map *maps = calloc (self->map_count + 1, sizeof *maps);
    struct flow_stored stored = {.run = run,
                                 .data = data,
                                 .run_count = self->run.count,
                                 .data_count = self->data.count,
                                 .nodes = bytes_span (&self->nodes),
                                 .input = bytes_span (&self->input),
                                 .maps = maps};
    uint32_t step;
    for (size_t i = 0; i < self->data.count; i += 2)
        if (flow_rows_has_map (data[i], &step) && step < self->map_count)
            maps[stored.map_count++] =
                (struct flow_stored_map){step, bytes_span (&self->maps[step])};
    struct flow_run *ret = flow_rows_read (flow, "1f", &stored, reason);
    free (run);
    free (data);
    free (maps);
    return ret;
}

static inline void shelf_clear (struct shelf *self)
{
    shelf_cut (&self->run, 0);
    shelf_cut (&self->data, 0);
    for (uint32_t i = 0; i < self->map_count; i++)
        free (self->maps[i].data);
    free (self->run.fields);
    free (self->data.fields);
    free (self->maps);
    free (self->nodes.data);
    free (self->input.data);
    *self = (struct shelf){.rows = 0};
}

// -- two runs

static inline bool same_json (const json_t *a, const json_t *b)
{
    return a == b || (a && b && json_equal (a, b));
}

static inline bool same_text (const char *a, const char *b)
{
    return a == b || (a && b && strcmp (a, b) == 0);
}

static inline uint32_t first_item (const struct flow_items *items)
{
    uint32_t at = 0;
    while (at < items->count && items->item[at].state != FLOW_NONE)
        at++;
    return at;
}

static inline bool same_items (const struct flow_items *a, const struct flow_items *b)
{
    if (!a || !b)
        return a == b;
    bool same = same_json (a->list, b->list) && a->count == b->count &&
                first_item (a) == first_item (b) && b->next <= first_item (b) &&
                a->in_flight == b->in_flight && a->finished == b->finished &&
                a->failed == b->failed && a->passes == b->passes && a->by_name == b->by_name;
    for (uint32_t i = 0; same && i < a->count; i++) {
        const struct flow_item *left = &a->item[i], *right = &b->item[i];
        same = left->state == right->state && left->dispatched == right->dispatched &&
               left->stopping == right->stopping && left->named == right->named &&
               left->timer == right->timer && left->generation == right->generation &&
               left->ended == right->ended && same_json (left->value, right->value) &&
               same_text (left->error, right->error);
    }
    return same;
}

static inline bool same_data (const struct flow_data *a, const struct flow_data *b)
{
    static const struct flow_data none;
    a = a ? a : &none, b = b ? b : &none;
    return same_json (a->value, b->value) && a->not_kept == b->not_kept &&
           same_text (a->error, b->error) && a->at == b->at && same_json (a->signals, b->signals) &&
           same_items (a->items, b->items);
}

static inline bool same_node (const struct flow_node *a, const struct flow_node *b)
{
    return a->state == b->state && a->timer == b->timer &&
           !((a->flags ^ b->flags) & ~(FLOW_CHANGED | FLOW_TOUCHED)) &&
           a->generation == b->generation && a->ended == b->ended && a->live == b->live &&
           a->dead == b->dead && a->broken == b->broken;
}

static inline bool same_undos (const struct flow_run *a, const struct flow_run *b)
{
    if (a->phase != FLOW_UNDOING)
        return true;
    bool same = a->undo_count == b->undo_count && a->undo_at == b->undo_at;
    for (size_t i = 0; same && i < a->undo_count; i++)
        same = a->undos[i].step == b->undos[i].step && a->undos[i].item == b->undos[i].item;
    return same;
}

// The part in which two runs differ; NULL: in none.
static inline const char *runs_differ (const struct flow *flow, const struct flow_run *a,
                                       const struct flow_run *b)
{
    for (uint32_t i = 0; i < flow->step_count; i++)
        if (!same_node (&a->nodes[i], &b->nodes[i]) || !same_data (a->data[i], b->data[i]))
            return flow->steps[i].name;
    for (size_t i = 0; i < flow->param_count; i++)
        if (a->params[i].is_time != b->params[i].is_time ||
            a->params[i].local != b->params[i].local ||
            !same_json (a->params[i].json, b->params[i].json))
            return "params";
    if (a->phase != b->phase || a->outcome != b->outcome || a->suspended != b->suspended ||
        a->stop != b->stop || a->fast != b->fast || a->undone != b->undone ||
        a->undo_parked != b->undo_parked || a->forced != b->forced || !same_undos (a, b))
        return "state";
    if (!same_json (a->input, b->input) || !same_json (a->output, b->output) ||
        !same_json (a->uncaught, b->uncaught) || !same_text (a->error, b->error))
        return "input, output, uncaught or error";
    if (a->version != b->version || a->parallel != b->parallel || a->fire != b->fire ||
        a->start != b->start || a->created != b->created || a->batch != b->batch)
        return "head";
    if (a->in_flight != b->in_flight || a->waiting != b->waiting || a->resetting != b->resetting ||
        a->sequence != b->sequence || a->waiting_signals != b->waiting_signals ||
        a->data_size != b->data_size)
        return "counts";
    return NULL;
}

static inline bool same_effects (const struct flow_effects *a, const struct flow_effects *b)
{
    bool same = a->count == b->count && a->more == b->more && a->dropped == b->dropped &&
                a->run_changed == b->run_changed && a->changed_count == b->changed_count &&
                strcmp (a->rejected.text, b->rejected.text) == 0;
    for (size_t i = 0; same && i < a->count; i++) {
        const struct flow_effect *left = &a->items[i], *right = &b->items[i];
        same = left->kind == right->kind && left->step == right->step &&
               left->item == right->item && left->generation == right->generation &&
               left->undo == right->undo && left->inner == right->inner && left->at == right->at &&
               left->call == right->call && same_json (left->frames, right->frames);
    }
    for (size_t i = 0; same && i < a->changed_count; i++)
        same = a->changed[i] == b->changed[i];
    return same;
}
