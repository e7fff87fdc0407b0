// RESULT: what targets say about their runs, on their connections and on the request socket.
// Source: plan document 3.3(7) to (11) and 3.4; contract chapter 5.
#pragma once

#include "runs.h"

// A message of the side of a target: `target` whose connection it came on, NULL for the request
// socket; there `user` sent it, who may not send results of every station. Borrowed. Nothing is
// ever answered.
void results_take (struct station *self, struct target *target, const char *user,
                   const struct message *message);

// The same, still as a packet from a target's connection.
void results_take_packet (void *station, struct target *target, const struct packet *packet);

// The time of a vote is over: it is judged by the votes there are.
void results_end_poll (struct held_run *held);
