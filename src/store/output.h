// The output of a run as stored in plan:output: the first and the last bytes of a text. Pure.
//
// A stream entry holds the output of one or more outcomes of the history, and has the id of the
// last of them. Each of its fields `o` is one output: "STATION:PLAN EXEC_ID SIZE HEAD\n" and the
// bytes, ids in hex. SIZE is the original length of the text. The first HEAD bytes are the start of
// the text, the rest its end; if nothing was cut, they are all of it.
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "span.h"

// Pack at most `keep` bytes of the text, cut between UTF-8 characters. Free the result.
char *output_make (struct span station, uint64_t plan_id, uint64_t exec_id, struct span text,
                   size_t keep, size_t *ret_size);

// The output of this run as {"size": N, "head": TEXT}, with "tail" if the middle was cut out; bytes
// that are not UTF-8 as {"b64"}. A new reference. NULL: it is the output of another run, or
// invalid.
json_t *output_json (struct span output, uint64_t exec_id);

// Pack what output_json of another station returned, to store it here. Free the result. NULL:
// `output` is invalid.
char *output_from_json (struct span station, uint64_t plan_id, uint64_t exec_id,
                        const json_t *output, size_t *ret_size);
