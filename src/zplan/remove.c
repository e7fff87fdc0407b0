// zplan remove: take plans away, in whatever state they are.
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "memory.h"
#include "options.h"
#include "print.h"

static const char about[] = "Remove plans, in any state. A run that is going on is not stopped.\n\n"
                            "  zplan remove 1f\n"
                            "  zplan remove 1f 20 21\n";

static void report (const struct cli *cli, const char *id)
{
    if (!cli->json) {
        printf ("plan %s removed\n", id);
        return;
    }
    json_t *answer = json_pack ("{s:s}", "removed", id);
    print_json (answer);
    json_decref (answer);
}

// One after the other; a refusal does not spare the rest, a silent station does.
static int remove_all (const struct cli *cli, char (*ids)[PLAN_ID_SIZE], int count)
{
    int code;
    struct zplan_client *client = call_open (cli, &code);
    if (!client)
        return code;
    code = EXIT_DONE;
    for (int i = 0; i < count && code != EXIT_NO_ANSWER; i++) {
        struct zplan_reply reply;
        int outcome = zplan_client_remove (client, ids[i], &reply);
        int judged = call_judge (cli, outcome, &reply, ids[i]);
        if (judged == EXIT_DONE)
            report (cli, ids[i]);
        else
            code = judged;
    }
    zplan_client_destroy (&client);
    return code;
}

int verb_remove (const struct cli *cli)
{
    const struct usage usage = {
        .synopsis = "zplan remove ID...",
        .about = about,
        .words_min = 1,
        .words_max = INT_MAX,
        .words = "at least one plan id",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    char (*ids)[PLAN_ID_SIZE] = memory_new ((size_t)count * sizeof *ids);
    struct reason reason;
    int good = 0;
    while (good < count && call_plan_id (cli->argv[1 + good], ids[good], &reason) == 0)
        good++;
    code = good < count ? usage_error (cli->argv[0], &reason) : remove_all (cli, ids, count);
    free (ids);
    return code;
}
