// Definitions of flows are parsed here: large ones on a thread of their own, one at a time, as they
// must stop no dispatch. The caller is called back once, later or at once.
#pragma once

#include "flow_names.h"
#include "reactor.h"

enum { FLOW_PARSE_HERE = 65536 }; // bytes that are parsed at once

// The names a definition may use. Owned by the parse, so that the thread reads a private copy.
struct flow_known {
    struct flow_names flows;
    char (*targets)[FLOW_NAME_MAX + 1]; // those that are no flows, sorted
    size_t target_count;
    bool any_target; // any other name is a target, too
    bool is_put;     // the definition was judged before: of cycles nothing is said
    bool only_json;  // whether it is JSON is wanted only
};

void flow_known_clear (struct flow_known *self);

// `flow` NULL: the errors, as flow_parse reports them, or none: it was abandoned. Both are the
// caller's.
typedef void flow_parsed_fn (void *owner, struct flow *flow, json_t *errors);

struct flow_parser;

struct flow_parser *flow_parser_new (struct reactor *reactor);

// Those that wait are abandoned.
void flow_parser_destroy (struct flow_parser **self);

// `text` is copied, `known` is taken over. `first`: before those that wait.
enum flow_parse_turn { FLOW_PARSE_FIRST, FLOW_PARSE_LAST };
void flow_parser_ask (struct flow_parser *self, struct span text, struct flow_known *known,
                      enum flow_parse_turn turn, flow_parsed_fn *parsed, void *owner);

// Destroy an unused flow; this takes as long as half of the parse.
void flow_parser_reap (struct flow_parser *self, struct flow *flow);
