// The sockets of the station: bound, with the rules of who may connect and what libzmq keeps.
#pragma once

#include "station_state.h"

// Whether the endpoints of the settings are such. 0, or -1 with a reason.
int sockets_check (const struct station_settings *settings, struct reason *reason);

// Bind all of them but a former owner's request socket. 0, or -1 with a reason.
int sockets_bind (struct station *self, struct reason *reason);

// Bind the request socket, which a standby has closed. False: not yet, as the endpoint is in use.
bool sockets_bind_request (struct station *self);

// Bind what was cut, as a key may no longer subscribe. Each tick.
void sockets_renew_outlets (struct station *self);
