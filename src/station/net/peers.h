// The load of each peer: requests that wait for Redis, and replies that the peer has not read. A
// peer that sends requests without reading its replies has to wait, at no cost to the others.
#pragma once

#include "station_state.h"

struct read;

struct peer_load {
    struct table_node node;    // first: its address is that of the load
    struct span identity;      // points to `bytes`
    int64_t requests;          // its requests that are not answered yet
    struct packet_debt unread; // bytes of replies that libzmq holds

    int reads_cost;            // total cost of its reads in flight (reads.c)
    int small_answers;         // small answers to its last reads, in a row (reads.c)
    struct read *first, **end; // queue of waiting reads
    size_t waiting_bytes;
    bool gone;                      // its last reply could not be delivered
    struct peer_load *next_waiting; // list of the peers with waiting reads

    uint8_t bytes[];
};

// Count a new request of the peer. The identity is copied.
struct peer_load *peers_count_request (struct station *self, struct span identity);

// The load of the peer; NULL: it has no requests and no replies.
struct peer_load *peers_find (const struct station *self, struct span identity);

// Whether the bytes of its requests that wait for a read (reads.h) have reached their limit.
bool peers_wait_full (const struct station *self, const struct peer_load *load);

// Limits of the bytes of unread replies: for all peers an eighth of max_memory, for one peer a
// sixteenth of that. When the common limit is reached it is divided equally among the peers.
size_t peers_unread_max (const struct station *self);
size_t peers_unread_total_max (const struct station *self);

// Send a reply. A large one is counted until libzmq has released it. False: the reply is dropped,
// as the peer is gone, its queue is full, or it has too many unread bytes. That limit does not
// apply to a REPLY_READ, which was read from Redis for this peer.
enum reply_kind { REPLY_MADE, REPLY_READ };
bool peers_send (struct station *self, struct span identity, const struct message *message,
                 enum reply_kind kind);

// Free the load if the peer has neither requests nor replies left.
void peers_free_if_idle (struct station *self, struct peer_load *load);

// Free the loads of idle peers, at most once a second. `now_us` is monotonic.
void peers_tick (struct station *self, int64_t now_us);

// Free all loads. Call it after the context of the sockets has ended, which updates `unread`.
void peers_stop (struct station *self);
