// Forwards late answers from a former owner to the new one. For ten seconds the former owner keeps
// the connections to its targets. It forwards the answers that arrive on them, and those that it
// has read but could not write, to the request socket of the new owner, which treats them as any
// other result on that socket.
//
// A former owner is destroyed and created again as a standby, so this object outlives a station: it
// belongs to the program. Its sockets have a context of their own, as the context of a station ends
// with the station. A connection by identity is not kept: the new owner connects with the same
// identity and gets the answers itself.
#pragma once

#include "station_state.h"

// Start forwarding: the station was fenced and reads nothing more. Ends a forwarding that is still
// in progress from an earlier fencing.
void forward_begin (struct station *station);

// Forward an answer to a run of this plan that could not be written. `message` is borrowed, and has
// its status in the station's own numbers.
void forward_add_answer (struct station *station, uint64_t plan_id, const struct message *message);

// The station is about to end and uses no target any more: take over their connections.
void forward_take_targets (struct station *station);

// The request socket is about to be closed: take over the unread results.
void forward_take_requests (struct station *station);

// Attach a new station, which can be asked who owns the plans; detach it before it ends.
void forward_attach (struct station *station);
void forward_detach (struct station *station);
