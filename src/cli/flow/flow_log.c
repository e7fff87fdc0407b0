// zplan flow log: prints the log of a run, and follows it until the run has ended.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "flow.h"
#include "flow_command.h"
#include "flow_run_view.h"
#include "print.h"
#include "text_table.h"
#include "utf8.h"

// -- lines

static void print_log_line (const struct cli *cli, const json_t *line)
{
    const json_t *state = json_object_get (line, "state"),
                 *detail = json_object_get (line, "detail"), *by = json_object_get (line, "by"),
                 *why = json_object_get (line, "why"), *item = json_object_get (line, "item");
    char step[FLOW_NAME_MAX + 32];
    if (cli->json) {
        flow_run_print_json (cli, line);
        return;
    }
    const struct span name = utf8_cut (field_text (line, "step"), FLOW_NAME_MAX);
    int size = snprintf (step, sizeof step, "%.*s", (int)name.size, (const char *)name.data);
    if (item)
        size += snprintf (step + size, sizeof step - (size_t)size, ".%" JSON_INTEGER_FORMAT,
                          json_integer_value (item));
    column_time_ms (stdout, json_object_get (line, "at"));
    printf ("  ");
    print_column (span_of (step, (size_t)size), 20);
    putchar (' ');
    colour_on (stdout, flow_state_colour (state));
    if (detail)
        print_column (text_of (state), 9);
    else
        print_bytes (text_of (state));
    colour_off (stdout, flow_state_colour (state));
    if (detail) {
        putchar (' ');
        write_error (stdout, text_of (detail));
    }
    if (by || why)
        print_between ("  by ", by ? text_of (by) : span_text ("an operator"), "");
    if (why) {
        printf (": ");
        write_error (stdout, text_of (why));
    }
    putchar ('\n');
}

// How many lines at the start of `page` were already printed with the page before it. The station
// keeps only the last lines, so the first ones may have been dropped meanwhile.
static size_t count_known_lines (const json_t *before, const json_t *page)
{
    size_t old = json_array_size (before), size = json_array_size (page);
    for (size_t gone = 0; gone < old; gone++) {
        size_t same = 0;
        while (gone + same < old && same < size &&
               json_equal (json_array_get (before, gone + same), json_array_get (page, same)))
            same++;
        if (gone + same == old)
            return same;
    }
    return 0;
}

static void print_log_page (const struct cli *cli, const json_t *before, const json_t *page)
{
    for (size_t i = count_known_lines (before, page); i < json_array_size (page); i++)
        print_log_line (cli, json_array_get (page, i));
    fflush (stdout);
}

// -- until it has ended

enum { POLL_US = 200000, NO_ANSWER_MAX_US = 60000000 };

struct log_follower {
    const struct cli *cli;
    struct zplan_client *client;
    const char *run;
    json_t *page; // the last page that was printed
    int64_t answered_us;
    json_int_t updated_ms; // the run's last change, when it was read last
    int unchanged;         // number of later reads that found it unchanged
    bool ended, parked;    // parked: the failed undo of the run was reported
    int code;
};

bool flow_wait_continues (const struct verdict *verdict, int64_t *answered_us)
{
    bool away = verdict->code == EXIT_NO_ANSWER || verdict->status == ZERO_STATUS_NET_ERROR_ID;
    int64_t now_us = clock_mono_us ();
    if (verdict->code == EXIT_DONE || !*answered_us)
        *answered_us = now_us;
    return verdict->code == EXIT_DONE || (away && now_us - *answered_us <= NO_ANSWER_MAX_US);
}

// Read the run before the log: if the run has ended, the log is then complete. NULL: the run could
// not be read now.
static json_t *read_run_and_log (struct log_follower *self)
{
    struct verdict verdict;
    const char *const show[] = {"show", self->run, "{\"limit\":1}", NULL};
    const char *const log[] = {"log", self->run, NULL};
    json_t *run = flow_send_command_quietly (self->cli, self->client, show, &verdict);
    json_int_t updated_ms = field_number (run, "updated_ms");
    self->unchanged = updated_ms == self->updated_ms ? self->unchanged + 1 : 0;
    self->updated_ms = updated_ms;
    // Read the log only after a change, and once more, as there may be two changes in a
    // millisecond.
    bool read_log = run && (self->unchanged < 2 || flow_run_has_ended (run));
    json_t *answer =
        read_log ? flow_send_command_quietly (self->cli, self->client, log, &verdict) : NULL;
    json_t *page = json_object_get (answer, "log");
    if (!flow_wait_continues (&verdict, &self->answered_us))
        self->code = verdict_print (&verdict, self->run);
    if (run && !read_log)
        return run;
    if (self->code == EXIT_DONE && page) {
        print_log_page (self->cli, self->page, page);
        json_decref (self->page);
        self->page = json_incref (page);
        self->ended = flow_run_has_ended (run);
        bool parked = json_object_get (run, "undo_parked");
        if (parked && !self->parked)
            flow_run_print_parked (stderr, run);
        self->parked = parked;
    } else {
        json_decref (run);
        run = NULL;
    }
    json_decref (answer);
    return run;
}

json_t *flow_run_follow (const struct cli *cli, struct zplan_client *client, const char *run,
                         int *ret_code)
{
    struct log_follower self = {.cli = cli, .client = client, .run = run, .code = EXIT_DONE};
    json_t *seen = NULL;
    while (!self.ended && self.code == EXIT_DONE) {
        json_decref (seen);
        seen = read_run_and_log (&self);
        if (!self.ended && self.code == EXIT_DONE)
            usleep (POLL_US);
    }
    json_decref (self.page);
    json_object_del (seen, "steps"); // `seen` has only one page of them
    json_object_del (seen, "next");
    *ret_code = self.code;
    return seen;
}

int flow_log (const struct cli *cli, const struct flow_options *options)
{
    char run[IDENT_SIZE];
    json_t *answer;
    struct zplan_client *client = options->client;
    int code = flow_run_read (cli, client, options->words[0], options->flow, run);
    if (code != EXIT_DONE)
        return code;
    if (options->follow) {
        answer = flow_run_follow (cli, client, run, &code);
        if (answer && !cli->json)
            flow_run_print_state (answer);
    } else {
        answer = flow_send_command (cli, client, (const char *[]){"log", run, NULL}, run, &code);
        print_log_page (cli, NULL, json_object_get (answer, "log"));
    }
    json_decref (answer);
    return code;
}
