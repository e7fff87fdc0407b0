// Parses definitions of flows. Large ones are parsed on a separate thread, one at a time, so that
// they do not delay dispatch. Each callback is called once, possibly before the call returns.
#pragma once

#include "flow_names.h"
#include "reactor.h"

enum { FLOW_PARSE_HERE = 65536 }; // bytes; larger texts are parsed on the thread

// The names that a definition may use. A parse owns its copy, which the thread reads.
struct flow_known {
    struct flow_names flows;
    json_t *targets;   // set of the targets that are not flows
    bool any_target;   // accept any other name as a target, too
    bool was_accepted; // the definition is stored already: do not report cycles
    bool only_json;    // only check that the text is valid JSON
};

// Receives the flow, or NULL and `errors` as from flow_parse; `flow` and `errors` NULL: the parse
// was abandoned. The callee owns them.
typedef void flow_parsed_fn (void *owner, struct flow *flow, json_t *errors);

struct flow_parser;

struct flow_parser *flow_parser_new (struct reactor *reactor);

// Abandon all pending parses, and free the parser.
void flow_parser_destroy (struct flow_parser **self);

// Parse `text`, which is copied, and call `parsed`. Takes over `known`. FLOW_PARSE_FIRST: before
// all pending parses.
enum flow_parse_turn { FLOW_PARSE_FIRST, FLOW_PARSE_LAST };
void flow_parser_ask (struct flow_parser *self, struct span text, struct flow_known *known,
                      enum flow_parse_turn turn, flow_parsed_fn *parsed, void *owner);

// Destroy a flow that nobody uses; a large one on the thread, as it takes half as long as parsing.
void flow_parser_reap (struct flow_parser *self, struct flow *flow);
