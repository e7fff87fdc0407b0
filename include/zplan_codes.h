// The numbers of the wire, under the names of the plan document. Command, status and frame type are
// unsigned bytes; the same number means different things in a request and in a reply.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum {
#define ZPLAN_COMMAND(name, value, word)             ZERO_BYTE_COMMAND_##name = value,
#define ZPLAN_STATUS(name, zeronet, microzero, word) ZERO_STATUS_##name##_ID = zeronet,
#define ZPLAN_FRAME(name, zeronet, microzero, word)  ZERO_FRAME_##name = zeronet,
#include "zplan_codes.def"
    ZERO_FRAME_TEXT = ZERO_FRAME_CONTENT,
    ZERO_FRAME_PUBLISHER = ZERO_FRAME_REQUESTER,
    ZERO_FRAME_SUBSCRIBER = ZERO_FRAME_RESPONSER,
    // A status of this value or above is an error (plan document 3.4).
    ZERO_STATUS_ERROR_FLAG = 0x80
};

// The kinds of events (proto/subscribers.md).
enum zplan_event_code {
#define ZPLAN_EVENT(name, value, word) ZPLAN_EVENT_##name = value,
#include "zplan_codes.def"
    ZPLAN_EVENT_LAST = ZPLAN_EVENT_FLOW
};

#ifdef __cplusplus
}
#endif
