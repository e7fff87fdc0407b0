// Commands about the keys of flows.
#pragma once

#include "station_state.h"

// Write with a command, which joins the batch of this turn. The format makes its words, which are
// separated by blanks: no argument may have one.
void flow_redis_put (struct station *self, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

// Read with a command, as flow_redis_put writes. `reply` gets NULL when Redis is away.
void flow_redis_get (struct station *self, link_reply_fn *reply, void *owner, const char *format,
                     ...) __attribute__ ((format (printf, 4, 5)));
