// Limits requests whose answers may be large. Few of them are in flight at Redis for each peer, and
// a bounded number for all peers together. The others wait: in order within a peer, while the peers
// take turns. A peer that does not read its replies gets no further ones. This bounds the memory of
// Redis and of the station, and no peer can block the others.
#pragma once

#include "request.h"

// Call `ask`, which asks Redis, now or later. The peer must be a copy of peer_keep; its reply ends
// the read. If the peer is gone or the station stops, `ask` is not called: the request is rejected
// and `owner` is freed.
typedef void read_fn (void *owner);
void reads_start (struct station *self, struct peer *peer, read_fn *ask, void *owner);

// End a read of this cost and start waiting ones. May free the load.
void reads_end (struct station *self, struct peer_load *load, int cost);

// store_load as a limited read, which ends when the store answers. The peer must be a copy of
// peer_keep.
void reads_load (struct station *self, struct peer *peer, uint64_t plan_id, store_loaded_fn *reply,
                 void *owner);
// store_load_place as a limited read, with the rules of reads_load.
void reads_load_place (struct station *self, struct peer *peer, uint64_t plan_id,
                       store_loaded_fn *reply, void *owner);

// Start one waiting read of each peer in turn, as long as the limits allow.
void reads_start_waiting (struct station *self);

// Drop all waiting reads; call it before the store is destroyed.
void reads_stop (struct station *self);
