// A number that looks like chance and is the same each time: what jitter is made of.
#pragma once

#include <stdint.h>

// 0..most, always the same for the same seed.
uint64_t spread (uint64_t seed, uint64_t most);
