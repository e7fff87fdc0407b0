#include "select.h"

#include <string.h>

#include "only.h"
#include "plan.h"
#include "print.h"
#include "when.h"

#define NAME_OPTION(option, field)                                                                 \
    TEXT_OPTION (struct selection, field, option, "NAME", "plans that have this one",              \
                 .utf8 = true, .once = true)

static const struct option rows[] = {
    TARGET_OPTION (struct selection, station, "plans for this target", .once = true),
    TEXT_OPTION (struct selection, state, "--state", "STATE", STATE_WORDS, .values = STATE_WORDS,
                 .old_values = WIRE_STATE_WORDS, .once = true),
    TEXT_OPTION (struct selection, type, "--type", "TYPE", TYPE_WORDS, .values = TYPE_WORDS,
                 .once = true),
    TEXT_OPTION (struct selection, title, "--title", "PATTERN",
                 "plans whose title matches; * matches anything", .utf8 = true, .once = true),
    TEXT_OPTION (struct selection, verdict, "--verdict", "VERDICT",
                 "failure (permanent), pending (needs manual action), manual (resolved manually), "
                 "cancelled; filtered on the client",
                 .values = VERDICT_WORDS, .once = true),
    TEXT_OPTION (struct selection, kind, "--kind", "NAME", "plans of this kind", .utf8 = true,
                 .once = true),
    TEXT_OPTION (struct selection, key, "--name", "NAME", "the plan of this name",
                 .aliases = "--unique", .utf8 = true, .once = true),
    NAME_OPTION ("--group", group),
    NAME_OPTION ("--category", category),
    NAME_OPTION ("--tenant", tenant),
    NAME_OPTION ("--creator", creator),
    FLAG_OPTION (struct selection, dead, "--dead", "those of the verdict failure or pending"),
    FLAG_OPTION (struct selection, held, "--held",
                 "those that `import --hold` or `add --hold` paused, and nobody since"),
    TEXT_OPTION (struct selection, flow_run, "--flow-run", "RUN",
                 "plans of this run of a flow: its steps, which are omitted by default,\n"
                 "and its flow plan",
                 .utf8 = true, .once = true),
};

struct option_group select_options (struct selection *selection)
{
    return (struct option_group)OPTION_GROUP ("Which plans", rows, selection);
}

int select_check (const struct selection *selection, const struct option_group *which,
                  struct reason *reason)
{
    const char *empty = options_empty (which);
    if (empty) // an unset variable of a script must not mean every plan
        return reason_set (reason, "%s: must not be empty", empty);
    if (selection->dead && selection->verdict)
        return reason_set (reason, "--dead and --verdict: want only one of them");
    return 0;
}

// Convert a state to the wire's word; a word of the wire is returned unchanged.
static const char *wire_state (const char *state)
{
    for (enum plan_state i = PLAN_QUEUE; i < PLAN_STATES; i++)
        if (strcmp (state, plan_state_word (i)) == 0)
            return plan_state_name (i);
    return state;
}

static json_t *station_filter (const struct selection *selection)
{
    const char *state = selection->state;
    if (selection->dead && !state) // plans with such a verdict are in no other state
        state = "error";
    return json_pack (
        "{s:s*, s:o*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:o*, s:o*}", "state",
        state ? wire_state (state) : NULL, "held", selection->held ? json_true () : NULL, "station",
        selection->station, "type", selection->type, "title", selection->title, "kind",
        selection->kind, "key", selection->key, "group", selection->group, "category",
        selection->category, "flow_run", selection->flow_run, "order", selection->order, "tenant",
        terms_number (selection->tenant), "creator", terms_number (selection->creator));
}

static bool filters_on_client (const struct selection *selection)
{
    return selection->dead || selection->verdict;
}

// The state of select_walk.
struct selection_walk {
    const struct selection *selection;
    struct plan_visitor visitor; // `room` is decremented
};

// Whether the plan passes the filters that only the client can apply.
static bool matches_filters (const struct selection *selection, const json_t *plan)
{
    const char *word = verdict_name_text (json_object_get (plan, "verdict"));
    if (selection->dead)
        return strcmp (word, "failure") == 0 || strcmp (word, "pending") == 0;
    return !selection->verdict || strcmp (word, selection->verdict) == 0;
}

static bool handle_plan (struct pages *pages, json_t *plan)
{
    struct selection_walk *walk = pages->owner;
    struct plan_visitor *visitor = &walk->visitor;
    if (!matches_filters (walk->selection, plan))
        return true;
    if (visitor->room == 0 || !visitor->take (visitor->owner, plan))
        return false;
    visitor->room--;
    pages->room = filters_on_client (walk->selection) ? pages->room : visitor->room;
    return visitor->room > 0;
}

struct verdict select_walk (const struct cli *cli, struct zplan_client *client,
                            const struct selection *selection, const struct plan_visitor *visitor)
{
    struct selection_walk walk = {selection, *visitor};
    struct pages pages = {.word = "list",
                          .filter = station_filter (selection),
                          .room = filters_on_client (selection) ? INT64_MAX : visitor->room,
                          .take_item = handle_plan,
                          .owner = &walk};
    struct verdict verdict = pages_read (cli, client, &pages);
    if (verdict.code == EXIT_DONE && walk.visitor.room == visitor->room && selection->station)
        only_target_warn (cli, client, selection->station);
    return verdict;
}
