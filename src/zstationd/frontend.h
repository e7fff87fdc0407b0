// The request socket: classifies requests, and dispatches them to the station's type.
#pragma once

#include "station.h"

// Receive and handle one message. False: there was none.
bool frontend_recv (struct target_server *station);

// Make a job of a request for workers. NULL: it was rejected because it has no COMMAND or the
// station is stopping, or dropped because it is a run whose deadline is past.
struct job *frontend_make_job (struct target_server *station, const struct target_request *request);

// Destroy, count and log a run whose deadline is past; it is not answered, since it is resent.
void frontend_drop_late_run (struct target_server *station, struct job *job);

// Handle the call if its COMMAND is an admin command (admin_commands.c). False: it is for a worker.
// Forwarded calls and those of plans are always for a worker: only a directly connected requester
// may use admin commands.
bool frontend_handle_admin_command (struct target_server *station,
                                    const struct target_request *request);
