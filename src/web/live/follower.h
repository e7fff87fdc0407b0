// One stream of server-sent events with what happens at the station.
#pragma once

#include "exchange.h"

// Answer the request with a stream, which begins after the event that is named.
void api_stream (struct exchange *exchange);
