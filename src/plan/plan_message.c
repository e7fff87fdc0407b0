#include "plan_message.h"

#include <assert.h>

#include "codes.h"
#include "decimal.h"
#include "ident.h"
#include "json_text.h"
#include "plan_json.h"

// -- how a way changes the client's frames

enum added { ADD_CONTEXT, ADD_PLAN, ADD_TIME, ADD_LOCAL_ID, ADD_REQUEST_ID, ADD_REQUESTER, ADD_ID };

// The frames that are added after the client's, in this order.
struct addition {
    uint8_t type;
    bool by_frame, by_identity; // added with the mailbox as first frame; added by identity
    bool replaces;   // not added to a client's own frame, which by identity gets this content
    bool only_empty; // the client's own frame gets this content only if it is empty
};

static const struct addition additions[] = {
    [ADD_CONTEXT] = {ZERO_FRAME_CONTEXT, false, true, true, true},
    [ADD_PLAN] = {ZERO_FRAME_PLAN, true, true, false, false},
    [ADD_TIME] = {ZERO_FRAME_PLAN_TIME, true, true, false, false},
    [ADD_LOCAL_ID] = {ZERO_FRAME_LOCAL_ID, true, false, false, false},
    [ADD_REQUEST_ID] = {ZERO_FRAME_REQUEST_ID, false, true, true, true},
    [ADD_REQUESTER] = {ZERO_FRAME_REQUESTER, false, true, true, false},
    [ADD_ID] = {ZERO_FRAME_GLOBAL_ID, true, true, true, false},
};

enum { ADDITIONS = sizeof additions / sizeof *additions };

// Whether a client's frame is not sent to the target: it was meant for the station, or it is the
// key, which the station adds last.
static bool is_frame_dropped (uint8_t type, const struct dispatch_way *way)
{
    return type == ZERO_FRAME_PLAN || type == ZERO_FRAME_STATION_ID ||
           (type == ZERO_FRAME_SERVICE_KEY && *way->key);
}

// Whether this frame is added to a client's frames of the types in `client`.
static bool is_frame_added (const struct addition *addition, const struct desc *client,
                            const struct dispatch_way *way)
{
    if (!(way->by_identity ? addition->by_identity : addition->by_frame))
        return false;
    return !addition->replaces || desc_find (client, addition->type) == client->count;
}

bool plan_dispatch_fits (const struct desc *submitted, const struct dispatch_way *way)
{
    size_t frames = *way->key != '\0';
    for (size_t i = 0; i < submitted->count; i++)
        frames += !is_frame_dropped (submitted->types[i], way);
    for (size_t i = 0; i < ADDITIONS; i++)
        frames += is_frame_added (&additions[i], submitted, way);
    return frames <= DESC_FRAMES_MAX;
}

// Set the contents of all additions, which borrow from `texts`.
static void set_addition_texts (const struct plan *self, const struct dispatch_way *way,
                                int64_t deadline, struct plan_texts *texts,
                                struct span ret[ADDITIONS])
{
    struct json_text *json = &texts->plan_json;
    json_text_clear (json);
    plan_write_dispatch (self, deadline, json);
    size_t time_size = decimal_text (plan_nominal (self, self->exec_id), texts->plan_time);
    struct span exec_id = span_text (ident_text (self->exec_id, texts->exec_id));
    struct span mailbox = span_text (mailbox_text (self->id, texts->mailbox));
    struct span plan_id = span_of (mailbox.data + 1, mailbox.size - 1);
    ret[ADD_CONTEXT] = span_text ("{}");
    ret[ADD_PLAN] = span_of (json->bytes, json->size);
    ret[ADD_TIME] = span_of (texts->plan_time, time_size);
    ret[ADD_LOCAL_ID] = exec_id;
    ret[ADD_REQUEST_ID] = mailbox;
    ret[ADD_REQUESTER] = mailbox;
    ret[ADD_ID] = way->by_identity ? exec_id : plan_id;
}

// The frame that is sent by identity in place of a client's frame: the same one, or its
// replacement.
static struct span frame_by_identity (uint8_t type, struct span frame,
                                      const struct span texts[ADDITIONS])
{
    for (size_t i = 0; i < ADDITIONS; i++)
        if (additions[i].type == type && additions[i].replaces &&
            (frame.size == 0 || !additions[i].only_empty))
            return texts[i];
    return frame;
}

void plan_dispatch_message (const struct plan *self, const struct dispatch_way *way,
                            int64_t deadline, struct plan_texts *texts, struct message *ret)
{
    struct desc stored;
    struct reason reason;
    struct span added[ADDITIONS];
    int rc = desc_parse (self->messages[1], self->message_count - 2, &stored, &reason);
    assert (rc == 0);
    (void)rc;

    set_addition_texts (self, way, deadline, texts, added);
    message_start (ret, ZERO_BYTE_COMMAND_PROXY);
    if (!way->by_identity) {
        ret->envelope = ENVELOPE_MAILBOX;
        ret->sender = span_text (texts->mailbox);
    }
    for (size_t i = 0; i < stored.count; i++) {
        uint8_t type = stored.types[i];
        struct span frame = self->messages[2 + i];
        if (!is_frame_dropped (type, way))
            message_add (ret, type,
                         way->by_identity ? frame_by_identity (type, frame, added) : frame);
    }
    for (size_t i = 0; i < ADDITIONS; i++)
        if (is_frame_added (&additions[i], &stored, way))
            message_add (ret, additions[i].type, added[i]);
    if (*way->key)
        message_add (ret, ZERO_FRAME_SERVICE_KEY, span_text (way->key));
}

const char *plan_broadcast_json (const char *public_text, int64_t seq, const char *epoch,
                                 struct json_text *text)
{
    static const struct json_name names[] = {JSON_NAME ("seq"), JSON_NAME ("epoch")};
    size_t size = strlen (public_text);
    assert (size > 2 && public_text[size - 1] == '}');
    json_text_clear (text);
    json_text_raw (text, span_of (public_text, size - 1));
    json_text_number (text, &names[0], seq, 0);
    json_text_name (text, &names[1]);
    json_text_frame (text, span_text (epoch));
    json_text_raw (text, span_of ("}", 1));
    return json_text_end (text, &size);
}

struct span plan_sent_frame (const struct plan *plan, uint8_t type)
{
    struct desc desc;
    struct reason reason;
    if (desc_parse (plan->messages[1], plan->message_count - 2, &desc, &reason))
        return (struct span){0};
    size_t at = desc_find (&desc, type);
    return at < desc.count ? plan->messages[2 + at] : (struct span){0};
}

struct span plan_command (const struct plan *plan)
{
    return plan_sent_frame (plan, ZERO_FRAME_COMMAND);
}
