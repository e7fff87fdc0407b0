// Requests whose answers may be large: each peer has few of them in flight at Redis, and all peers
// together not many; the others of a peer wait in their order, and the peers take turns. One that
// does not read its replies gets no further ones. So nobody can make Redis, or this station, hold
// more than that, or keep Redis from the others.
#pragma once

#include "request.h"

// Call `go` to ask Redis, now or later. The peer was kept; its reply ends the read. When the peer
// is gone, or the station stops, it is not called: the request is refused, and `owner` freed.
typedef void read_fn (void *owner);
void reads_start (struct station *self, struct peer *peer, read_fn *go, void *owner);

// A read is over.
void reads_end (struct station *self, struct peer_load *load, int cost);

// store_load and store_load_place for a peer that was kept. The read is over when it is answered.
void reads_load (struct station *self, struct peer *peer, uint64_t plan_id, store_loaded_fn *reply,
                 void *owner);
void reads_load_place (struct station *self, struct peer *peer, uint64_t plan_id,
                       store_loaded_fn *reply, void *owner);

// Let those go on whose peers have read their replies.
void reads_tick (struct station *self);

// Before the store is destroyed: all that wait are dropped.
void reads_stop (struct station *self);
