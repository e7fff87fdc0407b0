// zplan workers and drain: list and drain the workers of a target station. The request is sent to
// the target station itself.
#include "verb_workers.h"

#include <limits.h>
#include <stdio.h>

#include "json.h"
#include "options.h"
#include "print.h"
#include "text_table.h"

// -- workers

static const char about_workers[] =
    "List the workers that have joined a target station (zstationd): how many jobs each\n"
    "is working on, how many more it asks for, since when, whether it drains, and which\n"
    "commands it takes. The target itself is asked, not the plan station: --connect is its\n"
    "request endpoint, --server-key its public key.\n\n"
    "  zplan workers --connect tcp://127.0.0.1:7930\n"
    "  zplan workers --connect tcp://127.0.0.1:7930 --json\n";

static void write_state (FILE *out, const json_t *draining)
{
    fputs (json_is_true (draining) ? "draining" : "serving", out);
}

static enum colour worker_state_colour (const json_t *draining)
{
    return json_is_true (draining) ? YELLOW : GREEN;
}

static void write_commands (FILE *out, const json_t *names)
{
    size_t i;
    const json_t *name;
    json_array_foreach (names, i, name)
    {
        fputs (i ? "," : "", out);
        write_frame (out, name);
    }
    fputs (names ? "" : "all", out);
}

static const struct column columns[] = {
    COLUMN ("NAME", 24, .rule = COLUMN_SHORT, .field = "name"),
    COLUMN ("JOBS", 4, .is_number = true, .field = "jobs", .write = column_number),
    COLUMN ("CREDITS", 7, .is_number = true, .field = "credits", .write = column_number),
    COLUMN ("STATE", 8, .field = "draining", .write = write_state, .colour = worker_state_colour),
    COLUMN ("SINCE", 20, .field = "since", .write = column_time),
    COLUMN ("COMMANDS", 0, .rule = COLUMN_REST, .least = 8, .field = "commands",
            .write = write_commands),
};

// Report an error reply. Without --connect the request reaches zpland, which has no workers to
// list.
static int check_reply (const struct cli *cli, int outcome, const struct zplan_reply *reply,
                        const char *subject)
{
    if (outcome != ZPLAN_OK || reply->status != ZERO_STATUS_NOT_SUPPORT_ID)
        return call_report (cli, outcome, reply, subject);
    return complain (cli->connect,
                     span_text ("has no workers: --connect takes the request endpoint "
                                "of a target station (zstationd) of type api"));
}

json_t *workers_request (const struct cli *cli, struct zplan_client *client, int *ret_code)
{
    struct reason reason;
    struct zplan_reply reply;
    int outcome = zplan_client_manage (client, "workers", NULL, 0, &reply);
    *ret_code = check_reply (cli, outcome, &reply, NULL);
    if (*ret_code != EXIT_DONE)
        return NULL;
    json_t *list = json_read_array (call_frame (&reply, ZERO_FRAME_JSON), &reason);
    if (list)
        return list;
    *ret_code = complain ("the station's answer", span_text (reason.text));
    return NULL;
}

static int list_workers (const struct cli *cli, struct zplan_client *client)
{
    int code;
    json_t *list = workers_request (cli, client, &code);
    if (list)
        table_print (cli, JSON_ANSWER, columns, sizeof columns / sizeof *columns, list);
    json_decref (list);
    return code;
}

int verb_workers (const struct cli *cli)
{
    return verb_run (cli, "zplan workers --connect ENDPOINT-OF-THE-TARGET", about_workers,
                     list_workers);
}

// -- drain

static const char about_drain[] =
    "Let workers of a target station (zstationd) go: each gets no more jobs, is notified,\n"
    "finishes its jobs and leaves; `zplan work` then exits with 0. All workers of a\n"
    "name are meant. The target itself is asked, not the plan station: --connect is its\n"
    "request endpoint. `zplan workers` lists them.\n\n"
    "  zplan drain host-1234 --connect tcp://127.0.0.1:7930\n"
    "  zplan drain old-1 old-2 --connect tcp://127.0.0.1:7930\n";

static void report_drained (const struct cli *cli, const char *name,
                            const struct zplan_reply *reply)
{
    json_t *answer = call_json (reply);
    const json_t *count = json_object_get (answer, "workers");
    if (cli->json) {
        print_answer_new (cli, JSON_ANSWER,
                          json_pack ("{s:s, s:O?}", "drained", name, "workers", count));
    } else if (answer) {
        print_between ("worker ", span_text (name), "");
        printf (" drains (%s)\n", number_cell_text (count));
    }
    json_decref (answer);
}

static int drain_worker (const struct cli *cli, struct zplan_client *client, const char *name)
{
    struct zplan_reply reply;
    int outcome = zplan_client_manage (client, "drain", &name, 1, &reply);
    int code = check_reply (cli, outcome, &reply, quoted (span_text (name)));
    if (code == EXIT_DONE)
        report_drained (cli, name, &reply);
    return code;
}

int verb_drain (const struct cli *cli)
{
    const struct usage usage = {
        .synopsis = "zplan drain NAME... --connect ENDPOINT-OF-THE-TARGET",
        .about = about_drain,
        .words_min = 1,
        .words_max = INT_MAX,
        .words = "the name of a worker",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct zplan_client *client = call_open (cli, &code);
    if (client)
        code = call_for_each_argument (cli, client, cli->argv + 1, count, drain_worker);
    zplan_client_destroy (&client);
    return code;
}
