// Saturating arithmetic: instead of overflowing, a result is UINT64_MAX.
#pragma once

#include <stdint.h>

static inline uint64_t saturate_add (uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t saturate_multiply (uint64_t a, uint64_t b)
{
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}
