// Secrets on the command line can be seen by everybody on the machine: they are written over as
// soon as they are read.
#pragma once

// Write over the keys of a target or center: what follows each ",key=".
void scrub_keys (char *text);

// Write over the password of redis_addr and the keys of stations and centers, in place.
void scrub_arguments (int argc, char **argv);
