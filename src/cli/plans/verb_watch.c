// zplan watch: prints results as the station publishes them, until a signal or a number of results.
// None is lost: the library requests missed ones from the history.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call.h"
#include "hook.h"
#include "json.h"
#include "options.h"
#include "print.h"
#include "process.h"
#include "watch_print.h"

enum { AT_ONCE = 64 }; // results or events; after these, signals are checked
enum { EPOCH_SIZE = 64 };

struct watch_options {
    int64_t count, since; // `since`: -1 = not given
    const char *epoch, *program, *events;
    const char *place;           // file with the epoch and number of the last result; NULL: none
    char read_epoch[EPOCH_SIZE]; // from the position file or the station
    bool failed;                 // print only runs that failed and are not retried
};

struct event_watch {
    const struct cli *cli;
    struct watch_options *options;
    const char *title; // the beginning of a title, or of a target's or a flow's name
    struct zplan_subscriber *subscriber;
    struct zplan_events *events; // with --events, instead of the subscriber
    int signal_fd;
    int64_t left; // number of results or events still wanted
    bool ended;   // enough results, a signal, or an error
    int code;     // exit code of the verb
    struct hook hook;
};

static const struct option rows[] = {
    NUMBER_OPTION (struct watch_options, count, "-n", "COUNT", 1, INT64_MAX,
                   "end after this many results"),
    NUMBER_OPTION (struct watch_options, since, "--since", "SEQ", 0, INT64_MAX,
                   "begin with what was published after this one"),
    TEXT_OPTION (struct watch_options, epoch, "--epoch", "TEXT",
                 "epoch of SEQ; if the station's differs, start with the whole history",
                 .utf8 = true),
    FLAG_OPTION (struct watch_options, failed, "--failed",
                 "only runs that failed and are not retried"),
    TEXT_OPTION (struct watch_options, program, "--exec", "PROGRAM",
                 "with --failed: run this program for each, with the outcome as JSON on its "
                 "standard input",
                 .offered = VALUES_FILES),
    TEXT_OPTION (struct watch_options, place, "--state", "FILE",
                 "keep the place in this file, and begin there the next time",
                 .offered = VALUES_FILES),
    TEXT_OPTION (struct watch_options, events, "--events", "ENDPOINTS",
                 "print events instead, from this events socket of the station,\n"
                 "as tcp://127.0.0.1:7922"),
};

static const char about[] =
    "Print the results of runs as they come: time, plan, title, status, next time, text.\n"
    "With --json one JSON object per line (NDJSON). Only plans whose title starts with TITLE, if\n"
    "that is given. Missed results are requested from --connect and printed in order, marked\n"
    "(from history), in JSON {\"from\":\"history\", ...}. A program resumes with --since and\n"
    "--epoch: seq and epoch of the last result that it has seen.\n\n"
    "  zplan watch\n"
    "  zplan watch report -n 1\n"
    "  zplan watch --since 4711\n"
    "  zplan watch --json | jq -r .plan\n\n"
    "--failed omits runs that succeeded, are retried, were cancelled or missed. --exec\n"
    "runs a program for each, one after the other, without a shell: JSON with plan, name,\n"
    "title, target, status, reason and exec_id on its standard input; the same texts in\n"
    "ZPLAN_PLAN, ZPLAN_NAME, ZPLAN_TITLE, ZPLAN_TARGET, ZPLAN_STATUS, ZPLAN_REASON. An exit\n"
    "status other than 0 is printed, and the next one follows. With --state a restart goes\n"
    "on where it was; an outcome whose program was stopped is passed to it again.\n\n"
    "  zplan watch --failed\n"
    "  zplan watch --failed --exec ./notify.sh --state /var/lib/notify/place\n\n"
    "--events prints everything that happens to plans, and of runs of flows their begin and\n"
    "end and what becomes of steps without a call: time, event, target or flow, plan or run.\n"
    "TITLE is then the beginning of a target's or a flow's name. Events are not stored.\n\n"
    "  zplan watch --events tcp://127.0.0.1:7922 nightly\n";

// -- printing

// Read a pending signal; all but SIGCHLD end the watch. Returns whether the watch has ended.
static bool watch_read_signal (struct event_watch *self)
{
    int number = process_next_signal (self->signal_fd);
    if (number != 0 && number != SIGCHLD)
        self->ended = true;
    return self->ended;
}

// -- the position file

// Read the epoch and number of the last result; a missing file is not an error.
static int position_read (struct watch_options *options, struct reason *reason)
{
    char rest;
    FILE *file = fopen (options->place, "r");
    if (!file && errno == ENOENT)
        return 0;
    int count =
        file ? fscanf (file, "%63s %" SCNd64 " %c", options->read_epoch, &options->since, &rest)
             : 0;
    if (file)
        fclose (file);
    if (count == 2 && options->since >= 0) {
        options->epoch = options->read_epoch;
        return 0;
    }
    return reason_set (reason,
                       "--state: %.150s: want EPOCH and NUMBER as zplan watch has written them",
                       options->place);
}

// Write the position to a new file and rename it, so that the file is always complete.
static void position_write (struct event_watch *self, const char *epoch, int64_t seq)
{
    char temporary[PATH_MAX];
    int size = snprintf (temporary, sizeof temporary, "%s.new", self->options->place);
    FILE *file = size > 0 && (size_t)size < sizeof temporary ? fopen (temporary, "w") : NULL;
    bool good = file && fprintf (file, "%s %" PRId64 "\n", epoch, seq) > 0 && !fflush (file);
    if (file && fclose (file))
        good = false;
    if (good && rename (temporary, self->options->place) == 0)
        return;
    self->code = complain (self->options->place, span_text (strerror (errno)));
    self->ended = true;
}

static void handle_result (struct event_watch *self, const struct zplan_result *result)
{
    struct reason reason;
    struct span text = result->from_history ? span_of (result->run, result->run_size)
                                            : span_of (result->plan, result->plan_size);
    json_t *object = json_read_object (text, &reason);
    bool wanted = !self->options->failed || hook_is_failure (result, object), done = true;
    if (wanted && result->from_history)
        result_print_run (self->cli, object, result->epoch);
    else if (wanted)
        result_print (self->cli, result, object);
    if (wanted && self->hook.program) {
        fflush (stdout);
        done = hook_run (&self->hook, result, object);
        self->ended = self->ended || !done;
    }
    json_decref (object);
    if (done && self->options->place && result->seq && *result->epoch)
        position_write (self, result->epoch, result->seq);
    // End after the last wanted result, or if stdout cannot be written, which main reports.
    if (wanted && (fflush (stdout) || --self->left == 0))
        self->ended = true;
}

// -- notices of the subscriber

static void report_no_answer (struct event_watch *self, const struct zplan_notice *notice)
{
    struct verdict verdict = notice->error ? call_verdict (self->cli, notice->error, NULL)
                                           : verdict_refused (notice->words);
    verdict_print (&verdict, "history");
    if (notice->at_start) { // the results after --since are not available
        self->code = verdict.code;
        self->ended = true;
        return;
    }
    complain (NULL, span_text ("until the history answers, missed results cannot be requested"));
}

static void handle_notice (void *context, const struct zplan_notice *notice)
{
    // The words around the numbers `after` and `before`.
    static const char *const texts[][3] = {
        [ZPLAN_NOTICE_GONE] = {"results after ", " are gone: the first one kept is ", ""},
        [ZPLAN_NOTICE_MISSED] = {"results between ", " and ", " are missed"},
        [ZPLAN_NOTICE_BACK] = {"the station has lost results that were printed: after ", " comes ",
                               ""},
        [ZPLAN_NOTICE_AHEAD] = {"there is no result ", " yet: the last one is ", ""}};
    struct event_watch *self = context;
    if (watch_read_signal (self))
        return;
    switch (notice->kind) {
    case ZPLAN_NOTICE_SILENT:
        report_no_answer (self, notice);
        break;
    case ZPLAN_NOTICE_ANEW:
        complain (NULL, span_text ("the station restarted its numbering of results: earlier ones "
                                   "may be missed"));
        break;
    default:
        fprintf (stderr, "zplan: %s%" PRId64 "%s%" PRId64 "%s\n", texts[notice->kind][0],
                 notice->after, texts[notice->kind][1], notice->before, texts[notice->kind][2]);
    }
}

// -- results

// Receive a limited number of pending results, so that signals are checked regularly.
static void receive_results (struct event_watch *self)
{
    struct zplan_result result;
    for (int i = 0; i < AT_ONCE && !self->ended; i++) {
        if (zplan_subscriber_recv (self->subscriber, 0, &result) != ZPLAN_OK)
            break;
        if (!self->ended)
            handle_result (self, &result);
    }
}

// Receive a limited number of pending events.
static void receive_events (struct event_watch *self)
{
    struct zplan_event event;
    for (int i = 0; i < AT_ONCE && !self->ended; i++) {
        if (zplan_events_recv (self->events, 0, &event) != ZPLAN_OK)
            break;
        if (event.missed == ZPLAN_EVENTS_UNKNOWN)
            complain (NULL, span_text ("the station restarted the numbers of events: some may be "
                                       "missed"));
        else if (event.missed)
            fprintf (stderr, "zplan: %" PRId64 " events are missed\n", event.missed);
        if (!bytes_begin (span_of (event.station, event.station_size), self->title))
            continue;
        event_print (self->cli, &event);
        self->ended = fflush (stdout) || --self->left == 0;
    }
}

static int wait_and_print (struct event_watch *self)
{
    while (!self->ended) {
        struct pollfd items[] = {{.fd = self->events ? zplan_events_fd (self->events)
                                                     : zplan_subscriber_fd (self->subscriber),
                                  .events = POLLIN},
                                 {.fd = self->signal_fd, .events = POLLIN}};
        if (poll (items, 2, -1) < 0 && errno != EINTR)
            return EXIT_REFUSED;
        if (!watch_read_signal (self))
            (self->events ? receive_events : receive_results) (self);
    }
    return self->code;
}

// -- start

// The station only logs a rejected subscription and does not answer it. So request the key's rights
// first; if there is no answer, the watch begins anyway. Returns an exit code.
static int check_key (const struct cli *cli)
{
    struct reason reason = {""};
    struct verdict verdict;
    int code;
    struct zplan_client *client = cli->key ? call_open (cli, &code) : NULL;
    if (!client)
        return cli->key ? code : EXIT_DONE;
    json_t *answer = call_with_filter (cli, client, "whoami", NULL, &verdict), *role;
    const json_t *roles = json_object_get (answer, "roles");
    struct span name = field_text (answer, "name");
    size_t i;
    bool may_observe = !json_is_array (roles);
    json_array_foreach (roles, i, role) may_observe =
        may_observe || span_is (text_of (role), "observe");
    if (!may_observe)
        reason_set (&reason, "the key %s may not subscribe: it needs the role observe",
                    quoted (name));
    else if (json_is_string (json_object_get (answer, "stations")))
        reason_set (&reason,
                    "the key %s may not subscribe: it is bound to the targets %s, and a "
                    "subscriber receives the results of all",
                    quoted (name), quoted (field_text (answer, "stations")));
    json_decref (answer);
    zplan_client_destroy (&client);
    return reason.text[0] ? complain (NULL, span_text (reason.text)) : EXIT_DONE;
}

// Open the subscriber, or the events. Returns an exit code.
static int open_socket (struct event_watch *self)
{
    struct keyfile key;
    int code;
    const struct cli *cli = self->cli;
    const char *events = self->options->events;
    if (keyfile_read (&key, cli, &code))
        return code;
    if (events)
        self->events =
            key.given ? zplan_events_new_curve (events, &key.curve) : zplan_events_new (events);
    else
        self->subscriber = key.given ? zplan_subscriber_new_curve (cli->publish, "", &key.curve)
                                     : zplan_subscriber_new (cli->publish, "");
    if (self->events || self->subscriber)
        return EXIT_DONE;
    return events ? call_refuse_endpoint (cli, "--events", events)
                  : call_refuse_endpoint (cli, "--publish", cli->publish);
}

// Begin the watch. Without --since it starts with results from now on, even if the history does not
// answer; with --since it needs the history.
static int begin_watch (struct event_watch *self)
{
    const struct cli *cli = self->cli;
    struct zplan_recovery recovery = {.endpoint = cli->connect,
                                      .since = self->options->since,
                                      .epoch = self->options->epoch,
                                      .title = self->title,
                                      .timeout_ms = cli->timeout_ms,
                                      .fn = handle_notice,
                                      .context = self};
    int error = zplan_subscriber_recover (self->subscriber, &recovery);
    if (!error)
        return EXIT_DONE;
    struct reason reason;
    if (error != ZPLAN_ERROR_ARGUMENT)
        return complain (cli->connect, span_text (zplan_error_text (error)));
    call_endpoint_reason ("--connect", cli->connect, &reason);
    return usage_error (cli->argv[0], &reason);
}

// Create the position file at the first start, with the current position: so a restart loses
// nothing even if no result was received before. Returns an exit code.
static int position_create (struct event_watch *self)
{
    int code;
    struct watch_options *options = self->options;
    const char *const request_words[] = {"history", "{\"newest\":true,\"limit\":1}", NULL};
    struct zplan_client *client = call_open (self->cli, &code);
    json_t *answer = client ? call_command (self->cli, client, request_words, NULL, &code) : NULL;
    const char *text = json_string_value (json_object_get (answer, "epoch"));
    int64_t last = field_number (answer, "last");
    if (text && *text && strlen (text) < EPOCH_SIZE && last >= 0) {
        snprintf (options->read_epoch, EPOCH_SIZE, "%s", text);
        options->epoch = options->read_epoch;
        options->since = last;
        position_write (self, options->epoch, last);
        code = self->code;
    }
    json_decref (answer);
    zplan_client_destroy (&client);
    return code;
}

static int run_watch (struct event_watch *self)
{
    int code = open_socket (self);
    if (code == EXIT_DONE && self->options->place && self->options->since < 0)
        code = position_create (self);
    if (code == EXIT_DONE && self->subscriber)
        code = begin_watch (self);
    return code == EXIT_DONE ? wait_and_print (self) : code;
}

static int check_watch_options (const struct watch_options *options, struct reason *reason)
{
    bool since = options->since >= 0;
    if (options->epoch && !since)
        reason_set (reason, "--epoch: goes with --since only");
    else if (options->program && !options->failed)
        reason_set (reason, "--exec: goes with --failed only");
    else if (options->place && since)
        reason_set (reason, "--state and --since: want one or the other");
    else if (options->events && (since || options->failed || options->place))
        reason_set (reason, "--events: goes with -n and TITLE only");
    else
        return 0;
    return -1;
}

int verb_watch (const struct cli *cli)
{
    struct watch_options options = {.count = INT64_MAX, .since = -1};
    const struct usage usage = {
        .synopsis = "zplan watch [TITLE] [-n COUNT] [--since SEQ] [--failed [--exec PROGRAM]]",
        .about = about,
        .groups = {OPTION_GROUP ("Watch", rows, &options)},
        .words_max = 1,
        .words = "at most one title",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    if (check_watch_options (&options, &reason) ||
        (options.place && position_read (&options, &reason)))
        return usage_error (cli->argv[0], &reason);
    if (options.program && hook_check (options.program, &reason))
        return complain (NULL, span_text (reason.text));
    code = check_key (cli);
    if (code)
        return code;
    mode_t before = umask (077);
    struct event_watch self = {.cli = cli,
                               .signal_fd = process_prepare (),
                               .options = &options,
                               .title = count ? cli->argv[1] : "",
                               .left = options.count,
                               .code = EXIT_DONE,
                               .hook = {.program = options.program, .umask = before}};
    self.hook.signal_fd = self.signal_fd;
    code = run_watch (&self);
    zplan_subscriber_destroy (&self.subscriber);
    zplan_events_destroy (&self.events);
    close (self.signal_fd);
    return code;
}
