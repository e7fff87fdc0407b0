// The ZAP handler: libzmq asks it, within the process, about each connection to a CURVE server.
// Source: ZeroMQ RFC 27.
#pragma once

#include "station_state.h"

// Bind the handler; before any CURVE server is bound. Nothing is done without the setting `curve`.
int zap_start (struct station *self, struct reason *reason);

// Answer from the reactor from now on. Until then who connects waits.
void zap_watch (struct station *self);

void zap_stop (struct station *self);
