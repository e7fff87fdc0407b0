// The request socket: receives messages, separates requests from results, and dispatches them.
#pragma once

#include "station_state.h"

// Start reading the request socket.
void frontend_open (struct station *self);

// Close the request socket: another station owns the plans.
void frontend_close_socket (struct station *self);

// Read and discard the messages left in the socket; call it before the socket is closed. Without
// this libzmq 4.3.4 may abort the process when the context ends and a connection was lost while its
// messages were unread.
void frontend_drain (struct station *self);
