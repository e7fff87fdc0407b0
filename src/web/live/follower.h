// One who follows what happens at the station: server-sent events.
#pragma once

#include "exchange.h"

// Answer the route with a stream, which begins after the event that the request names.
void api_stream (struct exchange *exchange);
