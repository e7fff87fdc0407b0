// What a run wrote, as the history keeps it, for people.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

// Its first and last bytes, with a line that counts what is not kept between them, and a newline at
// the end. On a terminal control characters are shown, not obeyed.
void output_print (FILE *file, const json_t *output);

// The bytes of one frame, in the same way, without such a newline. Whether the last one was one.
bool output_print_frame (FILE *file, const json_t *frame);

// Its last line that is not empty, in `out`; "" where there is none. Bytes that are no text give
// none.
enum { OUTPUT_LINE_SIZE = 256 };
const char *output_last_line (const json_t *output, char out[OUTPUT_LINE_SIZE]);
