// What the test programs of the library share.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// End the program, saying where, unless this holds.
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf (stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                       \
            exit (1);                                                                              \
        }                                                                                          \
    } while (0)
