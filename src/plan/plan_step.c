#include "plan_step.h"

#include <stdlib.h>

#include "decimal.h"
#include "ident.h"
#include "stored_text.h"

enum { NAME_MAX_BYTES = 64 };

static size_t put_step_word (char *out, size_t size, struct span word)
{
    out[size++] = ' ';
    return span_put (out, size, word);
}

static size_t put_step_number (char *out, size_t size, int64_t number)
{
    out[size++] = ' ';
    return size + decimal_text (number, out + size);
}

size_t plan_step_text (const struct plan_step *self, char out[PLAN_STEP_SIZE])
{
    const int64_t numbers[] = {self->step, self->item, self->generation, self->version},
                  flow_numbers[] = {self->fire, self->created, self->batch, self->depth};
    const struct span names[] = {self->flow, self->name};
    char run[IDENT_SIZE];
    size_t size = 0;
    out[size++] = (char)self->kind;
    size = put_step_word (out, size, span_text (ident_text (self->run, run)));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        size = put_step_number (out, size, numbers[i]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        size = put_step_word (out, size, names[i]);
    for (size_t i = 0; self->kind == STEP_FLOW && i < sizeof flow_numbers / sizeof *flow_numbers;
         i++)
        size = put_step_number (out, size, flow_numbers[i]);
    return size;
}

// Take the next word from `rest`. False: it is empty or too long.
static bool take_step_word (struct span *rest, struct span *ret)
{
    const uint8_t *blank = rest->size ? memchr (rest->data, ' ', rest->size) : NULL;
    *ret = blank ? span_of (rest->data, (size_t)(blank - rest->data)) : *rest;
    *rest = blank ? span_of (blank + 1, rest->size - ret->size - 1) : (struct span){0};
    return ret->size > 0 && ret->size <= NAME_MAX_BYTES;
}

// Take the next word from `rest`, a number. False: it is not a number, or out of bounds.
static bool take_step_number (struct span *rest, int64_t min, int64_t max, int64_t *ret)
{
    char text[NAME_MAX_BYTES + 1] = "", *end;
    struct span word;
    if (!take_step_word (rest, &word))
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
    if (!take_step_word (&text, &kind) || kind.size != 1 || !memchr ("cuft", kind.data[0], 4) ||
        !take_step_word (&text, &run) || !ident_parse (run, &ret->run) ||
        !take_step_number (&text, 0, UINT32_MAX, &step) ||
        !take_step_number (&text, -1, INT32_MAX, &ret->item) ||
        !take_step_number (&text, 0, UINT16_MAX, &generation) ||
        !take_step_number (&text, 1, INT32_MAX, &version) || !take_step_word (&text, &ret->flow) ||
        !take_step_word (&text, &ret->name))
        return false;
    ret->kind = (enum plan_step_kind)kind.data[0];
    ret->step = (uint32_t)step;
    ret->generation = (unsigned)generation;
    ret->version = (int)version;
    if (ret->kind == STEP_FLOW && (!take_step_number (&text, INT64_MIN, INT64_MAX, &ret->fire) ||
                                   !take_step_number (&text, INT64_MIN, INT64_MAX, &ret->created) ||
                                   !take_step_number (&text, INT64_MIN, INT64_MAX, &ret->batch) ||
                                   !take_step_number (&text, 1, UINT8_MAX, &depth)))
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
    static const struct json_name name = JSON_NAME ("name"), version = JSON_NAME ("version"),
                                  run = JSON_NAME ("run"), step = JSON_NAME ("step"),
                                  item = JSON_NAME ("item"), generation = JSON_NAME ("generation"),
                                  undo = JSON_NAME ("undo");
    char id[IDENT_SIZE];
    json_text_raw (text, span_text ("{"));
    json_text_name (text, &name);
    json_text_frame (text, self->flow);
    json_text_number (text, &version, self->version, 0);
    json_text_name (text, &run);
    json_text_frame (text, span_text (ident_text (self->run, id)));
    json_text_name (text, &step);
    json_text_frame (text, self->name);
    if (self->item >= 0)
        json_text_number (text, &item, self->item, 0);
    json_text_number (text, &generation, self->generation, 0);
    json_text_name (text, &undo);
    json_text_raw (text, span_text (self->kind == STEP_UNDO ? "true}" : "false}"));
}
