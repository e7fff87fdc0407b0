// Overwrites secrets on the command line, which every user of the machine can see. The programs do
// this as soon as they have read the arguments.
#pragma once

// Overwrite the key in the address of a target or center, in place: the text after each ",key=".
void scrub_keys (char *text);

// Overwrite the password of redis_addr and the keys of targets and centers, in place.
void scrub_arguments (int argc, char **argv);
