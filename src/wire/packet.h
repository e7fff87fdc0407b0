// Multipart messages over plain libzmq calls, read frame by frame: neither libzmq nor czmq bounds
// the number of frames of one message, so the bound is here.
#pragma once

#include <zmq.h>

#include "message.h"

enum {
    PACKET_FRAMES_MAX = MESSAGE_FRAMES_MAX + 1, // and the identity a ROUTER puts first
    PACKET_BYTES_MAX = 4 << 20,                 // frames past this are counted, not kept
    FRAME_BYTES_MAX = 1 << 20                   // contract 3.1: any frame
};

enum packet_fault { PACKET_WHOLE, PACKET_TOO_MANY, PACKET_TOO_LARGE };

// A received message. The frames are borrowed from it until packet_clear.
struct packet {
    zmq_msg_t parts[PACKET_FRAMES_MAX];
    struct span frames[PACKET_FRAMES_MAX];
    size_t count;
    enum packet_fault fault; // what was over a bound: from there on all was thrown away
};

// Receive one whole message without waiting. True: there was one, and packet_clear must follow.
bool packet_recv (struct packet *self, void *socket);

void packet_clear (struct packet *self);

// Send the frames as one message without waiting. True: the socket took all of them. False: the
// peer is gone or its queue is full, and nothing was sent (both show on the first frame only).
bool packet_send (void *socket, const struct span *frames, size_t count);

// Lay out and send a message, behind the peer's identity if that is not empty.
bool packet_send_message (void *socket, struct span identity, const struct message *message);
