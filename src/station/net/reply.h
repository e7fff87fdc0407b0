// Replies to requests. Sending one releases the kept copy of the peer, and resumes reading if it
// had stopped (station_resume).
#pragma once

#include "request.h"

struct reply {
    uint8_t status;
    const char *reason; // follows the status word in STATUS, NULL = no STATUS frame
    const char *text;   // replaces both in STATUS, NULL = the word and the reason
    uint64_t plan_id;   // GLOBAL_ID frame, 0 = none
    int64_t plan_time;  // PLAN_TIME frame, 0 = none
    const char *json;   // JSON frame, NULL = none
};

// Send a reply and release what the peer owns. False: the reply was dropped, as the peer is gone or
// does not read.
bool reply_send (struct station *self, struct peer *peer, const struct reply *reply);

// Refuse a request: reply with the status of the error's class, its word and the reason.
void reply_refuse (struct station *self, struct peer *peer, enum wire_error error,
                   const char *reason);

// reply_refuse with a formatted reason.
void reply_refuse_format (struct station *self, struct peer *peer, enum wire_error error,
                          const char *format, ...) __attribute__ ((format (printf, 4, 5)));

// reply_refuse_format for a caller that is variadic itself.
void reply_refuse_arguments (struct station *self, struct peer *peer, enum wire_error error,
                             const char *format, va_list args)
    __attribute__ ((format (printf, 4, 0)));

// A copy of the peer that outlives the packet; reply_send releases it. Its request counts as
// waiting until then.
struct peer *peer_keep (struct station *self, const struct request *request);

// Count `bytes` more bytes that the peer's request holds. Call it before reads_start.
void peer_add_weight (struct station *self, struct peer *peer, size_t bytes);

// The error, with its reason, for a call of the store that did not end with STORE_DONE.
int reply_store_error (const struct station *self, enum store_result result, const char *error,
                       struct reason *reason);

// Refuse a request with the error of reply_store_error.
void reply_refuse_store (struct station *self, struct peer *peer, enum store_result result,
                         const char *error);

// Check the limits of pending work of this peer and of the station: 0, or the error for a request
// that exceeds one, with request->reason.
int reply_too_much (const struct station *self, struct request *request);
