#include "plan_step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ident.h"
#include "stored_text.h"

enum { NAME_MAX_BYTES = 64 };

size_t plan_step_text (const struct plan_step *self, char out[PLAN_STEP_SIZE])
{
    int size =
        snprintf (out, PLAN_STEP_SIZE, "%c %" PRIx64 " %" PRIu32 " %" PRId64 " %u %d %.*s %.*s",
                  (char)self->kind, self->run, self->step, self->item, self->generation,
                  self->version, (int)self->flow.size, (const char *)self->flow.data,
                  (int)self->name.size, (const char *)self->name.data);
    if (self->kind == STEP_FLOW)
        size += snprintf (out + size, PLAN_STEP_SIZE - (size_t)size,
                          " %" PRId64 " %" PRId64 " %" PRId64 " %d", self->fire, self->created,
                          self->batch, self->depth);
    return (size_t)size;
}

static bool take_word (struct span *rest, struct span *ret)
{
    const uint8_t *blank = rest->size ? memchr (rest->data, ' ', rest->size) : NULL;
    *ret = blank ? span_of (rest->data, (size_t)(blank - rest->data)) : *rest;
    *rest = blank ? span_of (blank + 1, rest->size - ret->size - 1) : (struct span){0};
    return ret->size > 0 && ret->size <= NAME_MAX_BYTES;
}

static bool take_number (struct span *rest, int64_t min, int64_t max, int64_t *ret)
{
    char text[NAME_MAX_BYTES + 1] = "", *end;
    struct span word;
    if (!take_word (rest, &word))
        return false;
    memcpy (text, word.data, word.size);
    *ret = strtoll (text, &end, 10);
    return !*end && *ret >= min && *ret <= max;
}

bool plan_step_parse (struct span text, struct plan_step *ret)
{
    struct span kind, run;
    int64_t step, generation, version, depth = 0;
    *ret = (struct plan_step){.item = -1};
    if (!take_word (&text, &kind) || kind.size != 1 || !memchr ("cuft", kind.data[0], 4) ||
        !take_word (&text, &run) || !ident_parse (run, &ret->run) ||
        !take_number (&text, 0, UINT32_MAX, &step) ||
        !take_number (&text, -1, INT32_MAX, &ret->item) ||
        !take_number (&text, 0, UINT16_MAX, &generation) ||
        !take_number (&text, 1, INT32_MAX, &version) || !take_word (&text, &ret->flow) ||
        !take_word (&text, &ret->name))
        return false;
    ret->kind = (enum plan_step_kind)kind.data[0];
    ret->step = (uint32_t)step;
    ret->generation = (unsigned)generation;
    ret->version = (int)version;
    if (ret->kind == STEP_FLOW && (!take_number (&text, INT64_MIN, INT64_MAX, &ret->fire) ||
                                   !take_number (&text, INT64_MIN, INT64_MAX, &ret->created) ||
                                   !take_number (&text, INT64_MIN, INT64_MAX, &ret->batch) ||
                                   !take_number (&text, 1, UINT8_MAX, &depth)))
        return false;
    ret->depth = (int)depth;
    return !text.size;
}

bool plan_step_stored (struct span message, struct plan_step *ret)
{
    const uint8_t *end = message.data + message.size, *at;
    size_t from = 0;
    while ((at = message_value (message, "step", &from))) {
        const uint8_t *quote = *at == '"' ? memchr (at + 1, '"', (size_t)(end - at - 1)) : NULL;
        if (quote && plan_step_parse (span_of (at + 1, (size_t)(quote - at - 1)), ret))
            return true;
    }
    return false;
}

void plan_step_write (const struct plan_step *self, struct json_text *text)
{
    char item[32] = "", member[PLAN_STEP_SIZE];
    if (self->item >= 0)
        snprintf (item, sizeof item, "\"item\":%" PRId64 ",", self->item);
    // Names have no character that JSON escapes.
    snprintf (member, sizeof member,
              "{\"name\":\"%.*s\",\"version\":%d,\"run\":\"%" PRIx64 "\",\"step\":\"%.*s\",%s"
              "\"generation\":%u,\"undo\":%s}",
              (int)self->flow.size, (const char *)self->flow.data, self->version, self->run,
              (int)self->name.size, (const char *)self->name.data, item, self->generation,
              self->kind == STEP_UNDO ? "true" : "false");
    json_text_raw (text, span_text (member));
}
