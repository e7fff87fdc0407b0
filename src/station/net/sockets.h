// Binds the sockets of the station, with their access rules and the queue limits of libzmq.
#pragma once

#include "station_state.h"

// Check that the endpoints of the settings are valid. 0, or -1 with a reason.
int sockets_check (const struct station_settings *settings, struct reason *reason);

// Bind all sockets; those of a former owner without the request socket. 0, or -1 with a reason.
int sockets_bind (struct station *self, struct reason *reason);

// Bind the request socket, which is closed on a standby. False: the endpoint is still in use.
bool sockets_bind_request (struct station *self);

// Close both PUB sockets if a key may no longer subscribe, and bind them again. Called with each
// tick, as the endpoint may still be in use.
void sockets_rebind_publishers (struct station *self);
