// Headers that a submitter may add to a callback.
#pragma once

#include "reason.h"

enum { CALLBACK_HEADERS_MAX = 8, CALLBACK_HEADER_NAME_MAX = 64, CALLBACK_HEADER_VALUE_MAX = 256 };

// A token of at most 64 bytes that is none of the headers which the sender, proxies or receivers
// rely on, and a value of at most 256 bytes of 20 to 7E hex. 0, or -1 with the reason.
int callback_header_check (struct span name, struct span value, struct reason *reason);
