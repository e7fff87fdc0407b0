// Prints bytes from peers so that none of them reaches the terminal as a control sequence.
#pragma once

#include <jansson.h>

#include "json_names.h"
#include "display.h"
#include "span.h"
#include "verbs.h"

// Print bytes to stdout: printable UTF-8 unchanged; control characters, including C1 and those that
// change the writing direction, backslashes and invalid UTF-8 as \xHH.
void print_bytes (struct span bytes);

// Print bytes as print_bytes does, between two trusted texts.
void print_between (const char *before, struct span bytes, const char *after);

// Write bytes to a file, escaped as by print_bytes; the second function writes the ASCII characters
// of `allowed` unchanged, the third one adds a colour.
void write_bytes (FILE *file, struct span bytes);
void write_bytes_allowing (FILE *file, struct span bytes, const char *allowed);
void write_coloured (FILE *file, enum colour colour, struct span bytes);

// Open a file in memory. Its text is complete after fclose, and the caller frees it.
FILE *text_open (char **ret_text, size_t *ret_size);

// Write an error or reason. Names in it are already quoted, so backslashes are not escaped.
void write_error (FILE *file, struct span text);

// Write bytes as one argument of a shell: quoted, if necessary.
void write_argument (FILE *file, struct span bytes);

// Print an error to stderr, as a whole line: "zplan: [subject: ]bytes". `subject` may be NULL.
// Returns EXIT_REFUSED.
int complain (const char *subject, struct span bytes);

// Print an error of a line of a file as complain does.
void complain_line (const char *file, int64_t line, struct span bytes);

// Decode a frame from the station's JSON, where it is a string or {"b64": "..."}. Free the bytes.
// NULL, and size 0: it is no frame.
uint8_t *frame_bytes (const json_t *value, size_t *ret_size);

// Write such a frame; "-" if it is none.
void write_frame (FILE *file, const json_t *value);

// Write `before` and the reason of a run of the history: the frame of its result without the status
// word, which is shown separately. Nothing if the frame has only the status.
void write_reason (FILE *file, const char *before, const json_t *run);

// Print a text padded to its column, and a blank; a longer one is not cut.
void print_column (struct span text, int width);

// Whether the bytes begin with this text.
bool bytes_begin (struct span bytes, const char *text);

// The bytes of a JSON string; empty for any other value.
struct span text_of (const json_t *string);

// A member of an object: field_number returns a number, 0 unless it is an integer; field_text a
// text, empty unless it is a string; field_is_true whether it is true.
json_int_t field_number (const json_t *object, const char *name);
struct span field_text (const json_t *object, const char *name);
bool field_is_true (const json_t *object, const char *name);

// Write compact JSON in printable ASCII: control characters are escaped, DEL among them.
void write_json (FILE *file, const json_t *value);
void print_json (const json_t *value); // as a line
void print_json_new (json_t *value);   // as a line; takes ownership of the value

// Print the answer for --json as a line: with the names of json_names.h, or with --json=wire
// unchanged. print_answer_new takes ownership of `wire`.
void print_answer (const struct cli *cli, enum json_kind kind, const json_t *wire);
void print_answer_new (const struct cli *cli, enum json_kind kind, json_t *wire);

// Convert a plan from the station for programs: a new object with `id`, in the form that the verbs
// accept, then `state` and `type` as words, then the fields of the wire.
json_t *plan_object (const json_t *plan);
// Print plan_object as a line, with the names that --json selects.
void print_plan (const struct cli *cli, const json_t *plan);

// Texts for the numbers of a plan: a word, or the number itself if it has no word, or "-" if there
// is no number. A text is a constant, or in one of sixteen buffers that are used in turn.
const char *time_cell_text (const json_t *seconds);    // style of --times in a table
const char *time_line_text (const json_t *seconds);    // on its own line
const char *time_rfc3339_text (const json_t *seconds); // RFC 3339, for programs
const char *duration_between_text (const json_t *from, const json_t *to); // "1.250 s"
const char *id_hex_text (const json_t *id);
const char *state_wire_text (const json_t *state);  // the wire's word
const char *state_plain_text (const json_t *state); // for people: "queued"
const char *verdict_name_text (const json_t *verdict);
const char *number_cell_text (const json_t *number);

// The states, separated by spaces, for the option tables: the words for people, and those of the
// wire.
#define STATE_WORDS      "queued running retrying paused failed closed"
#define WIRE_STATE_WORDS "none queue execute retry skip pause error close"

// The words of verdicts.
#define VERDICT_WORDS "failure pending manual cancelled"

enum colour state_colour (const json_t *state);
enum colour status_colour (const json_t *status);
