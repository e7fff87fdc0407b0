// A request and its peer.
#pragma once

#include "station_state.h"

// The peer, and what its reply repeats: identity, REQUESTER, REQUEST_ID. Borrowed from a packet, or
// owned after peer_keep.
struct peer {
    struct span identity;
    enum envelope envelope;
    bool has_requester, has_request_id;
    struct span requester;
    struct span request_id;
    struct frames *kept;         // owned bytes of a copy; NULL while borrowed
    char user[PACKET_USER_SIZE]; // its public key, "" = without CURVE
    // Set by peer_keep only:
    struct peer_load *load; // the load of the peer
    int read_cost;          // cost of the read in flight that the reply ends
    bool has_read;          // the reply was read from Redis
    size_t weight;          // bytes that the request holds at most
};

enum { ARGS_MAX = 8 };

struct request {
    struct peer peer;
    struct message message;
    // Of an admin command:
    int number; // distinguishes commands with the same function
    size_t arg_count;
    struct span args[ARGS_MAX];
    struct reason reason; // why it is rejected
};
