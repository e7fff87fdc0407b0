// SHA-1, where texts in Redis have it by promise: sums of callers and reports. For nothing that has
// to withstand an attacker.
#pragma once

#include "span.h"

enum { SHA1_SIZE = 20 };

// The sum of the parts, one after the other.
void sha1_sum (const struct span *parts, size_t count, uint8_t out[SHA1_SIZE]);
