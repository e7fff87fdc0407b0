// Parses definitions of flows. Large ones are parsed on a separate thread, one at a time, so that
// they do not delay dispatch. The callback is called once, possibly before the call returns.
#pragma once

#include "flow_names.h"
#include "reactor.h"

enum { FLOW_PARSE_HERE = 65536 }; // larger texts are parsed on the thread

// The names that a definition may use. The parse owns it: the thread reads a private copy.
struct flow_known {
    struct flow_names flows;
    char (*targets)[FLOW_NAME_MAX + 1]; // targets that are not flows, sorted
    size_t target_count;
    bool any_target;   // accept any other name as a target, too
    bool was_accepted; // it was accepted by an earlier put: do not report cycles
    bool only_json;    // only check that it is valid JSON
};

void flow_known_clear (struct flow_known *self);

// If `flow` is NULL, `errors` is what flow_parse reports, or NULL if the parse was abandoned. The
// callee owns both.
typedef void flow_parsed_fn (void *owner, struct flow *flow, json_t *errors);

struct flow_parser;

struct flow_parser *flow_parser_new (struct reactor *reactor);

// Abandons all pending parses.
void flow_parser_destroy (struct flow_parser **self);

// Copies `text` and takes over `known`. FLOW_PARSE_FIRST: parse it before all pending ones.
enum flow_parse_turn { FLOW_PARSE_FIRST, FLOW_PARSE_LAST };
void flow_parser_ask (struct flow_parser *self, struct span text, struct flow_known *known,
                      enum flow_parse_turn turn, flow_parsed_fn *parsed, void *owner);

// Destroy an unused flow, a large one on the thread: that takes half as long as parsing it.
void flow_parser_reap (struct flow_parser *self, struct flow *flow);
