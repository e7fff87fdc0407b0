// Points at which a test can kill the station, so that a crash between any two steps can be tested.
// Only in a build with -Dfailpoints=true; elsewhere they expand to nothing.
//   ZPLAN_FAILPOINT=NAME      the process is killed (SIGKILL) when it passes that point first
//   ZPLAN_FAILPOINT=NAME:N    when it passes it for the Nth time
#pragma once

#include <stdbool.h>

#ifdef ZPLAN_FAILPOINTS
void failpoint (const char *name);
bool failpoint_is (const char *name);
#define FAILPOINT(name)    failpoint (name)
#define FAILPOINT_IS(name) failpoint_is (name)
#else
#define FAILPOINT(name)    ((void)0)
#define FAILPOINT_IS(name) false
#endif
