// The request socket: messages are received, distinguished and dispatched.
#pragma once

#include "station_state.h"

// Read the request socket from now on.
void front_open (struct station *self);

// Close the socket: another station owns the plans.
void front_shut (struct station *self);

// Throw away what still waits in the socket, before it is closed: libzmq 4.3.4 may abort the
// process when its context ends over a connection that was cut while its messages waited to be
// read.
void front_drain (struct station *self);
