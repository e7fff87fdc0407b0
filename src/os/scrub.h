// Overwrites secrets on the command line, which every user of the machine can see, as soon as they
// have been read.
#pragma once

// Overwrite the keys of a target or center: the text after each ",key=".
void scrub_keys (char *text);

// Overwrite the password of redis_addr and the keys of stations and centers, in place.
void scrub_arguments (int argc, char **argv);
