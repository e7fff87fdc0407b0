// zplan show: one plan with its messages.
#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "codes.h"
#include "desc.h"
#include "json.h"
#include "memory.h"
#include "options.h"
#include "plan_ref.h"
#include "plan_words.h"
#include "policy.h"
#include "print.h"
#include "terms_show.h"

static const char about[] =
    "Show a plan as it is now: its fields, and the frames of its messages.\n"
    "The PLAN frame as it was submitted is in --json only.\n\n"
    "  zplan show 1f\n"
    "  zplan show 1f --json | jq .next_at\n";

// The fields in the order of interest; `word` NULL: the value is bytes.
static const struct row {
    const char *field, *label;
    const char *(*word) (const json_t *value, char out[WORD_SIZE]);
    enum colour (*colour) (const json_t *value); // NULL: plain
} rows[] = {
    {"plan_id", "id", id_word, NULL},
    {"station", "target", NULL, NULL},
    {"key", "name", NULL, NULL},
    {"description", "title", NULL, NULL},
    {"plan_state", "state", plain_state, state_colour},
    {"verdict", "verdict", verdict_word, verdict_colour},
    {"last_state", "last status", status_text, status_colour},
    {"error_info", "error", NULL, NULL},
    {"remark", "remark", NULL, NULL},
    {"progress", "progress", NULL, NULL},
    {"plan_time", "next time", moment_word, NULL},
    {"plan_type", "type", type_word, NULL},
    {"plan_value", "value", number_word, NULL},
    {"plan_repet", "repeat", repeat_word, NULL},
    {"real_repet", "runs done", number_word, NULL},
    {"no_keep", "keep", number_word, NULL},
    {"base_time", "base time", moment_word, NULL},
    {"skip_set", "skip", number_word, NULL},
    {"skip_num", "skipped", number_word, NULL},
    {"missed", "missed", number_word, NULL},
    {"add_time", "added", moment_word, NULL},
    {"exec_time", "last run", moment_word, NULL},
    {"exec_id", "last run's id", id_word, NULL},
    {"error_count", "errors", number_word, NULL},
    {"caller", "caller", NULL, NULL},
    {"request_id", "request id", NULL, NULL},
    {"vote", "vote", vote_word, NULL},
    {"revision", "revision", number_word, NULL},
};

static void print_fields (const json_t *plan)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[WORD_SIZE];
        const json_t *value = json_object_get (plan, rows[i].field);
        if (!value)
            continue;
        terms_label (rows[i].label);
        enum colour colour = rows[i].colour ? rows[i].colour (value) : PLAIN;
        colour_on (stdout, colour);
        if (rows[i].word)
            printf ("%s", rows[i].word (value, out));
        else
            print_frame (value);
        colour_off (stdout, colour);
        putchar ('\n');
    }
}

// The frame types that the stored description gives; all 0 where it is broken.
static void read_types (const json_t *description, size_t following, struct desc *ret)
{
    char *text = json_write (description);
    uint8_t *bytes = memory_new (strlen (text));
    size_t size;
    struct reason reason;
    if (!json_to_frame (description, bytes, &size) ||
        desc_parse (span_of (bytes, size), following, ret, &reason))
        *ret = (struct desc){0};
    free (bytes);
    free (text);
}

// The messages are the plan's mailbox, the description, and the frames behind it. The PLAN frame is
// what was submitted; the plan may have changed since, and its fields stand above.
static void print_messages (const json_t *messages)
{
    enum { FIRST_FRAME = 2 };
    size_t count = json_array_size (messages);
    if (count <= FIRST_FRAME)
        return;
    struct desc desc;
    read_types (json_array_get (messages, 1), count - FIRST_FRAME, &desc);
    printf ("messages\n");
    for (size_t i = FIRST_FRAME; i < count; i++) {
        uint8_t type = i - FIRST_FRAME < desc.count ? desc.types[i - FIRST_FRAME] : 0;
        if (type == ZERO_FRAME_PLAN)
            continue;
        const char *name = type ? frame_name (type) : NULL;
        char number[WORD_SIZE];
        snprintf (number, sizeof number, "0x%02x", type);
        printf ("  %-12s ", name ? name : type ? number : "?");
        print_frame (json_array_get (messages, i));
        putchar ('\n');
    }
}

// -- when it is tried again

// The pace of the plan's retries, from the end of its last run; -1: it waits for no retry.
static int64_t retry_delay (const json_t *plan)
{
    enum { STATE_RETRY = 3 };
    struct policy *policy;
    struct reason ignored;
    int64_t failures = json_integer_value (json_object_get (plan, "error_count"));
    const json_t *run = json_object_get (plan, "exec_id");
    if (json_integer_value (json_object_get (plan, "plan_state")) != STATE_RETRY || failures < 1 ||
        !policy_read_from (plan, &policy, &ignored))
        return -1;
    const struct retry_policy paced = {.strategy = RETRY_PACED};
    int64_t delay_ms = retry_delay_ms (policy ? &policy->retry : &paced, failures,
                                       (uint64_t)json_integer_value (run));
    policy_destroy (&policy);
    return delay_ms;
}

// The history knows when the run ended. What it does not keep is not told.
static void print_retry (const struct cli *cli, struct zplan_client *client, const json_t *plan)
{
    int64_t delay_ms = retry_delay (plan);
    if (delay_ms < 0)
        return;
    struct zplan_reply reply;
    struct reason ignored;
    char out[WORD_SIZE], filter[64];
    snprintf (filter, sizeof filter, "{\"plan\":\"%s\",\"newest\":true,\"limit\":1}",
              id_word (json_object_get (plan, "plan_id"), out));
    int outcome = zplan_client_manage (client, "history", (const char *[]){filter}, 1, &reply);
    if (call_verdict (cli, outcome, &reply).code != EXIT_DONE)
        return;
    json_t *answer = json_read_object (call_frame (&reply, ZERO_FRAME_JSON), &ignored);
    const json_t *run = json_array_get (json_object_get (answer, "runs"), 0);
    const json_t *ended = json_object_get (run, "ended");
    if (ended && json_equal (json_object_get (run, "exec_id"), json_object_get (plan, "exec_id"))) {
        json_t *at = json_real (json_number_value (ended) + (double)delay_ms / 1000);
        terms_label ("next try");
        printf ("%s\n", moment_word (at, out));
        json_decref (at);
    }
    json_decref (answer);
}

static int show (const struct cli *cli, struct zplan_client *client, const char *id)
{
    int code;
    json_t *plan = call_words (cli, client, (const char *[]){"message", id, NULL}, id, &code);
    if (plan && cli->json) {
        print_plan (cli, plan);
    } else if (plan) {
        print_fields (plan);
        terms_label ("schedule");
        write_plan_schedule (stdout, plan);
        putchar ('\n');
        terms_show (plan);
        print_retry (cli, client, plan);
        print_messages (json_object_get (plan, "messages"));
    }
    json_decref (plan);
    return code;
}

int verb_show (const struct cli *cli)
{
    const struct usage usage = {
        .synopsis = "zplan show ID",
        .about = about,
        .words_min = 1,
        .words_max = 1,
        .words = "one plan, by id or name",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    char id[PLAN_REF_SIZE];
    if (plan_ref_read (cli->argv[1], id, &reason))
        return usage_error (cli->argv[0], &reason);
    struct zplan_client *client = call_open (cli, &code);
    if (client)
        code = show (cli, client, id);
    zplan_client_destroy (&client);
    return code;
}
