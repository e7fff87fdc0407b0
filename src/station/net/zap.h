// The ZAP handler, which libzmq asks within the process about each connection to a CURVE server.
// Source: ZeroMQ RFC 27.
#pragma once

#include "station_state.h"

// Bind the handler; call it before any CURVE server is bound. Does nothing without the setting
// `curve`.
int zap_start (struct station *self, struct reason *reason);

// Start answering, from the reactor. Until then connecting clients wait.
void zap_watch (struct station *self);

void zap_stop (struct station *self);
