#include "publish.h"

#include "codes.h"
#include "ident.h"
#include "plan_message.h"

void publish_result (struct station *self, const struct publication *publication)
{
    char id[IDENT_SIZE];
    struct message message;
    message_start (&message, publication->status);
    // The title stands where other messages have their envelope: subscribers select by it.
    message.envelope = ENVELOPE_CALLER;
    message.sender = publication->title;
    message_add (&message, ZERO_FRAME_SUBTITLE, span_text (ident_text (publication->plan_id, id)));
    message_add (&message, ZERO_FRAME_CONTENT, span_text (publication->json));
    for (size_t i = 0; i < publication->desc->count && i < BROADCAST_FRAMES_MAX; i++)
        message_add (&message, publication->desc->types[i], publication->frames[i]);
    packet_send_message (self->publish_socket, (struct span){0}, &message);
    self->counters.broadcasts++;
}
