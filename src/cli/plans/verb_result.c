// zplan result: the last results of a plan, complete.
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "codes.h"
#include "json.h"
#include "status_names.h"
#include "options.h"
#include "outcomes.h"
#include "pages.h"
#include "plan_ref.h"
#include "print.h"
#include "cells.h"

static const char about[] =
    "Print the last result of a plan whole, byte for byte: of each voter where it is a vote. Of a\n"
    "plan that has ended the station keeps up to 64 KiB (--output-total and --output-age of "
    "zpland).\n"
    "Exit status 1: there is no result, or the run failed (its output is still printed).\n"
    "What earlier runs wrote: `zplan logs`.\n\n"
    "  zplan result report > report.csv\n"
    "  zplan result 1f --json | jq -r '.results[0].frames[].text'\n";

// -- a result of a plan that the station has

// Find the frame of an answer that holds the run's output; NULL: there is none.
static const json_t *output_frame (const json_t *frames, const struct desc *desc)
{
    for (size_t i = 0; i < desc->count; i++) {
        const json_t *frame = json_array_get (frames, 1 + i);
        if (frame_is_output (desc->types[i]) &&
            json_string_length (json_is_object (frame) ? json_object_get (frame, "b64") : frame))
            return frame;
    }
    return NULL;
}

// Make the object of one result, with the names of json_names.h.
static json_t *result_object (const json_t *worker, const json_t *status, const json_t *frames,
                              const struct desc *desc)
{
    json_t *list = json_array ();
    for (size_t i = 0; i < desc->count; i++) {
        json_t *frame = json_array_get (frames, 1 + i);
        const char *name = frame_name (desc->types[i]);
        bool is_text = json_is_string (frame);
        json_array_append_new (list,
                               json_pack ("{s:o, s:O*}", "type",
                                          name ? json_string (name) : json_integer (desc->types[i]),
                                          is_text ? "text" : "b64",
                                          is_text ? frame : json_object_get (frame, "b64")));
    }
    return json_pack ("{s:O*, s:s*, s:o}", "worker", worker, "status", json_status_name (status),
                      "frames", list);
}

// Print the output, which a script gets byte for byte; NULL: there is none.
static void print_output (const json_t *frame)
{
    if (frame && !output_print_frame (stdout, frame) && isatty (STDOUT_FILENO))
        putchar ('\n');
}

// Print the heading of one worker's result, if there are several.
static void print_worker (const json_t *worker, const json_t *status)
{
    printf ("== ");
    write_frame (stdout, worker);
    printf (", %s\n", outcome_text (status));
}

static int report_failure (const char *plan, const json_t *status)
{
    bool plain = json_integer_value (status) == ZERO_STATUS_FAILED_ID;
    fprintf (stderr, "zplan: %s: the run failed%s%s\n", plan_ref_shown (plan), plain ? "" : ": ",
             plain ? "" : outcome_text (status));
    return EXIT_REFUSED;
}

static int print_results (const struct cli *cli, const char *plan, const json_t *answer)
{
    const json_t *results = json_object_get (answer, "results"), *result;
    json_t *list = json_array ();
    int code = EXIT_DONE;
    size_t i;
    json_array_foreach (results, i, result)
    {
        struct desc desc;
        const json_t *frames = json_object_get (result, "frames"),
                     *worker = json_object_get (result, "worker");
        if (json_array_size (frames) == 0 ||
            !json_to_desc (json_array_get (frames, 0), json_array_size (frames) - 1, &desc))
            continue;
        json_t *status = json_integer (desc.code);
        if (cli->json)
            json_array_append_new (list, result_object (worker, status, frames, &desc));
        else if (json_array_size (results) > 1)
            print_worker (worker, status);
        if (!cli->json)
            print_output (output_frame (frames, &desc));
        if (desc.code >= ZERO_STATUS_ERROR_FLAG)
            code = report_failure (plan, status);
        json_decref (status);
    }
    if (cli->json && strcmp (cli->json, "wire") == 0)
        print_json (answer);
    else if (cli->json)
        print_answer_new (cli, JSON_ANSWER,
                          json_pack ("{s:O*, s:O}", "plan_id", json_object_get (answer, "plan_id"),
                                     "results", list));
    json_decref (list);
    return code;
}

// -- a result of a plan that has ended

static int print_past_result (const struct cli *cli, char *plan, struct zplan_client *client)
{
    int code;
    json_t *runs = output_runs (cli, client, 1, plan, &code);
    if (!runs)
        return code;
    const json_t *run = json_array_get (runs, 0), *output = json_object_get (run, "output"),
                 *status = json_object_get (run, "status");
    const char *missing = NULL;
    if (!run) {
        missing = "no such plan, or no run of it has ended";
    } else if (cli->json) {
        print_answer (cli, JSON_RUN, run);
    } else if (!output) {
        missing = "no result of its last run is kept";
    } else if (json_object_get (output, "tail")) {
        output_print (stdout, output);
        missing = "the result is not kept whole";
    } else {
        print_output (json_object_get (output, "head"));
    }
    if (missing)
        code = complain (plan_ref_shown (plan), span_text (missing));
    if (json_integer_value (status) >= ZERO_STATUS_ERROR_FLAG)
        code = report_failure (plan, status);
    json_decref (runs);
    return code;
}

// -- the verb

// Request the results by the id, then by the name that the id may also be. NULL: there are none,
// and `ret_code` is EXIT_DONE, or an error was reported.
static json_t *request_results (const struct cli *cli, struct zplan_client *client,
                                const char *plan, int *ret_code)
{
    struct verdict verdict;
    char name[PLAN_REF_SIZE];
    const char *words[] = {"result", plan, NULL};
    json_t *answer = call_command_quietly (cli, client, words, &verdict);
    if (verdict.status == ZERO_STATUS_NOT_FIND_ID && plan_ref_as_name (cli, plan, name)) {
        words[1] = name;
        answer = call_command_quietly (cli, client, words, &verdict);
    }
    *ret_code = EXIT_DONE;
    if (verdict.status != ZERO_STATUS_NOT_FIND_ID)
        *ret_code = verdict_print (&verdict, verdict.unreadable ? NULL : plan_ref_shown (plan));
    if (json_array_size (json_object_get (answer, "results")))
        return answer;
    json_decref (answer);
    return NULL;
}

static int print_plan_result (const struct cli *cli, struct zplan_client *client, const char *id)
{
    int code;
    char plan[PLAN_REF_SIZE];
    snprintf (plan, sizeof plan, "%s", id);
    json_t *answer = request_results (cli, client, plan, &code);
    if (answer)
        code = print_results (cli, plan, answer);
    else if (code == EXIT_DONE)
        code = print_past_result (cli, plan, client);
    json_decref (answer);
    return code;
}

int verb_result (const struct cli *cli)
{
    const struct usage usage = {
        .synopsis = "zplan result ID ...",
        .about = about,
        .words_min = 1,
        .words_max = INT_MAX,
        .words = "plan ids or names",
    };
    return call_for_each_plan (cli, &usage, print_plan_result);
}
