// The request socket: messages in, told apart and handed on; replies out.
#pragma once

#include "core.h"

// Who asked, and what its reply repeats: identity, REQUESTER, REQUEST_ID. Borrowed from a packet,
// or owned after peer_keep.
struct peer {
    struct span identity;
    enum envelope envelope;
    bool has_requester, has_request_id;
    struct span requester;
    struct span request_id;
    struct frames *kept;         // owned bytes of a copy
    struct peer *copy;           // itself, to be freed; NULL while borrowed
    char user[PACKET_USER_SIZE]; // its public key, "" = without CURVE
    struct load *load;           // of a copy: what its peer has under way
    int read_cost;               // of a copy: of the read under way that its reply ends
    bool has_read;               // of a copy: its reply was read from Redis
    size_t weight;               // of a copy: bytes that the request holds at most
};

struct request {
    struct peer peer;
    struct message message;
};

struct reply {
    uint8_t status;
    const char *reason; // behind the status word, NULL = no STATUS frame
    const char *text;   // what STATUS holds instead, NULL = the word and the reason
    uint64_t plan_id;   // GLOBAL_ID frame, 0 = none
    int64_t plan_time;  // PLAN_TIME frame, 0 = none
    const char *json;   // JSON frame, NULL = none
};

// Read the request socket from now on.
void front_open (struct station *self);

// Throw away what still waits in the socket, before it is closed: libzmq 4.3.4 may abort the
// process when its context ends over a connection that was cut while its messages waited to be
// read.
void front_drain (struct station *self);

// Read on, here and from the targets, when the store has room again; call it when a call of the
// store was answered.
void front_resume (struct station *self);

// Send a reply and release what the peer owns. False: the peer is gone, or reads nothing.
bool front_reply (struct station *self, struct peer *peer, const struct reply *reply);

// The reply to a refused request: the status of the error's class, the word and the reason.
void front_refuse (struct station *self, struct peer *peer, enum wire_error error,
                   const char *reason);

// A copy of the peer that outlives the packet; front_reply releases it. Its request counts as
// waiting until then.
struct peer *peer_keep (struct station *self, const struct request *request);

// Its request holds so many bytes more. Call before reads_start.
void peer_weigh (struct station *self, struct peer *peer, size_t bytes);

// Why the store does not answer, as a refusal: NET_ERROR with the reason.
void front_refuse_store (struct station *self, struct peer *peer, enum store_result result,
                         const char *error);

// Whether this peer, or the station, has all the work that it may have: the request was refused.
bool front_too_much (struct station *self, struct request *request);
