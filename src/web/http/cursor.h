// Where the next page of a list begins, as an opaque text. It contains a hash of the filter of its
// list, so it is rejected with another filter; the server keeps no state for it. Pure.
#pragma once

#include <jansson.h>

#include "reason.h"

enum { CURSOR_SIZE = 256, CURSOR_POSITION_SIZE = 128 };

// Write a cursor and return `out`. `order`: a letter for what is listed; `position`: the station's
// own cursor, cut to 127 bytes.
const char *cursor_write (char order, const char *position, const json_t *filter,
                          char out[CURSOR_SIZE]);

// Read the position from a cursor. 0, or -1 with a reason: it is invalid, or of a list with another
// `order` or filter.
int cursor_read (const char *text, char order, const json_t *filter,
                 char ret_position[CURSOR_POSITION_SIZE], struct reason *reason);
