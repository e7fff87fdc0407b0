#include "update_messages.h"

#include <stdlib.h>

#include "desc.h"
#include "json.h"
#include "memory.h"

enum { FIRST_FRAME = 2 }; // of the stored messages: behind the mailbox and the description

// The description of stored messages. 0, or -1 with a reason.
static int read_description (const json_t *messages, struct desc *ret, struct reason *reason)
{
    size_t count = json_array_size (messages), size;
    if (count < FIRST_FRAME) {
        reason_set (reason, "its stored messages are broken");
        return -1;
    }
    char *text = json_write (json_array_get (messages, 1));
    uint8_t *bytes = memory_new (strlen (text));
    struct reason why = {"no bytes"};
    int rc = 0;
    if (!json_to_frame (json_array_get (messages, 1), bytes, &size) ||
        desc_parse (span_of (bytes, size), count - FIRST_FRAME, ret, &why)) {
        reason_set (reason, "its stored description is broken: %s", why.text);
        rc = -1;
    }
    free (bytes);
    free (text);
    return rc;
}

// Frames to be written, and their types.
struct frames {
    struct desc desc;
    json_t *list;
};

static int add_frame (struct frames *self, uint8_t type, json_t *frame, struct reason *reason)
{
    if (self->desc.count == DESC_FRAMES_MAX) {
        json_decref (frame);
        reason_set (reason, "more than %d frames", DESC_FRAMES_MAX);
        return -1;
    }
    desc_add (&self->desc, type);
    json_array_append_new (self->list, frame);
    return 0;
}

static int add_part (struct frames *self, const struct order_frames *parts, size_t part,
                     struct reason *reason)
{
    for (size_t i = 0; i < parts->types[part].count; i++)
        if (add_frame (self, parts->types[part].type,
                       json_from_frame (span_text (parts->types[part].texts[i])), reason))
            return -1;
    return 0;
}

// The part that replaces frames of this type, or ORDER_FRAME_TYPES.
static size_t part_of (const struct order_frames *parts, uint8_t type)
{
    size_t part = 0;
    while (part < ORDER_FRAME_TYPES &&
           (parts->types[part].type != type || parts->types[part].count == 0))
        part++;
    return part;
}

// The stored frames with what was given in their place: where the first of the type stood, or at
// the end.
static int merge (const json_t *messages, const struct desc *desc, const struct order_frames *parts,
                  struct frames *ret, struct reason *reason)
{
    bool added[ORDER_FRAME_TYPES + 1] = {false};
    for (size_t i = 0; i < desc->count; i++) {
        size_t part = part_of (parts, desc->types[i]);
        json_t *frame = json_array_get (messages, FIRST_FRAME + i);
        if (part == ORDER_FRAME_TYPES) {
            if (add_frame (ret, desc->types[i], json_incref (frame), reason))
                return -1;
        } else if (!added[part] && add_part (ret, parts, part, reason)) {
            return -1;
        }
        added[part] = true;
    }
    for (size_t part = 0; part < ORDER_FRAME_TYPES; part++)
        if (!added[part] && add_part (ret, parts, part, reason))
            return -1;
    return 0;
}

int update_messages (const struct order *order, const json_t *plan, json_t *fields,
                     struct reason *reason)
{
    struct order_frames parts = order_frames (order);
    const json_t *messages = json_object_get (plan, "messages");
    size_t given = 0;
    for (size_t i = 0; i < ORDER_FRAME_TYPES; i++)
        given += parts.types[i].count;
    if (given == 0)
        return 0;
    struct desc desc;
    if (read_description (messages, &desc, reason))
        return -1;

    uint8_t bytes[DESC_SIZE_MAX];
    struct frames frames = {.desc = {.code = desc.code}, .list = json_array ()};
    int rc = merge (messages, &desc, &parts, &frames, reason);
    if (rc == 0) {
        size_t size = desc_write (&frames.desc, bytes);
        json_t *list = json_array ();
        json_array_append (list, json_array_get (messages, 0));
        json_array_append_new (list, json_from_frame (span_of (bytes, size)));
        json_array_extend (list, frames.list);
        json_object_set_new (fields, "messages", list);
    }
    json_decref (frames.list);
    return rc;
}
