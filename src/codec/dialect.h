// The dialects of the wire: the same statuses with different numbers. They are converted only here;
// the rest of the program uses zeronet's numbers. Commands and frame types are the same in both.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum dialect { DIALECT_ZERONET, DIALECT_MICROZERO, DIALECTS };

const char *dialect_name (enum dialect dialect);

// False: no dialect has this name.
bool dialect_parse (const char *name, enum dialect *ret);

// Zeronet's number for a status received in this dialect. 0, and a status unknown to the dialect
// microzero, become ERROR.
uint8_t dialect_status_in (enum dialect dialect, uint8_t status);

// Whether the dialect has a status of this number.
bool dialect_status_known (enum dialect dialect, uint8_t status);

// The dialect's number for a status of zeronet. An error that the dialect does not know becomes its
// FAILED; any other unknown status is unchanged.
uint8_t dialect_status_out (enum dialect dialect, uint8_t status);
