// Random numbers for code that may run in any thread, or after a fork.
#pragma once

#include <stdint.h>
#include <sys/random.h>

// A random number, read from the kernel at each call.
static inline uint64_t random_from_kernel (void)
{
    uint64_t number;
    while (getrandom (&number, sizeof number, 0) != sizeof number) {
    }
    return number;
}
