// Headers that a submitter may add to a callback.
#pragma once

#include "reason.h"

enum { CALLBACK_HEADERS_MAX = 8, CALLBACK_HEADER_NAME_MAX = 64, CALLBACK_HEADER_VALUE_MAX = 256 };

// Check a header. The name is a token of at most 64 bytes, and none of the headers that the sender,
// proxies or receivers rely on; the value has at most 256 bytes of 20 to 7E hex. 0, or -1 with the
// reason.
int callback_header_check (struct span name, struct span value, struct reason *reason);
