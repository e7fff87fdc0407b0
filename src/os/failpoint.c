#include "failpoint.h"

#ifdef ZPLAN_FAILPOINTS

#include <signal.h>
#include <stdlib.h>
#include <string.h>

bool failpoint_is (const char *name)
{
    const char *wanted = getenv ("ZPLAN_FAILPOINT");
    size_t size = strlen (name);
    return wanted && strncmp (wanted, name, size) == 0 &&
           (wanted[size] == '\0' || wanted[size] == ':');
}

void failpoint (const char *name)
{
    static long passed;
    if (!failpoint_is (name))
        return;
    const char *colon = strchr (getenv ("ZPLAN_FAILPOINT"), ':');
    long nth = colon ? strtol (colon + 1, NULL, 10) : 1;
    if (++passed == nth)
        raise (SIGKILL);
}

#else

typedef int failpoint_none; // ISO C forbids an empty translation unit

#endif
