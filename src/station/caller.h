// Who is kept as the caller of a plan.
//
// libzmq 4.3.4 numbers peers without an identity of their own one after the other, and aborts when
// a peer has taken the next number for its own: who knows one number can end the process. So such
// an identity is shown to nobody - the caller stands in lists, dispatches and broadcasts - but a
// name in its place: the same for the whole connection, of the same form, and telling nothing of
// it.
#pragma once

#include "request.h"

enum { CALLER_MASKED_SIZE = 5 };

// The caller that a forwarding station names, else the peer itself (plan document 1.3). `mask` is
// room for a masked identity; the result borrows from it or from the request.
struct span caller_of (struct station *self, const struct request *request,
                       uint8_t mask[CALLER_MASKED_SIZE]);
