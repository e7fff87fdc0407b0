// The request socket: tells what a message is and finds the command for it.
#pragma once

#include "station.h"

// Receive one message and carry it out by this table. False: there was none.
bool front_recv (struct station *station, const struct command_table *commands);

// The command PING: is anybody there.
void front_ping (struct station *station, const struct request *request);
