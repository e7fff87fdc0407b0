#include "ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ring_event *ring_slot (struct ring *self, int64_t place)
{
    return &self->events[place % RING_EVENTS];
}

static void drop_oldest (struct ring *self)
{
    struct ring_event *oldest = ring_slot (self, self->first++);
    if (oldest->seq > self->base)
        self->base = oldest->seq;
    self->bytes -= oldest->size;
    free (oldest->title);
    free (oldest->text);
    *oldest = (struct ring_event){.seq = 0};
}

void ring_put (struct ring *self, const struct ring_event *event)
{
    while (self->end - self->first >= RING_EVENTS ||
           (self->first < self->end && self->bytes + event->size > RING_BYTES))
        drop_oldest (self);
    *ring_slot (self, self->end++) = *event;
    self->bytes += event->size;
    if (event->seq > self->last)
        self->last = event->seq;
}

const struct ring_event *ring_at (const struct ring *self, int64_t place)
{
    return place >= self->first && place < self->end ? &self->events[place % RING_EVENTS] : NULL;
}

void ring_reset (struct ring *self, const char *epoch, int64_t last)
{
    while (self->first < self->end)
        drop_oldest (self);
    self->base = self->last = last;
    snprintf (self->epoch, sizeof self->epoch, "%s", epoch);
}
