// The code tables: words for numbers, and the status of each class of error.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "status.h"
#include "zplan_codes.h"

// The status word of the wire ("+ok", "-plan error"). A number without a word of its own is
// "-error" or "+ok" by its class.
const char *status_word (uint8_t status);

// The status's name ("NOT_WORKER"), or NULL.
const char *status_name (uint8_t status);

// A station that does not serve rejects every request with NET_ERROR and one of these reasons, and
// processes none.
#define STATION_IS_STOPPING "the station is stopping"
#define STATION_STANDS_BY   "another station owns the plans"

// The frame type's name ("COMMAND"), or NULL.
const char *frame_name (uint8_t type);

// The word of an enum zplan_event_code ("add"); "?" for another number.
const char *event_word (int event);

// Whether a frame of this type in an answer is output of the run: CONTENT, JSON, XML or BIN.
bool frame_is_output (uint8_t type);

// The wire status for a negative enum wire_error.
uint8_t status_of_error (enum wire_error error);
