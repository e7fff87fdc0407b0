// The log of a run: the outcomes of its steps, for people. Only the last lines are kept, and only
// a few per step with many items.
#include <stdlib.h>

#include "flow_redis.h"
#include "flow_runs_private.h"
#include "json_text.h"
#include "redis_keys.h"
#include "utf8.h"

enum {
    LOG_MORE = 100,  // lines above FLOW_LOG_MAX before the log is trimmed
    DETAIL_MAX = 512 // bytes of an error in a line
};

static void add_text_member (struct json_text *line, const struct json_name *name, const char *text)
{
    if (!text || !*text)
        return;
    json_text_name (line, name);
    json_text_frame (line, utf8_cut (span_text (text), DETAIL_MAX));
}

struct log_writer {
    struct flow_live *live;
    const struct flow_event *event;
    struct json_text line;
    char key[FLOW_KEY_SIZE];
    int64_t lines;
};

// Append a line to the log. `detail`: an error, or NULL. A line about a command also has the
// caller's key and reason.
static void log_line (struct log_writer *self, uint32_t step, int64_t item, const char *state,
                      const char *detail)
{
    static const struct json_name at = JSON_NAME ("at"), step_name = JSON_NAME ("step"),
                                  item_name = JSON_NAME ("item"), state_name = JSON_NAME ("state"),
                                  detail_name = JSON_NAME ("detail"), by = JSON_NAME ("by"),
                                  why = JSON_NAME ("why");
    const struct flow_event *event = self->event;
    struct json_text *line = &self->line;
    json_text_clear (line);
    json_text_raw (line, span_text ("{"));
    json_text_number (line, &at, self->live->updated_ms, 0);
    json_text_name (line, &step_name);
    json_text_frame (line, span_text (self->live->flow->steps[step].name));
    if (item >= 0)
        json_text_number (line, &item_name, item, 0);
    json_text_name (line, &state_name);
    json_text_frame (line, span_text (state));
    add_text_member (line, &detail_name, detail);
    bool concerns_step =
        event->key && (!flow_command_has_step (event->kind) || event->step == step);
    add_text_member (line, &by, concerns_step ? event->key : NULL);
    add_text_member (line, &why, concerns_step ? event->text : NULL);
    json_text_raw (line, span_text ("}"));
    const struct span words[] = {span_text ("RPUSH"), span_text (self->key),
                                 span_of (line->bytes, line->size)};
    store_put (self->live->station->store, words, 3);
    self->lines++;
}

static bool has_failed (unsigned state)
{
    return state == FLOW_FAILED || state == FLOW_CANCELLED;
}

// Log items that have just failed, if they are among the first failures of their step.
static void log_items (struct log_writer *self, uint32_t step)
{
    const struct flow_items *items = flow_items_of (self->live->run, step);
    uint32_t new_failures = 0;
    for (uint32_t i = 0; items && i < items->touched_count; i++) {
        const struct flow_item *item = &items->item[items->touched[i]];
        new_failures += has_failed (item->state) && item->touched & FLOW_TOUCHED_ENTRY;
    }
    for (uint32_t i = 0; new_failures && i < items->touched_count; i++) {
        const struct flow_item *item = &items->item[items->touched[i]];
        if (!has_failed (item->state) || !(item->touched & FLOW_TOUCHED_ENTRY))
            continue;
        if (items->failed - --new_failures <= FLOW_FAILED_SHOWN)
            log_line (self, step, items->touched[i], flow_state_name (item->state), item->error);
    }
}

// Log the new state of a step. A step with items stays running until the last one ends, which is
// logged once.
static void log_step (struct log_writer *self, uint32_t step)
{
    struct flow_node *node = &self->live->run->nodes[step];
    const struct flow_data *data = self->live->run->data[step];
    bool blocked = node->flags & FLOW_BLOCKED,
         already_logged = data && data->items && node->state == FLOW_RUNNING &&
                          node->logged == FLOW_RUNNING && self->event->kind != FLOW_RETRY;
    node->logged = node->state;
    if (!already_logged && (blocked || node->state != FLOW_NONE))
        log_line (self, step, -1, blocked ? "blocked" : flow_state_name (node->state),
                  data && has_failed (node->state) ? data->error : NULL);
}

// Log the undos that this event has begun, ended or parked.
static void log_undos (struct log_writer *self, const struct flow_effects *effects)
{
    const struct flow_run *run = self->live->run;
    const struct flow_event *event = self->event;
    bool ended = event->kind == FLOW_CALL_ENDED && event->undo && !effects->dropped,
         well = ended && event->status == FLOW_OK;
    if (well || event->kind == FLOW_UNDO_DONE)
        log_line (self, event->step, event->item, "undone", NULL);
    for (size_t i = 0; i < effects->count; i++)
        if (effects->items[i].kind == FLOW_PLACE && effects->items[i].undo)
            log_line (self, effects->items[i].step, effects->items[i].item, "undoing", NULL);
    if (effects->parked) {
        const struct flow_undo *undo = &run->undos[run->undo_at];
        log_line (self, undo->step, undo->item, "parked",
                  ended && !well ? event->text : run->error);
    }
}

void flow_live_log (struct flow_live *live, const struct flow_event *event,
                    const struct flow_effects *effects)
{
    struct log_writer log = {.live = live, .event = event};
    const struct flow_run *run = live->run;
    snprintf (log.key, sizeof log.key, KEY_FLOW_LOG "%s", live->name);
    json_text_start (&log.line, 128);
    for (uint32_t i = 0; i < run->touched_count; i++)
        log_items (&log, run->touched[i]);
    if (event->kind == FLOW_SKIP && event->item >= 0 && !effects->rejected.text[0])
        log_line (&log, event->step, event->item, "skipped", NULL);
    for (size_t i = 0; i < effects->changed_count; i++)
        log_step (&log, effects->changed[i]);
    log_undos (&log, effects);
    free (log.line.bytes);
    live->log_room -= log.lines;
    if (log.lines && live->log_room < 0) {
        live->log_room = LOG_MORE;
        flow_redis_put (live->station, "LTRIM %s -%d -1", log.key, FLOW_LOG_MAX);
    }
}
