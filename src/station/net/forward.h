// Answers to runs of a former owner: for ten seconds the connections of its targets stay, and the
// answers on them are forwarded to the request socket of the new owner, together with those that
// were read and could not be written. The new owner judges them as any other result on that socket.
//
// A former owner drops everything and is created again as a standby, so this lives longer than a
// station: it belongs to the program. The sockets are of a context of their own, as that of a
// station ends with it. A connection by identity is not kept: the new owner connects with the same
// identity, and answers go there.
#pragma once

#include "station_state.h"

// The station was fenced: it reads nothing more. What an earlier time left ends.
void forward_begin (struct station *station);

// An answer to a run of this plan that could not be written; borrowed. `message` has its status in
// our numbers.
void forward_keep (struct station *station, uint64_t plan_id, const struct message *message);

// The station is about to end, and no target of it is used any more: take their connections.
void forward_take_targets (struct station *station);

// The request socket is about to be closed: take the results that were not read.
void forward_take_requests (struct station *station);

// A station is there, and may be asked who owns the plans; it is about to end.
void forward_attach (struct station *station);
void forward_detach (struct station *station);
