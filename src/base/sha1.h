// SHA-1, only where the documented formats in Redis require it: digests of callers and reports. Not
// for security.
#pragma once

#include "span.h"

enum { SHA1_SIZE = 20 };

// The digest of the concatenated parts.
void sha1_sum (const struct span *parts, size_t count, uint8_t out[SHA1_SIZE]);
