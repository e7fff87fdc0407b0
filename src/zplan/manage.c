// zplan pause, reset, skip, close, remove, run: one word of the station each, said about plans by
// their ids or about all plans that a filter selects.
#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "act.h"
#include "ident.h"
#include "json.h"
#include "print.h"
#include "select.h"

// -- the verbs

#define FILTER_HELP                                                                                \
    "Plans are named by their ids, or selected as list selects them; --dry-run shows which.\n"

static const struct deed {
    const char *name; // the verb, and the word on the wire
    const char *done; // its past participle
    const char *synopsis, *about;
    bool has_count; // takes --count, which goes behind the id
} deeds[] = {
    {.name = "pause",
     .done = "paused",
     .synopsis = "zplan pause ID... | --station NAME ... | --all  [--dry-run]",
     .about = "Take plans out of the queue, until reset. A run that is out goes on and "
              "counts.\n" FILTER_HELP "\n"
              "  zplan pause 1f 20\n"
              "  zplan pause --station jobs --title 'report*' --state queue --dry-run\n"
              "  zplan pause --all\n"},
    {.name = "reset",
     .done = "reset",
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
     .synopsis = "zplan close ID... | --station NAME ... | --all  [--dry-run]",
     .about =
         "End plans: they run no more, but are kept to be looked at until remove.\n" FILTER_HELP
         "\n"
         "  zplan close 1f\n"
         "  zplan close --station jobs --type second --dry-run\n"},
    {.name = "remove",
     .done = "removed",
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
    struct selection selection;
    bool all, dry_run;
    int64_t count;
};

static const struct option rows[] = {
    {.name = "--all",
     .type = OPTION_FLAG,
     .offset = offsetof (struct wish, all),
     .help = "every plan of the station"},
    {.name = "--dry-run",
     .type = OPTION_FLAG,
     .offset = offsetof (struct wish, dry_run),
     .help = "only tell which plans it would be done to"},
    {.name = "--count",
     .metavar = "N",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct wish, count),
     .help = "so many occurrences; default 1",
     .min = 1,
     .max = INT32_MAX},
};

enum { ROWS = sizeof rows / sizeof *rows };

// Plans must be named in exactly one way: nothing at all is no way to mean everything.
static int check_wish (struct wish *wish, int ids, struct reason *reason)
{
    struct option_group which = select_options (&wish->selection);
    const char *given = options_given (&which);
    if (!given && wish->all)
        given = "--all";
    if (ids > 0 && given)
        reason_set (reason, "plan ids and %s: want one or the other", given);
    else if (wish->all && strcmp (given, "--all") != 0)
        reason_set (reason, "--all and %s: want one or the other", given);
    else if (ids == 0 && !given)
        reason_set (reason, "want plan ids, or a filter (--station, --state, --type, --title); "
                            "--all means every plan");
    else
        return select_check (&wish->selection, reason);
    return -1;
}

// -- with --dry-run

static void foretell (const struct acting *acting, const char *id, const json_t *plan)
{
    char state[WORD_SIZE];
    if (acting->cli->json) {
        json_t *bare = json_copy ((json_t *)(uintptr_t)plan);
        json_object_del (bare, "messages");
        json_t *answer =
            json_pack ("{s:s, s:s, s:o}", "id", id, "would", acting->name, "plan", bare);
        print_json (answer);
        json_decref (answer);
        return;
    }
    printf ("plan %s would be %s: station ", id, acting->done);
    print_bytes (text_of (json_object_get (plan, "station")));
    printf (", state %s, title \"", state_word (json_object_get (plan, "plan_state"), state));
    print_frame (json_object_get (plan, "description"));
    printf ("\"\n");
}

static int foretell_one (struct acting *acting, const char *id)
{
    int code;
    json_t *plan = act_read (acting, id, &code);
    if (!plan)
        return code;
    foretell (acting, id, plan);
    json_decref (plan);
    return EXIT_DONE;
}

// -- the doing

static int do_one (struct acting *acting, const char *id)
{
    return act_say (acting, id, acting->owner);
}

// What a walk through the list is for.
struct collecting {
    struct acting *acting;
    struct plan_ids *ids;
    bool dry_run;
};

static bool take_plan (void *owner, const json_t *plan)
{
    struct collecting *self = owner;
    int64_t id;
    char text[IDENT_SIZE];
    if (!json_get_integer (plan, "plan_id", 1, INT64_MAX, &id)) {
        complain ("the station's answer", span_text ("a plan without an id is left out"));
        return true;
    }
    plan_ids_add (self->ids, (uint64_t)id);
    if (self->dry_run)
        foretell (self->acting, ident_text ((uint64_t)id, text), plan);
    progress_step (&self->acting->progress, self->ids->count, 0);
    return true;
}

// All pages first, then the plans: what is done to a plan may move the pages.
static int do_selected (struct acting *acting, const struct wish *wish, struct plan_ids *ids)
{
    struct collecting collecting = {acting, ids, wish->dry_run};
    progress_start (&acting->progress, acting->name,
                    wish->dry_run ? PROGRESS_LINES : PROGRESS_QUIET);
    struct verdict verdict = select_walk (
        acting->cli, acting->client, &wish->selection,
        &(struct selected){.take = take_plan, .owner = &collecting, .room = INT64_MAX});
    progress_clear (&acting->progress);
    if (verdict.code == EXIT_DONE && ids->count == 0)
        complain (NULL, span_text ("no plan fits"));
    if (verdict.code != EXIT_DONE || wish->dry_run)
        return verdict_tell (&verdict, NULL);
    progress_start (&acting->progress, acting->name, PROGRESS_LINES);
    return act_each (acting, ids);
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
                            .one = wish->dry_run ? foretell_one : do_one,
                            .owner = deed->has_count ? count : NULL};
    if (!acting.client)
        return code;
    progress_start (&acting.progress, acting.name, PROGRESS_LINES);
    code = ids->count ? act_each (&acting, ids) : do_selected (&acting, wish, ids);
    zplan_client_destroy (&acting.client);
    return code;
}

int verb_manage (const struct cli *cli)
{
    const struct deed *deed = deed_named (cli->argv[0]);
    struct wish wish = {.count = 1};
    const struct usage usage = {
        .synopsis = deed->synopsis,
        .about = deed->about,
        .groups = {select_options (&wish.selection),
                   {"How", rows, deed->has_count ? ROWS : ROWS - 1, &wish}},
        .group_count = 2,
        .words_max = INT_MAX,
        .words = "plan ids",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    struct plan_ids ids = {0};
    if (check_wish (&wish, count, &reason) || plan_ids_read (&ids, cli, count, &reason))
        code = usage_error (cli->argv[0], &reason);
    else
        code = do_all (cli, deed, &wish, &ids);
    free (ids.at);
    return code;
}
