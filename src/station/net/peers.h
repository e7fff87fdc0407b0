// What each peer has in progress: requests that wait for Redis, and replies that it has not read.
// One that sends without reading its replies has to wait, and takes nobody else's share.
#pragma once

#include "station_state.h"

struct read;

struct peer_load {
    struct span identity; // of `bytes`, or of the peer
    int64_t count;        // requests that wait for their answers
    struct packet_debt unread;

    int reads;                 // the cost of those in flight (reads.c)
    int small_answers;         // that came last, up to those that count
    struct read *first, **end; // reads that wait
    size_t waiting_bytes;
    bool gone;                      // its last reply could not be delivered
    struct peer_load *next_waiting; // peers with some that wait

    struct peer_load *next, **place; // of all
    uint8_t bytes[];
};

// Count a request in. The identity is copied.
struct peer_load *peers_enter (struct station *self, struct span identity);

// What it has, NULL = no requests and no replies.
struct peer_load *peers_find (const struct station *self, struct span identity);

// Whether it has as many as it may.
bool peers_full (const struct station *self, const struct peer_load *load);

// Whether its requests that wait for a read (reads.h) hold as much as they may.
bool peers_wait_full (const struct station *self, const struct peer_load *load);

// Bytes of replies that a peer may leave unread, and those that all may: an eighth of max_memory,
// one of them a sixteenth of that. When that of all is used up each may have the same share.
size_t peers_unread_max (const struct station *self);
size_t peers_unread_all_max (const struct station *self);

// Send a reply. A large one is counted until libzmq has let go of it. False: it is dropped, as the
// peer is gone, its queue is full, or it has not read what it may leave unread; the last is no
// reason for one that was read for it.
enum reply_kind { REPLY_MADE, REPLY_READ };
bool peers_send (struct station *self, struct span identity, const struct message *message,
                 enum reply_kind kind);

// Forget it if it has nothing any more.
void load_settle (struct station *self, struct peer_load *load);

void peers_tick (struct station *self, int64_t now_us);

// After the context of the sockets has ended.
void peers_stop (struct station *self);
