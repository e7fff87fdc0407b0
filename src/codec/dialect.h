// The dialects of the wire: the same statuses under other numbers. Only here are they turned into
// each other; the rest of the program knows the numbers of zeronet. Commands and frame types are
// the same in both.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum dialect { DIALECT_ZERONET, DIALECT_MICROZERO, DIALECTS };

const char *dialect_name (enum dialect dialect);

// False: there is none of this name.
bool dialect_parse (const char *name, enum dialect *ret);

// Our number for a status that came in this dialect. 0, and what the dialect microzero does not
// know, is ERROR.
uint8_t dialect_status_in (enum dialect dialect, uint8_t status);

// Whether the dialect has a status of this number.
bool dialect_status_known (enum dialect dialect, uint8_t status);

// The dialect's number for a status of ours. One that it does not know is its FAILED if it is an
// error, and else stays as it is.
uint8_t dialect_status_out (enum dialect dialect, uint8_t status);
