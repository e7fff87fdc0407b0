#include "order.h"

#include <string.h>

#include "json.h"
#include "policy.h"
#include "settings.h"

enum { VOTE_DEADLINE_MAX_S = 31536000, VOTES_MAX = 1000000, FIRST_CHANGE = 1, CHANGES = 8 };

// What can be changed later stands together: rows FIRST_CHANGE and after.
static const struct option rows[] = {
    TARGET_OPTION (struct order, station, "the target; default: the only one that there is"),
    TEXT_OPTION (struct order, command, "--command", "WORD",
                 "what the target is to do (api and vote targets)"),
    TEXT_OPTION (struct order, publish_title, "--publish-title", "TITLE",
                 "what the target is to publish under (pub targets)"),
    TEXTS_OPTION (struct order, arguments, "--arg", "TEXT", "an argument; may be repeated"),
    TEXT_OPTION (struct order, context, "--context", "TEXT", "the context of the call"),
    TEXT_OPTION (struct order, content, "--content", "TEXT", "the text to publish"),
    TEXT_OPTION (struct order, title, "--title", "TEXT",
                 "the plan's description; its results are published under it", .utf8 = true),
    TEXT_OPTION (struct order, vote, "--vote", "RULE",
                 "how many voters must be for it (vote targets): all any majority N",
                 .values = "all any majority", .offered = VALUES_SOME),
    NUMBER_OPTION (struct order, vote_deadline_s, "--vote-deadline", "DURATION", 1,
                   VOTE_DEADLINE_MAX_S,
                   "what is not decided by then has failed: 60s, 5m, or seconds", .unit_ms = 1000),
    TEXT_OPTION (struct order, id, "--id", "HEX",
                 "the plan's id; the same plan sent again is then one plan"),
    FLAG_OPTION (struct order, hold, "--hold", "keep it paused until `zplan reset`"),
    FLAG_OPTION (struct order, paused, "--paused",
                 "keep it paused: it runs by `zplan run`, as often as that is called"),
    TEXT_OPTION (struct order, flow, "--flow", "NAME",
                 "the target is this flow; it needs no --command", .utf8 = true),
    TEXTS_OPTION (
        struct order, params, "--param", "NAME=VALUE",
        "a param of the flow: JSON, else a text; an expression: NAME='=idc.loadDate'; may be "
        "repeated",
        .utf8 = true),
    FLAG_OPTION (struct order, words.now, "--now", "run once, at once; also without any time"),
};

struct option_group order_options (struct order *order)
{
    return (struct option_group){"Plan", rows, sizeof rows / sizeof *rows, order};
}

struct option_group order_change_options (struct order *order)
{
    return (struct option_group){"Plan", rows + FIRST_CHANGE, CHANGES, order};
}

size_t order_frames (const struct order *order, struct zplan_frame ret[ORDER_FRAMES_MAX])
{
    const struct {
        uint8_t type;
        const char *const *texts;
        size_t count;
    } parts[] = {{ZERO_FRAME_PUB_TITLE, &order->publish_title, 1},
                 {ZERO_FRAME_COMMAND, &order->command, 1},
                 {ZERO_FRAME_ARG, order->arguments.texts, order->arguments.count},
                 {ZERO_FRAME_CONTEXT, &order->context, 1},
                 {ZERO_FRAME_CONTENT, &order->content, 1}};
    size_t count = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t j = 0; j < parts[i].count && parts[i].texts[j]; j++)
            ret[count++] =
                (struct zplan_frame){parts[i].type, parts[i].texts[j], strlen (parts[i].texts[j])};
    return count;
}

// -- the vote

static json_t *vote_rule (const char *text)
{
    static const char *const words[] = {"all", "any", "majority"};
    int64_t number;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp (words[i], text) == 0)
            return json_string (text);
    bool good = number_parse (text, &number) && number >= 1 && number <= VOTES_MAX;
    return good ? json_integer (number) : NULL;
}

int order_vote (const struct order *order, const json_t *stored, json_t **ret,
                struct reason *reason)
{
    *ret = NULL;
    if (!order->vote && order->vote_deadline_s == 0)
        return 0;
    json_t *rule = order->vote ? vote_rule (order->vote) : NULL;
    if (order->vote && !rule) {
        reason_set (reason, "--vote: want all, any, majority or a number 1..%d, got %s", VOTES_MAX,
                    quoted (span_text (order->vote)));
        return -1;
    }
    json_t *vote =
        json_is_object (stored) ? json_copy ((json_t *)(uintptr_t)stored) : json_object ();
    if (rule)
        json_object_set_new (vote, "rule", rule);
    if (order->vote_deadline_s)
        json_object_set_new (vote, "deadline", json_integer (order->vote_deadline_s));
    *ret = vote;
    return 0;
}

// -- flows

int order_target (struct order *order, struct reason *reason)
{
    if (order->flow && order->station) {
        reason_set (reason, "--flow and --target: want one or the other");
        return -1;
    }
    if (order->flow)
        order->station = order->flow;
    return 0;
}

// JSON, but what is none is a text, as is an expression.
static json_t *param_value (const char *text)
{
    json_t *value =
        *text == '=' ? NULL : json_loads (text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    return value ? value : json_string (text);
}

int order_params (const struct order *order, json_t *plan, struct reason *reason)
{
    json_t *params = json_object ();
    for (size_t i = 0; i < order->params.count; i++) {
        const char *text = order->params.texts[i], *value = strchr (text, '=');
        char name[POLICY_TEXT_MAX + 1] = "";
        if (!value || value == text || value - text > POLICY_TEXT_MAX) {
            reason_set (reason, "--param: want NAME=VALUE, got %s", quoted (span_text (text)));
            json_decref (params);
            return -1;
        }
        memcpy (name, text, (size_t)(value - text));
        json_object_set_new (params, name, param_value (value + 1));
    }
    if (json_object_size (params) > 0)
        json_object_set (plan, "params", params);
    json_decref (params);
    return 0;
}

void order_put (const struct order *order, json_t *vote, json_t *plan)
{
    if (order->title)
        json_object_set_new (plan, "description", json_string (order->title));
    if (order->hold)
        json_object_set_new (plan, "hold", json_true ());
    if (order->paused)
        json_object_set_new (plan, "paused", json_true ());
    if (vote)
        json_object_set (plan, "vote", vote);
}

json_t *order_plan (const struct order *order, const struct when *when, json_t *vote)
{
    json_t *plan = json_object (), *frame = when_frame (when);
    order_put (order, NULL, plan);
    json_object_update (plan, frame);
    json_decref (frame);
    if (vote)
        json_object_set (plan, "vote", vote);
    return plan;
}
