// Writes and reads a run of a flow in Redis: keys plan:flow:run:RUN, :node:, :data:, :input:,
// :map:RUN:STEP and :log: (proto/redis.md).
#include <inttypes.h>
#include <stdlib.h>

#include "decimal.h"
#include "flow_book.h"
#include "flow_redis.h"
#include "flow_rows.h"
#include "flow_runs_private.h"
#include "json.h"
#include "log.h"
#include "memory.h"
#include "redis_keys.h"

static const char *const key_starts[] = {[FLOW_KEY_RUN] = KEY_FLOW_RUN,
                                         [FLOW_KEY_NODE] = KEY_FLOW_NODE,
                                         [FLOW_KEY_DATA] = KEY_FLOW_DATA,
                                         [FLOW_KEY_INPUT] = KEY_FLOW_INPUT,
                                         [FLOW_KEY_MAP] = KEY_FLOW_MAP};

static struct span run_key (const char *run, enum flow_key key, uint32_t step,
                            char out[FLOW_KEY_SIZE])
{
    size_t size = span_put (out, 0, span_text (key_starts[key]));
    size = span_put (out, size, span_text (run));
    if (key == FLOW_KEY_MAP) {
        out[size++] = ':';
        size += decimal_text (step, out + size);
    }
    return span_of (out, size);
}

// -- writing

static void put_row (void *owner, const struct flow_row *row)
{
    static const struct {
        const char *name;
        size_t words;
    } commands[] = {[FLOW_ROW_SET] = {"HSET", 4},
                    [FLOW_ROW_DEL] = {"HDEL", 3},
                    [FLOW_ROW_RANGE] = {"SETRANGE", 4},
                    [FLOW_ROW_DROP] = {"DEL", 2}};
    struct flow_live *live = owner;
    char key[FLOW_KEY_SIZE], offset[DECIMAL_SIZE];
    const struct span place = {(const uint8_t *)offset, decimal_text (row->offset, offset)};
    const struct span words[] = {span_text (commands[row->kind].name),
                                 run_key (live->name, row->key, row->step, key),
                                 row->kind == FLOW_ROW_RANGE ? place : row->field, row->value};
    store_put (live->station->store, words, commands[row->kind].words);
}

static void put_field (struct flow_live *live, const char *name, struct span value)
{
    put_row (live, &(struct flow_row){.key = FLOW_KEY_RUN,
                                      .kind = FLOW_ROW_SET,
                                      .field = span_text (name),
                                      .value = value});
}

static void put_number (struct flow_live *live, const char *name, int64_t value)
{
    char text[DECIMAL_SIZE];
    put_field (live, name, span_of (text, decimal_text (value, text)));
}

// Write the fields of a new run that flow_rows_write does not write, after deleting all keys of a
// former one.
static void write_new_run (struct flow_live *live)
{
    char plan[IDENT_SIZE];
    char *inherit = json_write (live->inherit);
    static const enum flow_key keys[] = {FLOW_KEY_RUN, FLOW_KEY_NODE, FLOW_KEY_DATA,
                                         FLOW_KEY_INPUT};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        put_row (live, &(struct flow_row){.key = keys[i], .kind = FLOW_ROW_DROP});
    for (uint32_t i = 0; i < live->flow->step_count; i++)
        if (live->flow->steps[i].for_each)
            put_row (live,
                     &(struct flow_row){.key = FLOW_KEY_MAP, .step = i, .kind = FLOW_ROW_DROP});
    put_field (live, "plan", span_text (ident_text (live->plan_id, plan)));
    put_field (live, "exec", span_text (ident_text (live->exec_id, plan)));
    // A retry of the flow plan restarts the run, which may have ended and keeps its log.
    if (strcmp (plan, live->name) != 0)
        flow_redis_put (live->station, "ZREM " KEY_FLOW_ENDED " %s", live->name);
    else
        live->log_room = FLOW_LOG_MAX;
    put_field (live, "flow", span_text (live->flow_name));
    put_number (live, "version", live->version);
    put_number (live, "began_ms", live->began_ms);
    put_number (live, "depth", live->depth);
    if (*live->parent)
        put_field (live, "parent", span_text (live->parent));
    if (live->caller && *live->caller)
        put_field (live, "caller", span_text (live->caller));
    if (*live->timezone)
        put_field (live, "timezone", span_text (live->timezone));
    put_field (live, "inherit", span_text (inherit));
    flow_redis_put (live->station, "ZADD " KEY_FLOW_RUNS " %" PRId64 " %s", live->began_ms,
                    live->name);
    free (inherit);
}

void flow_live_write (struct flow_live *live, const struct flow_event *event,
                      const struct flow_effects *effects)
{
    bool all = live->unwritten;
    char plan[IDENT_SIZE];
    if (all)
        write_new_run (live);
    live->unwritten = false;
    flow_live_log (live, event, effects);
    flow_rows_write (live->flow, live->run, put_row, live);
    const char *shown = flow_live_state (live);
    if (all || effects->run_changed || shown != live->shown) {
        live->shown = shown;
        put_field (live, "shown", span_text (shown));
        put_number (live, "updated_ms", live->updated_ms);
        if (!all || live->timeout_ms)
            put_number (live, "timeout_ms", live->timeout_ms);
        put_number (live, "ended_ms", live->run->phase == FLOW_ENDED ? live->updated_ms : 0);
        put_field (live, "plan", span_text (ident_text (live->plan_id, plan)));
    }
}

void flow_live_write_version (struct flow_live *live)
{
    put_number (live, "version", live->version);
}

void flow_live_adopt (struct flow_live *live, uint64_t plan_id)
{
    char plan[IDENT_SIZE];
    live->plan_id = plan_id;
    put_field (live, "plan", span_text (ident_text (plan_id, plan)));
    put_field (live, "exec", span_text (ident_text (live->exec_id, plan)));
    put_number (live, "timeout_ms", live->timeout_ms);
    live->batch = store_batch (live->station->store);
}

void flow_live_await_plan (struct flow_live *live, uint64_t plan_id)
{
    live->exec_id = 0;
    flow_live_adopt (live, plan_id);
}

// -- reading

// What is read of a run besides its maps, in this order.
enum { PART_RUN, PART_NODE, PART_INPUT, PART_DATA, PARTS };

struct run_read {
    struct station *station;
    uint64_t id;
    uint64_t resets; // store_resets () when the read began
    char name[IDENT_SIZE];
    flow_read_fn *call;
    struct flow_live *live;      // the run, as far as it is read
    struct frames *parts[PARTS]; // hashes: fields and values; strings: one span; NULL: none
    size_t part_count;
    struct flow_stored_map *maps; // their bytes are owned
    size_t map_count, maps_left;
};

static void run_read_destroy (struct run_read *self)
{
    for (size_t i = 0; i < self->map_count; i++)
        free ((void *)(uintptr_t)self->maps[i].bytes.data);
    free (self->maps);
    for (size_t i = 0; i < PARTS; i++)
        free (self->parts[i]);
    free (self);
}

// End the read: there is no run, or it cannot be read now.
static void end_without_run (struct run_read *self, bool lost, const char *damage)
{
    if (self->live)
        flow_live_free (self->live);
    self->call (self->station, self->id, NULL, lost, damage);
    run_read_destroy (self);
}

// End the read: the stored run is damaged.
static void end_damaged (struct run_read *self, const char *reason)
{
    log_event (LEVEL_ERROR, "flow.damaged", "run=%s reason=%s", self->name,
               quoted (span_text (reason)));
    end_without_run (self, false, reason);
}

// Copy a reply of this type, a string or an array of strings; NULL: it has another type.
static struct frames *copy_reply (const redisReply *reply, int type)
{
    if (!reply || reply->type != type)
        return NULL;
    const redisReply *const *items = (const redisReply *const *)reply->element;
    size_t count = reply->elements;
    if (type == REDIS_REPLY_STRING) {
        items = &reply;
        count = 1;
    }
    struct span *spans = memory_new ((count + 1) * sizeof *spans);
    for (size_t i = 0; i < count; i++)
        if (items[i]->type == REDIS_REPLY_STRING)
            spans[i] = span_of (items[i]->str, items[i]->len);
    struct frames *copy = frames_copy (spans, count);
    free (spans);
    return copy;
}

static struct span string_of (const struct frames *part)
{
    return part ? part->at[0] : (struct span){0};
}

static struct span find_hash_field (const struct frames *fields, const char *name)
{
    for (size_t i = 0; i + 1 < fields->count; i += 2)
        if (span_is (fields->at[i], name))
            return fields->at[i + 1];
    return (struct span){0};
}

// Copy a field as text; "": it is absent. False: it is too long.
static bool copy_hash_field (const struct frames *fields, const char *name, char *out, size_t room)
{
    struct span value = find_hash_field (fields, name);
    if (value.size < room)
        out[span_put (out, 0, value)] = '\0';
    return value.size < room;
}

static int64_t hash_field_number (const struct frames *fields, const char *name)
{
    char text[24];
    return copy_hash_field (fields, name, text, sizeof text) ? strtoll (text, NULL, 10) : 0;
}

// Make the run of the replies and its definition, and pass it to the caller.
static void on_definition (void *owner, const struct flow *flow, int version, const char *why)
{
    struct run_read *self = owner;
    struct flow_live *live = self->live;
    struct reason reason = {""};
    (void)version;
    if (self->resets !=
        store_resets (self->station->store)) { // another owner may have changed the run
        end_without_run (self, true, NULL);
        return;
    }
    if (!flow) {
        end_damaged (self, why);
        return;
    }
    live->flow = flow_book_hold (self->station, flow);
    const struct flow_stored stored = {.run = self->parts[PART_RUN]->at,
                                       .run_count = self->parts[PART_RUN]->count,
                                       .data = self->parts[PART_DATA]->at,
                                       .data_count = self->parts[PART_DATA]->count,
                                       .nodes = string_of (self->parts[PART_NODE]),
                                       .input = string_of (self->parts[PART_INPUT]),
                                       .maps = self->maps,
                                       .map_count = self->map_count};
    live->run = flow_rows_read (flow, live->name, &stored, &reason);
    if (!live->run) {
        end_damaged (self, reason.text);
        return;
    }
    self->live = NULL;
    self->call (self->station, self->id, live, false, NULL);
    run_read_destroy (self);
}

// Get the definition of the run's version.
static void read_definition (struct run_read *self)
{
    flow_book_get (self->station, self->live->flow_name, self->live->version, on_definition, self);
}

// The reply with a map; after the last one the definition is read.
static void on_map (void *owner, const redisReply *reply)
{
    struct run_read *self = owner;
    size_t at = self->map_count - self->maps_left--;
    if (reply && reply->type == REDIS_REPLY_STRING)
        self->maps[at].bytes = span_of (memory_copy (reply->str, reply->len), reply->len);
    if (self->maps_left)
        return;
    if (reply)
        read_definition (self);
    else
        end_without_run (self, true, NULL);
}

// Read the maps of all steps with a list.
static void read_maps (struct run_read *self)
{
    const struct frames *data = self->parts[PART_DATA];
    char key[FLOW_KEY_SIZE];
    self->maps = memory_new ((data->count + 1) * sizeof *self->maps);
    for (size_t i = 0; i + 1 < data->count; i += 2) {
        uint32_t step;
        if (flow_rows_has_map (data->at[i], &step))
            self->maps[self->map_count++].step = step;
    }
    self->maps_left = self->map_count;
    if (!self->map_count) {
        read_definition (self);
        return;
    }
    for (size_t i = 0, count = self->map_count; i < count; i++) {
        const struct span words[] = {span_text ("GET"),
                                     run_key (self->name, FLOW_KEY_MAP, self->maps[i].step, key)};
        store_get (self->station->store, words, 2, on_map, self);
    }
}

// Read the fields that flow_rows_read does not read. False: they are not those of a run.
static bool read_station_fields (struct run_read *self)
{
    const struct frames *fields = self->parts[PART_RUN];
    struct flow_live *live = self->live = memory_new (sizeof *live);
    struct span flow = find_hash_field (fields, "flow"),
                caller = find_hash_field (fields, "caller");
    struct reason reason;
    live->station = self->station;
    live->id = self->id;
    memcpy (live->name, self->name, sizeof live->name);
    live->subs = json_object ();
    live->inherit = json_read_object (find_hash_field (fields, "inherit"), &reason);
    live->version = (int)hash_field_number (fields, "version");
    live->depth = (int)hash_field_number (fields, "depth");
    live->began_ms = hash_field_number (fields, "began_ms");
    live->updated_ms = hash_field_number (fields, "updated_ms");
    live->ended_ms = hash_field_number (fields, "ended_ms");
    live->timeout_ms = hash_field_number (fields, "timeout_ms");
    if (!live->inherit || !flow.data || !station_name_valid (flow) ||
        !ident_parse (find_hash_field (fields, "plan"), &live->plan_id) || live->version < 1 ||
        !copy_hash_field (fields, "parent", live->parent, sizeof live->parent) ||
        !copy_hash_field (fields, "timezone", live->timezone, sizeof live->timezone))
        return false;
    if (!ident_parse (find_hash_field (fields, "exec"), &live->exec_id))
        live->exec_id = 0;
    memcpy (live->flow_name, flow.data, flow.size);
    if (caller.size)
        live->caller = memory_copy (caller.data, caller.size);
    for (size_t i = 0; i + 1 < fields->count; i += 2) {
        struct span name = fields->at[i];
        char field[48] = "";
        uint64_t run;
        if (name.size < 5 || name.size >= sizeof field || memcmp (name.data, "sub:", 4) != 0 ||
            !ident_parse (fields->at[i + 1], &run))
            continue;
        memcpy (field, name.data, name.size);
        json_object_set_new (live->subs, field, json_integer ((json_int_t)run));
    }
    return true;
}

// A part has arrived; the last one continues the read.
static void on_part (void *owner, const redisReply *reply)
{
    struct run_read *self = owner;
    bool hash = self->part_count == PART_RUN || self->part_count == PART_DATA;
    self->parts[self->part_count++] =
        copy_reply (reply, hash ? REDIS_REPLY_ARRAY : REDIS_REPLY_STRING);
    if (self->part_count < PARTS)
        return;
    if (!reply || !self->parts[PART_RUN])
        end_without_run (self, true, NULL);
    else if (!self->parts[PART_DATA])
        end_damaged (self, "plan:flow:data is no hash");
    else if (!self->parts[PART_RUN]->count)
        end_without_run (self, false, NULL);
    else if (!read_station_fields (self))
        end_damaged (self, "its fields are not those of a run");
    else
        read_maps (self);
}

void flow_live_read (struct station *self, uint64_t run, flow_read_fn *call)
{
    static const struct {
        const char *command;
        enum flow_key key;
    } reads[PARTS] = {[PART_RUN] = {"HGETALL", FLOW_KEY_RUN},
                      [PART_NODE] = {"GET", FLOW_KEY_NODE},
                      [PART_INPUT] = {"GET", FLOW_KEY_INPUT},
                      [PART_DATA] = {"HGETALL", FLOW_KEY_DATA}};
    struct run_read *reading = memory_new (sizeof *reading);
    char key[FLOW_KEY_SIZE];
    reading->station = self;
    reading->id = run;
    reading->resets = store_resets (self->store);
    reading->call = call;
    ident_text (run, reading->name);
    for (size_t i = 0; i < PARTS; i++) {
        const struct span words[] = {span_text (reads[i].command),
                                     run_key (reading->name, reads[i].key, 0, key)};
        store_get (self->store, words, 2, on_part, reading);
    }
}
