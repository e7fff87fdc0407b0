// Multipart messages over plain libzmq calls, read frame by frame: neither libzmq nor czmq limits
// the number of frames of a message, so this file does. A message that a peer never ends grows
// inside libzmq, out of reach: the proto/ chapter on security says what to do about it.
#pragma once

#include <stdatomic.h>
#include <zmq.h>

#include "message.h"

enum {
    PACKET_FRAMES_MAX = MESSAGE_FRAMES_MAX + 1, // plus the identity that a ROUTER puts first
    FRAME_BYTES_MAX = 1 << 20,                  // largest frame that a client or worker sends
    PACKET_USER_SIZE = 64
};

// The limits of a received message; the rest is dropped.
struct packet_limits {
    size_t frame_bytes;
    size_t bytes;
};

// Messages of peers to the station: 1 MiB a frame, 4 MiB in all (proto 11).
extern const struct packet_limits packet_of_peers;

// Runs and calls to a target: the limits of peers, plus what the station adds.
extern const struct packet_limits packet_of_dispatches;

// Replies and broadcasts of a trusted station: a plan as JSON may be several times as large as its
// frames. 32 MiB per frame and in all.
extern const struct packet_limits packet_of_stations;

enum packet_fault { PACKET_WHOLE, PACKET_TOO_MANY, PACKET_TOO_LARGE };

// A received message. The frames are borrowed from it until packet_clear.
struct packet {
    zmq_msg_t parts[PACKET_FRAMES_MAX + 1]; // parts[count] receives frames that are discarded
    struct span frames[PACKET_FRAMES_MAX];
    size_t count;
    enum packet_fault fault; // which limit was exceeded: all frames from there on were discarded
    char user[PACKET_USER_SIZE]; // set by packet_recv_with_user; "" = none
};

// Receive one whole message without waiting. True: there was one, and packet_clear must follow.
bool packet_recv (struct packet *self, void *socket, const struct packet_limits *limits);

// Receive one whole message from a peer of a ROUTER, as packet_recv, and store in `user` the name
// that the ZAP handler gave the peer.
bool packet_recv_with_user (struct packet *self, void *socket, const struct packet_limits *limits);

// Receive one part without waiting. True: there was one, to be closed.
bool packet_recv_part (zmq_msg_t *part, void *socket);

void packet_clear (struct packet *self);

// Send the frames as one message without waiting. True: the socket took all of them. False: the
// peer is gone or its queue is full, and nothing was sent (both are reported on the first frame
// only).
bool packet_send (void *socket, const struct span *frames, size_t count);

// Bytes that were sent and that libzmq still holds because the receiver does not read. Threads of
// libzmq decrement it: it must live until it is 0, or the context has been destroyed.
struct packet_debt {
    atomic_size_t bytes;
    struct packet_debt *all; // total in which the same bytes are counted; NULL = none
};

// packet_send_message that counts the message's bytes in the debt while libzmq holds them.
bool packet_send_counted (void *socket, struct span identity, const struct message *message,
                          struct packet_debt *debt);

// Lay out and send a message, after the peer's identity if that is not empty.
bool packet_send_message (void *socket, struct span identity, const struct message *message);
