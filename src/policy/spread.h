// Reproducible pseudo-random numbers, for jitter.
#pragma once

#include <stdint.h>

// A number in 0..most, always the same one for the same seed.
uint64_t spread_offset (uint64_t seed, uint64_t most);
