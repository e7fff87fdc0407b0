// The names that people and programs read in JSON, made from those of the wire: an id is hex text
// (`id` of a plan, `plan` of something else, `exec_id` of a run), a state or status is a word, an
// instant is RFC 3339 in UTC with milliseconds (`..._at`), a duration is seconds (`..._s`). What a
// submitter writes (plan document 5.2) keeps its name, inside `spec`. Pure.
//
//     json_t *names = json_names (JSON_PLAN, answer);   // what `zplan --json` prints
//
// A verb prints through print_answer (print.h), which does this unless --json=wire was given. A new
// wire field gets a row of the table in json_names.c and a row of tests/unit/test_json_names.c; one
// without a row keeps its name and value.
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "json_scan.h"

enum json_kind {
    JSON_PLAN,   // a plan as `list` and `message` show it
    JSON_RUN,    // an outcome of the history, or a result that was published
    JSON_TARGET, // a target as `station list` and the `targets` of `stats` show it
    JSON_ANSWER, // anything else: `stats`, `health`, `why`, `team`, the result of a command
};

// Consume the next JSON value of `wire`, and append it to `text` with the names for people. Each
// item of a list is converted. False: the value is invalid; what was appended is incomplete.
bool json_names_take (enum json_kind kind, struct json_scan *wire, struct json_text *text);

// Convert a tree: an object, each item of a list; any other value is returned unchanged. A new
// reference. `wire` is borrowed and not modified.
json_t *json_names (enum json_kind kind, const json_t *wire);
