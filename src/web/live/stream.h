// Events of the station, for all streams.
//
// Events of runs are read from the history; a broadcast is only the trigger: after each published
// result, and after two seconds without one, new runs are read from the history once for all
// streams. So a live event has the same bytes as a resent one. Without followers nothing is read.
#pragma once

#include "reason.h"

struct stream;
struct server;

// Create the stream and connect to the events sockets. NULL with a reason.
struct stream *stream_new (struct server *server, struct reason *reason);

// End all streams.
void stream_stop (struct stream *self);
void stream_destroy (struct stream **self);
