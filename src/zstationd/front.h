// The request socket: classifies a message, finds the command for it, makes a job of it.
#pragma once

#include "station.h"

// Receive one message and carry it out. False: there was none.
bool front_recv (struct target_server *station);

// A request for workers as a job. NULL: it was refused, having no COMMAND or coming when the
// station is to stop; or it is a run whose deadline is past and was dropped.
struct job *front_job (struct target_server *station, const struct target_request *request,
                       enum job_kind kind);

// Drop a run whose deadline is past.
void front_drop_late (struct target_server *station, struct job *job);

// The command PING: is anybody there.
void front_ping (struct target_server *station, const struct target_request *request);

// Handle the call if its COMMAND is an admin command (words.c). False: it is for a worker, as are
// all calls that were forwarded or are of plans: only a connected requester may use these.
bool words_take (struct target_server *station, const struct target_request *request);
