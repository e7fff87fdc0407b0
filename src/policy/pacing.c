#include "pacing.h"

enum { FIRST_MS = 1000, LAST_MS = 60000, DOUBLINGS_MAX = 6 };

int64_t pacing_delay_ms (int64_t failures)
{
    int64_t doublings = failures - 1 < DOUBLINGS_MAX ? failures - 1 : DOUBLINGS_MAX;
    int64_t delay = (int64_t)FIRST_MS << (doublings > 0 ? doublings : 0);
    return delay < LAST_MS ? delay : LAST_MS;
}
