// Prints what a run wrote, as the history keeps it, for people.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

// Print the first and last bytes, between them a line with the number of bytes that were not kept,
// and a newline at the end. On a terminal control characters are escaped.
void output_print (FILE *file, const json_t *output);

// Print the bytes of one frame, escaped on a terminal, without adding a newline. Returns whether
// the last byte was a newline.
bool output_print_frame (FILE *file, const json_t *frame);

// Copy the last line that is not empty. Returns `out`; "" if there is none, or the output is not
// text.
enum { OUTPUT_LINE_SIZE = 256 };
const char *output_last_line (const json_t *output, char out[OUTPUT_LINE_SIZE]);
