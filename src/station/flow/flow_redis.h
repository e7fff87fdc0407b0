// Commands about the keys of flows.
#pragma once

#include "station_state.h"

// Write with a command, which joins the batch of this turn. The formatted text is split into words
// at blanks, so no argument may contain one.
void flow_redis_put (struct station *self, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

// Read with a command of the same format. `reply` gets NULL when Redis is away.
void flow_redis_get (struct station *self, link_reply_fn *reply, void *owner, const char *format,
                     ...) __attribute__ ((format (printf, 4, 5)));
