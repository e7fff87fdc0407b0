#include "random.h"

#include <sys/random.h>

uint64_t random_from_kernel (void)
{
    uint64_t number;
    while (getrandom (&number, sizeof number, 0) != sizeof number) {
    }
    return number;
}
