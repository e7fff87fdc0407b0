// RESULT: statuses and results that targets send about their runs, on their connections and on the
// request socket. Source: plan document 3.3(7) to (11) and 3.4; proto 7.3 and 7.4.
#pragma once

#include "runs.h"

// Handle a status or result of a run. `target`: it came on the connection of this target; NULL:
// `user` sent it to the request socket, and the user's key may be bound to some targets. `message`
// is borrowed. There is no reply.
void results_handle (struct station *self, struct target *target, const char *user,
                     const struct message *message);

// results_handle for an unparsed packet from a target's connection.
void results_handle_packet (void *station, struct target *target, const struct packet *packet);

// A run has timed out: decide a vote by the votes cast so far; fail any other run and notify its
// target.
void results_run_timed_out (struct active_run *active);

// The run in flight of a plan that was just loaded: the one in memory, else one made from the
// stored data. NULL: no run is in flight, or its plan cannot be read.
struct active_run *results_restore_run (struct station *self, uint64_t plan_id,
                                        const struct store_loaded *answer);
