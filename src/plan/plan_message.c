#include "plan_message.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "codes.h"
#include "ident.h"
#include "memory.h"
#include "plan_json.h"

bool plan_dispatch_fits (const struct desc *submitted)
{
    size_t frames = 3;
    bool has_global_id = false;
    for (size_t i = 0; i < submitted->count; i++) {
        uint8_t type = submitted->types[i];
        has_global_id |= type == ZERO_FRAME_GLOBAL_ID;
        frames += type != ZERO_FRAME_PLAN && type != ZERO_FRAME_STATION_ID;
    }
    return frames + !has_global_id <= DESC_FRAMES_MAX;
}

static char *dispatch_json (const struct plan *self, int64_t deadline)
{
    json_t *object = plan_to_json (self);
    json_object_set_new (object, "deadline", json_integer (deadline));
    char *text = json_write (object);
    json_decref (object);
    return text;
}

void plan_dispatch_message (const struct plan *self, int64_t deadline, struct plan_texts *texts,
                            struct message *ret)
{
    struct desc stored;
    struct reason reason;
    int rc = desc_parse (self->messages[1], self->message_count - 2, &stored, &reason);
    assert (rc == 0);
    (void)rc;

    message_start (ret, ZERO_BYTE_COMMAND_PROXY);
    ret->envelope = ENVELOPE_MAILBOX;
    ret->sender = span_text (mailbox_text (self->id, texts->mailbox));
    bool has_global_id = false;
    for (size_t i = 0; i < stored.count; i++) {
        uint8_t type = stored.types[i];
        has_global_id |= type == ZERO_FRAME_GLOBAL_ID;
        if (type != ZERO_FRAME_PLAN && type != ZERO_FRAME_STATION_ID)
            message_add (ret, type, self->messages[2 + i]);
    }
    texts->plan_json = dispatch_json (self, deadline);
    snprintf (texts->plan_time, sizeof texts->plan_time, "%" PRId64, self->plan_time);
    message_add (ret, ZERO_FRAME_PLAN, span_text (texts->plan_json));
    message_add (ret, ZERO_FRAME_PLAN_TIME, span_text (texts->plan_time));
    message_add (ret, ZERO_FRAME_LOCAL_ID, span_text (ident_text (self->exec_id, texts->exec_id)));
    if (!has_global_id)
        message_add (ret, ZERO_FRAME_GLOBAL_ID, span_text (ident_text (self->id, texts->plan_id)));
}

char *plan_public_text (const struct plan *self)
{
    json_t *object = plan_to_json (self);
    char *text = json_write (object);
    json_decref (object);
    return text;
}

char *plan_broadcast_json (const char *public_text, int64_t seq, const char *epoch)
{
    size_t size = strlen (public_text);
    assert (size > 2 && public_text[size - 1] == '}');
    size_t room = size + strlen (epoch) + 64;
    char *text = memory_new (room);
    snprintf (text, room, "%.*s,\"seq\":%" PRId64 ",\"epoch\":\"%s\"}", (int)size - 1, public_text,
              seq, epoch);
    return text;
}
