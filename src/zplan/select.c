#include "select.h"

#include "print.h"
#include "schedule.h"

static const struct option rows[] = {
    {.name = "--station",
     .metavar = "NAME",
     .type = OPTION_TEXT,
     .offset = offsetof (struct selection, station),
     .help = "plans for this target station"},
    {.name = "--state",
     .metavar = "STATE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct selection, state),
     .help = "none queue execute retry skip pause error close"},
    {.name = "--type",
     .metavar = "TYPE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct selection, type),
     .help = "none time second minute hour day week month"},
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
    if (selection->state && state_parse (selection->state) < 0)
        reason_set (reason,
                    "--state: want none, queue, execute, retry, skip, pause, error or close, "
                    "got %s",
                    quoted (span_text (selection->state)));
    else if (selection->type && schedule_type_parse (selection->type) < 0)
        reason_set (reason,
                    "--type: want none, time, second, minute, hour, day, week or month, got %s",
                    quoted (span_text (selection->type)));
    else if (call_text ("--station", selection->station, reason) == 0 &&
             call_text ("--title", selection->title, reason) == 0)
        return 0;
    return -1;
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
