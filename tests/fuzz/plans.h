// What holds of every plan: it is stored and read again, sent, and shown.
#pragma once

#include "codes.h"
#include "fuzz.h"
#include "plan_json.h"
#include "plan_message.h"

static inline char *stored_text (const struct plan *plan)
{
    size_t size;
    char *text = plan_stored_text (plan, &size);
    HOLDS (strlen (text) == size);
    return text;
}

// The message as it is stored, which can be read again. Free it.
static inline char *check_readable (const struct plan *plan, struct plan **ret_again)
{
    struct reason reason = {""};
    char *text = stored_text (plan);
    *ret_again = plan_from_stored_json (plan->id, span_text (text), &reason);
    if (!*ret_again)
        fprintf (stderr, "%s\n%s\n", reason.text, text);
    HOLDS (*ret_again);
    return text;
}

static inline void check_stored (const struct plan *plan)
{
    struct plan *again;
    char *text = check_readable (plan, &again);
    char *second = stored_text (again);
    HOLDS (strcmp (text, second) == 0);
    plan_destroy (&again);
    free (second);
    free (text);
}

static inline void check_sent (const struct plan *plan, const struct dispatch_way *way, int64_t now)
{
    struct plan_texts texts = {0};
    struct message message, again;
    struct reason reason;
    struct span out[MESSAGE_FRAMES_MAX];
    uint8_t desc_out[DESC_SIZE_MAX];
    plan_dispatch_message (plan, way, now + 300, &texts, &message);
    HOLDS (message.desc.count <= DESC_FRAMES_MAX);
    HOLDS (message_read (out, message_layout (&message, desc_out, out), &again, &reason) == 0);
    HOLDS (again.envelope == message.envelope && again.desc.count == message.desc.count);
    HOLDS (again.desc.code == ZERO_BYTE_COMMAND_PROXY);
    free (texts.plan_json.bytes);
}

static inline void check_public (const struct plan *plan)
{
    struct reason reason;
    char *text = plan_public_text (plan);
    struct json_text room = {0};
    const char *json = plan_broadcast_json (text, 7, "1f", &room);
    json_t *object = json_read_object (span_text (json), &reason);
    HOLDS (object && !json_object_get (object, "messages"));
    json_decref (object);
    free (room.bytes);
    free (text);
}
