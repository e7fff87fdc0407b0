// A pseudo-random number that is the same each time, for jitter.
#pragma once

#include <stdint.h>

// 0..most, always the same for the same seed.
uint64_t spread (uint64_t seed, uint64_t most);
