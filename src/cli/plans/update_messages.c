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

// What was given on the command line, and its types that are added.
struct given {
    struct zplan_frame frames[ORDER_FRAMES_MAX];
    size_t count;
    bool added[UINT8_MAX + 1];
};

static bool has_type (const struct given *given, uint8_t type)
{
    for (size_t i = 0; i < given->count; i++)
        if (given->frames[i].type == type)
            return true;
    return false;
}

static int add_given (struct frames *self, struct given *given, uint8_t type, struct reason *reason)
{
    for (size_t i = 0; !given->added[type] && i < given->count; i++) {
        const struct zplan_frame *frame = &given->frames[i];
        if (frame->type == type &&
            add_frame (self, type, json_from_frame (span_of (frame->data, frame->size)), reason))
            return -1;
    }
    given->added[type] = true;
    return 0;
}

// The stored frames with what was given in their place: where the first of the type stood, or at
// the end.
static int merge (const json_t *messages, const struct desc *desc, struct given *given,
                  struct frames *ret, struct reason *reason)
{
    for (size_t i = 0; i < desc->count; i++) {
        uint8_t type = desc->types[i];
        json_t *frame = json_array_get (messages, FIRST_FRAME + i);
        if (has_type (given, type) ? add_given (ret, given, type, reason)
                                   : add_frame (ret, type, json_incref (frame), reason))
            return -1;
    }
    for (size_t i = 0; i < given->count; i++)
        if (add_given (ret, given, given->frames[i].type, reason))
            return -1;
    return 0;
}

int update_messages (const struct order *order, const json_t *plan, json_t *fields,
                     struct reason *reason)
{
    struct given given = {.count = 0};
    const json_t *messages = json_object_get (plan, "messages");
    given.count = order_frames (order, given.frames);
    if (given.count == 0)
        return 0;
    struct desc desc;
    if (read_description (messages, &desc, reason))
        return -1;

    uint8_t bytes[DESC_SIZE_MAX];
    struct frames frames = {.desc = {.code = desc.code}, .list = json_array ()};
    int rc = merge (messages, &desc, &given, &frames, reason);
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
