// zplan pause, reset, skip, close, remove, run: one word of the station each, said about plans by
// their ids or about all plans that a filter selects.
#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "bulk.h"

// -- the verbs

enum {
    IN_QUEUE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4, // none, queue, execute, retry, skip
    PAUSED = 1 << 5,
    CLOSED = 1 << 7
};

#define FILTER_HELP                                                                                \
    "Plans are named by their ids, or selected as list selects them; --dry-run shows which.\n"     \
    "Of those selected, what is already as wanted is left out and counted.\n"

static const struct deed {
    const char *name; // the verb, and the word on the wire
    const char *done; // its past participle
    const char *synopsis, *about;
    bool has_count;  // takes --count, which goes behind the id
    unsigned wanted; // as struct acting has them
    bool gone_is_wanted;
} deeds[] = {
    {.name = "pause",
     .done = "paused",
     .wanted = PAUSED,
     .synopsis = "zplan pause ID... | --station NAME ... | --all  [--dry-run]",
     .about = "Take plans out of the queue, until reset. A run that is out goes on and "
              "counts.\n" FILTER_HELP "\n"
              "  zplan pause 1f 20\n"
              "  zplan pause --station jobs --title 'report*' --state queue --dry-run\n"
              "  zplan pause --all\n"},
    {.name = "reset",
     .done = "reset",
     .wanted = IN_QUEUE,
     .synopsis = "zplan reset ID... | --state error ... | --all  [--dry-run]",
     .about = "Put paused plans, and those out of the queue for an error, into the queue again.\n"
              "One that is overdue by then runs once, at once.\n" FILTER_HELP "\n"
              "  zplan reset 1f\n"
              "  zplan reset --state error --station jobs\n"},
    {.name = "skip",
     .done = "skipped",
     .synopsis = "zplan skip ID... | --station NAME ... | --all  [--count N] [--dry-run]",
     .about = "Leave out the next occurrence of plans, or the next N; they use up repeats. A run\n"
              "that is out is not one of them.\n" FILTER_HELP "\n"
              "  zplan skip 1f\n"
              "  zplan skip 1f --count 3\n",
     .has_count = true},
    {.name = "close",
     .done = "closed",
     .wanted = CLOSED,
     .synopsis = "zplan close ID... | --station NAME ... | --all  [--dry-run]",
     .about =
         "End plans: they run no more, but are kept to be looked at until remove.\n" FILTER_HELP
         "\n"
         "  zplan close 1f\n"
         "  zplan close --station jobs --type second --dry-run\n"},
    {.name = "remove",
     .done = "removed",
     .gone_is_wanted = true,
     .synopsis = "zplan remove ID... | --state close ... | --all  [--dry-run]",
     .about =
         "Remove plans, in any state. A run that is going on is not stopped.\n" FILTER_HELP "\n"
         "  zplan remove 1f 20 21\n"
         "  zplan remove --state close\n"},
    {.name = "run",
     .done = "fired",
     .synopsis = "zplan run ID... | --station NAME ... | --all  [--dry-run]",
     .about = "Run plans now, once, besides their schedule: no repeat is used up, and the next\n"
              "time stays as it is. Refused while a run is out.\n" FILTER_HELP "\n"
              "  zplan run 1f\n"
              "  zplan run --station jobs --title 'report*'\n"},
};

enum { DEEDS = sizeof deeds / sizeof *deeds };

static const struct deed *deed_named (const char *name)
{
    size_t i = 0;
    while (i < DEEDS && strcmp (deeds[i].name, name) != 0)
        i++;
    assert (i < DEEDS); // main.c gives these verbs to verb_manage and no others
    return &deeds[i];
}

// -- the options

struct wish {
    struct bulk bulk;
    int64_t count;
};

static const struct option rows[] = {
    {.name = "--count",
     .metavar = "N",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct wish, count),
     .help = "so many occurrences; default 1",
     .min = 1,
     .max = INT32_MAX},
};

// -- the doing

static int do_one (struct acting *acting, const char *id)
{
    return act_say (acting, id, acting->owner);
}

static int do_all (const struct cli *cli, const struct deed *deed, const struct wish *wish,
                   struct plan_ids *ids)
{
    int code;
    char count[24];
    snprintf (count, sizeof count, "%" PRId64, wish->count);
    struct acting acting = {.cli = cli,
                            .client = call_open (cli, &code),
                            .name = deed->name,
                            .done = deed->done,
                            .wanted = deed->wanted,
                            .gone_is_wanted = deed->gone_is_wanted,
                            .one = do_one,
                            .owner = deed->has_count ? count : NULL};
    if (!acting.client)
        return code;
    code = bulk_do (&acting, &wish->bulk, ids);
    zplan_client_destroy (&acting.client);
    return code;
}

int verb_manage (const struct cli *cli)
{
    const struct deed *deed = deed_named (cli->argv[0]);
    struct wish wish = {.count = 1};
    const struct option_group which = select_options (&wish.bulk.selection);
    const struct usage usage = {
        .synopsis = deed->synopsis,
        .about = deed->about,
        .groups = {which,
                   bulk_options (&wish.bulk),
                   {"Besides", rows, sizeof rows / sizeof *rows, &wish}},
        .group_count = deed->has_count ? 3 : 2,
        .words_max = INT_MAX,
        .words = "plan ids",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    struct plan_ids ids = {0};
    if (bulk_check (&wish.bulk, &which, count, &reason) ||
        plan_ids_read (&ids, cli, count, &reason))
        code = usage_error (cli->argv[0], &reason);
    else
        code = do_all (cli, deed, &wish, &ids);
    free (ids.at);
    return code;
}
