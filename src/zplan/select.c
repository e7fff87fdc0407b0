#include "select.h"

#include "print.h"
#include "when.h"

static const struct option rows[] = {
    {.name = "--station",
     .metavar = "NAME",
     .type = OPTION_TEXT,
     .offset = offsetof (struct selection, station),
     .offered = VALUES_STATIONS,
     .help = "plans for this target station"},
    {.name = "--state",
     .metavar = "STATE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct selection, state),
     .values = STATE_WORDS,
     .help = STATE_WORDS},
    {.name = "--type",
     .metavar = "TYPE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct selection, type),
     .values = TYPE_WORDS,
     .help = TYPE_WORDS},
    {.name = "--title",
     .metavar = "PATTERN",
     .type = OPTION_TEXT,
     .offset = offsetof (struct selection, title),
     .help = "plans whose title fits; * stands for anything"},
};

struct option_group select_options (struct selection *selection)
{
    return (struct option_group){"Which plans", rows, sizeof rows / sizeof *rows, selection};
}

int select_check (const struct selection *selection, struct reason *reason)
{
    return call_text ("--station", selection->station, reason) ||
                   call_text ("--title", selection->title, reason)
               ? -1
               : 0;
}

static json_t *filter_of (const struct selection *selection)
{
    const struct {
        const char *field, *text;
    } fields[] = {{"station", selection->station},
                  {"state", selection->state},
                  {"type", selection->type},
                  {"title", selection->title}};
    json_t *filter = json_object ();
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].text)
            json_object_set_new (filter, fields[i].field, json_string (fields[i].text));
    return filter;
}

static bool take_page (struct pages *pages, const json_t *page)
{
    const struct selected *selected = pages->owner;
    size_t i;
    json_t *plan;
    json_array_foreach (json_object_get (page, "plans"), i, plan)
    {
        if (pages->room == 0 || !selected->take (selected->owner, plan))
            return false;
        pages->room--;
    }
    return true;
}

struct verdict select_walk (const struct cli *cli, struct zplan_client *client,
                            const struct selection *selection, const struct selected *selected)
{
    struct selected copy = *selected;
    struct pages pages = {.word = "list",
                          .filter = filter_of (selection),
                          .room = selected->room,
                          .take = take_page,
                          .owner = &copy};
    struct verdict verdict = pages_turn (cli, client, &pages);
    json_decref (pages.filter);
    return verdict;
}
