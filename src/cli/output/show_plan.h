// The rows of `zplan show`: a label and what stands behind it.
#pragma once

#include <jansson.h>

// A row of a frame; none where it is absent or empty.
void show_text (const char *label, const json_t *frame);

// A row of an instant, Unix seconds; NULL or 0: "-".
void show_moment (const char *label, const json_t *seconds);

// Which plan it is, what it calls, and its schedule.
void show_what (const json_t *plan);

// Its state as text, with who stopped it.
void show_state (const json_t *plan);

// Its counts, its last run and its policies.
void show_how (const json_t *plan);
