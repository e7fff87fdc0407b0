#include "action_frame.h"

#include <string.h>

#include "expr.h"
#include "policy.h"
#include "print.h"
#include "vote_rule.h"

enum { FIRST_CHANGE = 1, CHANGES = 8 };

// The options that can be changed later are the rows from FIRST_CHANGE on.
static const struct option rows[] = {
    TARGET_OPTION (struct action_options, station,
                   "the target; default: the only one that there is"),
    TEXT_OPTION (struct action_options, command, "--command", "WORD",
                 "what the target is to do (api and vote targets)"),
    TEXT_OPTION (struct action_options, publish_title, "--publish-title", "TITLE",
                 "what the target is to publish under (pub targets)"),
    TEXTS_OPTION (struct action_options, arguments, "--arg", "TEXT",
                  "an argument; may be repeated"),
    TEXT_OPTION (struct action_options, context, "--context", "TEXT", "the context of the call"),
    TEXT_OPTION (struct action_options, content, "--content", "TEXT", "the text to publish"),
    TEXT_OPTION (struct action_options, title, "--title", "TEXT",
                 "the plan's description; its results are published under it", .utf8 = true),
    TEXT_OPTION (struct action_options, vote, "--vote", "RULE",
                 "how many voters must be for it (vote targets): all any majority N",
                 .values = "all any majority", .offered = VALUES_SOME),
    NUMBER_OPTION (struct action_options, vote_deadline_s, "--vote-deadline", "DURATION", 1,
                   VOTE_DEADLINE_MAX_S,
                   "what is not decided by then has failed: 60s, 5m, or seconds", .unit_ms = 1000),
    TEXT_OPTION (struct action_options, id, "--id", "HEX",
                 "the plan's id; the same plan sent again is then one plan"),
    FLAG_OPTION (struct action_options, hold, "--hold", "keep it paused until `zplan reset`"),
    FLAG_OPTION (struct action_options, paused, "--paused",
                 "keep it paused: it runs by `zplan run`, as often as that is called"),
    TEXT_OPTION (struct action_options, flow, "--flow", "NAME",
                 "the target is this flow; it needs no --command", .utf8 = true),
    TEXTS_OPTION (
        struct action_options, params, "--param", "NAME=VALUE",
        "a param of the flow: JSON, else a text; an expression: NAME='=idc.loadDate'; may be "
        "repeated",
        .utf8 = true),
    FLAG_OPTION (struct action_options, words.now, "--now",
                 "run once, at once; also without any time"),
};

struct option_group action_option_group (struct action_options *action)
{
    return (struct option_group)OPTION_GROUP ("Plan", rows, action);
}

struct option_group action_change_options (struct action_options *action)
{
    return (struct option_group){"Plan", rows + FIRST_CHANGE, CHANGES, action};
}

size_t action_frames (const struct action_options *action,
                      struct zplan_frame ret[ACTION_FRAMES_MAX])
{
    const struct {
        uint8_t type;
        const char *const *texts;
        size_t count;
    } parts[] = {{ZERO_FRAME_PUB_TITLE, &action->publish_title, 1},
                 {ZERO_FRAME_COMMAND, &action->command, 1},
                 {ZERO_FRAME_ARG, action->arguments.texts, action->arguments.count},
                 {ZERO_FRAME_CONTEXT, &action->context, 1},
                 {ZERO_FRAME_CONTENT, &action->content, 1}};
    size_t count = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t j = 0; j < parts[i].count && parts[i].texts[j]; j++)
            ret[count++] =
                (struct zplan_frame){parts[i].type, parts[i].texts[j], strlen (parts[i].texts[j])};
    return count;
}

// -- the vote

int action_vote (const struct action_options *action, const json_t *stored, json_t **ret,
                 struct reason *reason)
{
    struct vote_rule parsed;
    struct reason ignored;
    *ret = NULL;
    if (!action->vote && action->vote_deadline_s == 0)
        return 0;
    json_t *vote =
        json_is_object (stored) ? json_copy ((json_t *)(uintptr_t)stored) : json_object ();
    if (action->vote)
        json_object_set_new (vote, "rule", terms_number (action->vote));
    if (action->vote_deadline_s)
        json_object_set_new (vote, "deadline", json_integer (action->vote_deadline_s));
    if (action->vote && !vote_rule_read (vote, &parsed, &ignored)) {
        reason_set (reason, "--vote: want all, any, majority or a number 1..%d, got %s",
                    VOTE_COUNT_MAX, quoted (span_text (action->vote)));
        json_decref (vote);
        return -1;
    }
    *ret = vote;
    return 0;
}

// -- flows

int action_set_target (struct action_options *action, struct reason *reason)
{
    if (action->flow && action->station)
        return reason_set (reason, "--flow and --target: want one or the other");
    if (action->flow)
        action->station = action->flow;
    return 0;
}

// Whether a param takes a text unchanged: its type or its default is a string. A default that is an
// expression does not count, as its type is unknown before it is evaluated.
static bool is_text_param (const json_t *declared)
{
    const char *text = json_string_value (declared);
    return span_is (field_text (declared, "type"), "string") || (text && *text != '=');
}

static int add_param (json_t *params, const json_t *declared, const char *text,
                      struct reason *reason)
{
    struct reason ignored;
    const char *equals = strchr (text, '=');
    char name[POLICY_TEXT_MAX + 1] = "";
    if (!equals || equals == text || equals - text > POLICY_TEXT_MAX)
        return reason_set (reason, "--param: want NAME=VALUE, got %s", quoted (span_text (text)));
    memcpy (name, text, (size_t)(equals - text));
    bool as_it_is = is_text_param (json_object_get (declared, name));
    json_t *value = as_it_is ? NULL : expr_read_json (span_text (equals + 1), &ignored);
    json_object_set_new (params, name, value ? value : json_string (equals + 1));
    return 0;
}

json_t *action_read_params (const struct option_texts *texts, const json_t *declared,
                            struct reason *reason)
{
    json_t *params = json_object ();
    for (size_t i = 0; i < texts->count; i++)
        if (add_param (params, declared, texts->texts[i], reason)) {
            json_decref (params);
            return NULL;
        }
    return params;
}

int action_params (const struct action_options *action, json_t *plan, struct reason *reason)
{
    json_t *params = action_read_params (&action->params, NULL, reason);
    if (json_object_size (params) > 0)
        json_object_set (plan, "params", params);
    int rc = params ? 0 : -1;
    json_decref (params);
    return rc;
}

void action_add_fields (const struct action_options *action, json_t *vote, json_t *plan)
{
    if (action->title)
        json_object_set_new (plan, "description", json_string (action->title));
    if (action->hold)
        json_object_set_new (plan, "hold", json_true ());
    if (action->paused)
        json_object_set_new (plan, "paused", json_true ());
    if (vote)
        json_object_set (plan, "vote", vote);
}

json_t *action_plan_frame (const struct action_options *action, const struct when *when,
                           json_t *vote)
{
    json_t *plan = json_object (), *frame = when_frame (when);
    action_add_fields (action, NULL, plan);
    json_object_update (plan, frame);
    json_decref (frame);
    if (vote)
        json_object_set (plan, "vote", vote);
    return plan;
}
