// The action of a plan, as options: zplan add sends it, zplan update changes it, and zplan next
// accepts and ignores it, so that all three take the same command line.
#pragma once

#include <jansson.h>

#include "options.h"
#include "when.h"
#include "zplan_codes.h"
#include "zplan_frame.h"

// The action of the plan; its times are in struct when_words.
struct action_options {
    const char *station, *flow, *command, *publish_title; // `station` or `flow` is given, not both
    struct option_texts arguments;
    const char *context, *content;
    const char *title, *id;
    const char *vote;
    int64_t vote_deadline_s; // 0 = not given
    bool hold, paused;
    struct option_texts params;
    struct when_words words;
};

// The options that fill the struct. The last row is --now, which zplan next omits.
struct option_group action_option_group (struct action_options *action);

// Those of the options that can be changed in an existing plan.
struct option_group action_change_options (struct action_options *action);

enum { ACTION_FRAMES_MAX = 4 + OPTION_TEXTS_MAX };

// The frames for the target, in the order of sending; returns their number. Their data are borrowed
// from `action`.
size_t action_frames (const struct action_options *action,
                      struct zplan_frame ret[ACTION_FRAMES_MAX]);

// The `vote` of the PLAN frame: the stored one, which may be NULL, with the given options merged
// in. 0, and `ret` is an object, or NULL if no such option was given; -1 with a reason.
int action_vote (const struct action_options *action, const json_t *stored, json_t **ret,
                 struct reason *reason);

// Set `station` to `flow`, if that is given: the target of a flow plan is its flow. 0, or -1 with a
// reason.
int action_set_target (struct action_options *action, struct reason *reason);

// Make the params of a flow from texts NAME=VALUE. VALUE is read as JSON; if it is not JSON, such
// as an expression, or the param is declared as a string, it is a string. `declared` may be NULL.
// NULL with a reason.
json_t *action_read_params (const struct option_texts *texts, const json_t *declared,
                            struct reason *reason);

// Add the params of a flow to a PLAN frame. 0, or -1 with a reason.
int action_params (const struct action_options *action, json_t *plan, struct reason *reason);

// Add the title, the hold, the pause and the vote to a PLAN frame; the vote may be NULL and is
// borrowed.
void action_add_fields (const struct action_options *action, json_t *vote, json_t *plan);

// Make the PLAN frame, without the params; the vote may be NULL and is borrowed.
json_t *action_plan_frame (const struct action_options *action, const struct when *when,
                           json_t *vote);
