// Results as the station publishes them: [title][description][plan id][plan JSON][frames...]. Other
// messages are skipped: the socket may carry other broadcasts.
#include "subscriber_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "json.h"

enum {
    OWN_FRAMES = 2, // the plan's id and JSON, before what the target sent
    MESSAGES_A_TURN = 64
};

// -- the connection

void subscriber_update (struct zplan_subscriber *self)
{
    bool listens = true;
    int64_t wake_us = READINESS_NEVER;
    if (self->recovery.client)
        wake_us = recovery_wake_us (&self->recovery, &listens);
    readiness_update (&self->listener.ready, wake_us, listens);
}

static struct zplan_subscriber *subscriber_new (const char *endpoint, const char *title_prefix,
                                                const struct keys *keys)
{
    if (!endpoint || !title_prefix) {
        errno = EINVAL;
        return NULL;
    }
    struct zplan_subscriber *self = calloc (1, sizeof *self);
    if (!self)
        return NULL;
    bool opened = listener_open (&self->listener, endpoint, title_prefix, keys) == 0;
    self->prefix = opened ? strdup (title_prefix) : NULL;
    if (!self->prefix)
        zplan_subscriber_destroy (&self);
    else
        subscriber_update (self);
    return self;
}

struct zplan_subscriber *zplan_subscriber_new (const char *endpoint, const char *title_prefix)
{
    return subscriber_new (endpoint, title_prefix, &(struct keys){0});
}

struct zplan_subscriber *zplan_subscriber_new_curve (const char *endpoint, const char *title_prefix,
                                                     const struct zplan_curve *curve)
{
    struct keys keys = {0};
    return keys_copy (&keys, curve) ? NULL : subscriber_new (endpoint, title_prefix, &keys);
}

void zplan_subscriber_destroy (struct zplan_subscriber **subscriber)
{
    if (!subscriber || !*subscriber || (*subscriber)->calling)
        return;
    struct zplan_subscriber *self = *subscriber;
    int error = errno;
    recovery_end (&self->recovery);
    listener_close (&self->listener);
    free (self->prefix);
    free (self->bytes);
    free (self);
    *subscriber = NULL;
    errno = error;
}

// -- a result

static bool read_result (const struct packet *packet, struct zplan_result *ret)
{
    struct desc desc;
    struct reason reason;
    const struct span *frames = packet->frames;
    if (packet->fault || packet->count < 2 + OWN_FRAMES ||
        desc_parse (frames[1], packet->count - 2, &desc, &reason) ||
        desc.types[0] != ZERO_FRAME_SUBTITLE || desc.types[1] != ZERO_FRAME_CONTENT)
        return false;
    *ret = (struct zplan_result){.title = frames[0].data,
                                 .title_size = frames[0].size,
                                 .status = desc.code,
                                 .id = frames[2].data,
                                 .id_size = frames[2].size,
                                 .plan = frames[3].data,
                                 .plan_size = frames[3].size,
                                 .count = (size_t)desc.count - OWN_FRAMES};
    for (size_t i = 0; i < ret->count; i++) {
        const struct span *frame = &frames[2 + OWN_FRAMES + i];
        ret->frames[i] = (struct zplan_frame){desc.types[OWN_FRAMES + i], frame->data, frame->size};
    }
    return true;
}

static void read_result_mark (struct zplan_subscriber *self)
{
    struct reason reason;
    json_t *plan = json_read_object (span_of (self->result.plan, self->result.plan_size), &reason);
    const char *epoch = json_string_value (json_object_get (plan, "epoch"));
    snprintf (self->mark_epoch, sizeof self->mark_epoch, "%s", epoch ? epoch : "");
    self->mark = (struct gap_mark){.epoch = self->mark_epoch};
    json_get_integer (plan, "seq", 1, INT64_MAX, &self->mark.seq);
    json_get_integer (plan, "exec_id", 1, INT64_MAX, &self->mark.exec_id);
    json_decref (plan);
}

bool subscriber_wants (const struct zplan_subscriber *self, struct span title)
{
    size_t size = strlen (self->prefix);
    return title.size >= size && memcmp (title.data, self->prefix, size) == 0;
}

bool subscriber_receive (struct zplan_subscriber *self, int *turns)
{
    while (*turns > 0) {
        (*turns)--;
        struct packet *packet = &self->listener.packet;
        packet_clear (packet);
        if (!packet_recv (packet, self->listener.socket, &packet_of_stations))
            return false;
        if (read_result (packet, &self->result)) {
            read_result_mark (self);
            return true;
        }
    }
    return false;
}

void subscriber_return_result (struct zplan_subscriber *self, struct zplan_result *ret)
{
    memcpy (self->epoch, self->mark_epoch, sizeof self->epoch);
    *ret = self->result;
    ret->seq = self->mark.seq;
    ret->exec_id = self->mark.exec_id;
    ret->epoch = self->epoch;
}

// -- receiving

static bool next_result (struct zplan_subscriber *self, struct zplan_result *ret)
{
    int turns = MESSAGES_A_TURN;
    if (self->recovery.client)
        return recovery_next (self, ret);
    if (!subscriber_receive (self, &turns))
        return false;
    subscriber_return_result (self, ret);
    return true;
}

int zplan_subscriber_recv (struct zplan_subscriber *subscriber, int64_t timeout_ms,
                           struct zplan_result *ret)
{
    if (!subscriber || !ret)
        return ZPLAN_ERROR_ARGUMENT;
    if (subscriber->calling)
        return ZPLAN_ERROR_NESTED;
    int64_t start_us = clock_mono_us ();
    for (;;) {
        bool received = next_result (subscriber, ret);
        subscriber_update (subscriber);
        if (received)
            return ZPLAN_OK;
        // A stream of other broadcasts must not keep the caller beyond its timeout.
        if (!listener_wait (&subscriber->listener, start_us, timeout_ms))
            return ZPLAN_ERROR_NO_ANSWER;
    }
}

int zplan_subscriber_fd (const struct zplan_subscriber *subscriber)
{
    return subscriber ? subscriber->listener.ready.epoll_fd : -1;
}
