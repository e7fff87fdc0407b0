// The action of a plan, as options: zplan add sends it, zplan update changes it, zplan next takes
// and ignores it, so that one line of options serves all.
#pragma once

#include <jansson.h>

#include "options.h"
#include "when.h"
#include "zplan_codes.h"
#include "zplan_frame.h"

// The action of the plan; its times are in struct when_words.
struct action_options {
    const char *station, *flow, *command, *publish_title; // one of station and flow
    struct option_texts arguments;
    const char *context, *content;
    const char *title, *id;
    const char *vote;
    int64_t vote_deadline_s; // 0 = not given
    bool hold, paused;
    struct option_texts params;
    struct when_words words;
};

// The options that fill it. The last row is --now, which is another option in zplan next.
struct option_group order_options (struct action_options *order);

// Those of them that can be changed in a plan that there is already.
struct option_group order_change_options (struct action_options *order);

enum { ORDER_FRAMES_MAX = 4 + OPTION_TEXTS_MAX };

// The frames that the target gets, in the order they are sent in; how many. Their data are borrowed
// from the order.
size_t order_frames (const struct action_options *order, struct zplan_frame ret[ORDER_FRAMES_MAX]);

// The `vote` of the PLAN frame: what is stored, which may be NULL, with what was given put in.
// 0, and `ret` is an object or, where nothing was given, NULL; -1 with a reason.
int order_vote (const struct action_options *order, const json_t *stored, json_t **ret,
                struct reason *reason);

// A flow is its target: put it there. 0, or -1 with a reason.
int order_target (struct action_options *order, struct reason *reason);

// Put NAME=VALUE into the params of a flow: JSON, but what is none, as an expression, is a text; a
// param that is a text by what its flow declared, which may be NULL, takes it as it is. 0, or -1
// with a reason.
int order_param (json_t *params, const json_t *declared, const char *text, struct reason *reason);

// Put the params of a flow into a PLAN frame. 0, or -1 with a reason.
int order_params (const struct action_options *order, json_t *plan, struct reason *reason);

// Put what the order says besides its times and params into a PLAN frame; the vote may be NULL and
// is borrowed.
void order_put (const struct action_options *order, json_t *vote, json_t *plan);

// The PLAN frame, the params not; the vote as above.
json_t *order_plan (const struct action_options *order, const struct when *when, json_t *vote);
