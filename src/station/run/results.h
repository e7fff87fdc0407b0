// RESULT: what targets say about their runs, on their connections and on the request socket.
// Source: plan document 3.3(7) to (11) and 3.4; proto 7.3 and 7.4.
#pragma once

#include "runs.h"

// A status or result of a run. `target`: whose connection it came on; NULL: the request socket,
// where `user` sent it, whose key may be bound to some targets. Borrowed. There is no reply.
void results_take (struct station *self, struct target *target, const char *user,
                   const struct message *message);

// The same, still as a packet from a target's connection.
void results_take_packet (void *station, struct target *target, const struct packet *packet);

// A run has timed out: a vote is decided by the votes cast; any other run fails, and its target is
// notified.
void results_end_run (struct active_run *active);

// The run in flight of a plan that was just read from the store: as it is in memory, else made from
// what is stored. NULL: no run is in flight, or its plan cannot be read.
struct active_run *results_recall (struct station *self, uint64_t plan_id,
                                   const struct store_loaded *answer);
