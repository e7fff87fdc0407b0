// An api station: every request becomes a job, and every job goes to one worker.
#pragma once

#include "station.h"

// What it does with the messages of the request socket.
extern const struct command_table api_commands;

// Receive one message of the workers' port. False: there was none.
bool api_port_recv (struct station *station);

// Drop the workers that were silent for too long.
void api_tick (struct station *station);

// Answer every job that is still here: the station stops.
void api_stop (struct station *station);
