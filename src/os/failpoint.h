// Points at which a test can kill the station, so that a crash between any two steps can be tested.
// Only in a build with -Dfailpoints=true; elsewhere they expand to nothing. An environment variable
// selects one:
//   ZPLAN_FAILPOINT=NAME      the process kills itself (SIGKILL) when it first reaches that point
//   ZPLAN_FAILPOINT=NAME:N    the process kills itself when it reaches that point for the Nth time
#pragma once

#include <stdbool.h>

#ifdef ZPLAN_FAILPOINTS
// Kill the process if the variable selects this point, and its count is reached.
void failpoint (const char *name);

// Whether the variable selects this point, for tests of something else than a kill.
bool failpoint_is (const char *name);
#define FAILPOINT(name)    failpoint (name)
#define FAILPOINT_IS(name) failpoint_is (name)
#else
#define FAILPOINT(name)    ((void)0)
#define FAILPOINT_IS(name) false
#endif
