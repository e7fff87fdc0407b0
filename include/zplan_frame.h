// Frames of messages, and the keys of a connection.
#ifndef ZPLAN_FRAME_H
#define ZPLAN_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "zplan_codes.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ZPLAN_FRAMES_MAX = 32 // frames of one message
};

// A frame of a message. The bytes are borrowed.
struct zplan_frame {
    uint8_t type; // ZERO_FRAME_...
    const void *data;
    size_t size;
};

// The keys of an encrypted connection (CURVE), each 40 characters of Z85; `zplan keygen` makes a
// pair. A station with an allow-list does not answer a client whose public key is not in it; to
// that client it looks like a station that does not answer. Where several endpoints are given the
// stations may share one certificate; else `server_key` is the list of their keys, in the order of
// the endpoints and with a comma between two of them.
struct zplan_curve {
    const char *server_key; // the station's public key
    const char *public_key; // the client's public key
    const char *secret_key; // the client's secret key, the other half of its pair
};

#ifdef __cplusplus
}
#endif

#endif
