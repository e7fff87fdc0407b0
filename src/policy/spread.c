#include "spread.h"

// splitmix64: each bit of the seed reaches each bit of the result.
static uint64_t splitmix64 (uint64_t x)
{
    x += UINT64_C (0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C (0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C (0x94D049BB133111EB);
    return x ^ (x >> 31);
}

uint64_t spread_offset (uint64_t seed, uint64_t most)
{
    return most == UINT64_MAX ? splitmix64 (seed) : splitmix64 (seed) % (most + 1);
}
