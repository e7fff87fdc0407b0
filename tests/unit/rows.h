// Shared by the unit tests: checks that name their row, bytes, and random numbers.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "span.h"

#define ROWS(table) (sizeof (table) / sizeof *(table))

// Fail with the name of the row unless the condition holds.
#define CHECK(name, condition)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg ("%s: not so: %s", name, #condition);                                         \
    } while (0)

// Fail with the name of the row and both integers unless they are equal.
#define CHECK_INT(name, got, want)                                                                 \
    do {                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                              \
        if (got_ != want_)                                                                         \
            fail_msg ("%s: %s: want %lld, got %lld", name, #got, want_, got_);                     \
    } while (0)

// Fail with the name of the row and both texts unless they are equal.
#define CHECK_TEXT(name, got, want)                                                                \
    do {                                                                                           \
        const char *got_ = (got), *want_ = (want);                                                 \
        if (strcmp (got_, want_) != 0)                                                             \
            fail_msg ("%s: want \"%s\", got \"%s\"", name, want_, got_);                           \
    } while (0)

// A span initializer of a string literal, NULs inside included.
#define BYTES(literal)                                                                             \
    {                                                                                              \
        (const uint8_t *)(literal), sizeof (literal) - 1                                           \
    }

// A copy of the bytes in a block of exactly their size, so that the sanitizer sees a read past
// them; also for an empty span. free () it.
static inline uint8_t *exact_bytes (struct span bytes)
{
    uint8_t *copy = malloc (bytes.size ? bytes.size : 1);
    if (!copy)
        abort ();
    if (bytes.size)
        memcpy (copy, bytes.data, bytes.size);
    return copy;
}

// A small generator of random numbers, whose seed can be printed to repeat a test anywhere.
static inline uint64_t next_random (uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}
