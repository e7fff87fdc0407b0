// What a run wrote, as plan:output keeps it: the first and the last bytes of a text. Pure.
//
// An entry of the stream is of one or more outcomes of the history: its id is that of the last of
// them, and each of its fields `o` is one text: "STATION:PLAN EXEC_ID SIZE HEAD\n" and the bytes,
// ids in hex. SIZE is how long the text was, HEAD how many of the bytes are its first ones; the
// rest are its last ones, or all when nothing was cut.
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "span.h"

// At most `keep` bytes of the text, cut between characters of UTF-8. Free it.
char *output_make (struct span station, uint64_t plan_id, uint64_t exec_id, struct span text,
                   size_t keep, size_t *ret_size);

// {"size": N, "head": TEXT} of this run, and "tail" where the middle was cut out; bytes that are no
// UTF-8 as {"b64"}. NULL: it is of another run, or none of ours.
json_t *output_json (struct span output, uint64_t exec_id);

// The packed form of what output_json gave, for another station's store. Free it.
// NULL: `output` is not an output.
char *output_from_json (struct span station, uint64_t plan_id, uint64_t exec_id,
                        const json_t *output, size_t *ret_size);
