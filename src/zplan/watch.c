// zplan watch: results as the station publishes them, until a signal, or so many of them.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <zmq.h>

#include "call.h"
#include "clock.h"
#include "codes.h"
#include "json.h"
#include "options.h"
#include "print.h"
#include "process.h"
#include "rfc3339.h"

struct watch {
    const struct cli *cli;
    struct zplan_subscriber *subscriber;
    int signal_fd;
    int64_t left; // results still wanted
};

struct selection {
    int64_t count;
};

static const struct option rows[] = {
    {.name = "-n",
     .metavar = "COUNT",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct selection, count),
     .help = "end after this many results",
     .min = 1,
     .max = INT64_MAX},
};

static const char about[] =
    "Print the results of runs as they come: time, plan, title, status, next time, text.\n"
    "With --json an object a line. Only plans whose title starts with TITLE, if that is given.\n\n"
    "  zplan watch\n"
    "  zplan watch report -n 1\n"
    "  zplan watch --json | jq -r .id\n";

// -- a result for people

// What says most about the result: its content, else its data, else its status in words.
static struct span result_text (const struct zplan_result *result)
{
    static const uint8_t types[] = {ZERO_FRAME_CONTENT, ZERO_FRAME_JSON, ZERO_FRAME_XML,
                                    ZERO_FRAME_STATUS};
    for (size_t i = 0; i < sizeof types; i++)
        for (size_t j = 0; j < result->count; j++)
            if (result->frames[j].type == types[i])
                return span_of (result->frames[j].data, result->frames[j].size);
    return (struct span){0};
}

// The line ends a command prints last say nothing on a line of ours.
static struct span without_newlines (struct span text)
{
    while (text.size && (text.data[text.size - 1] == '\n' || text.data[text.size - 1] == '\r'))
        text.size--;
    return text;
}

// When the plan is due next: its plan_time, unless it has ended or lost its right to run.
static const char *next_word (const json_t *plan, char out[WORD_SIZE])
{
    enum { STATE_ERROR = 6, STATE_CLOSE = 7 };
    json_int_t state = json_integer_value (json_object_get (plan, "plan_state"));
    if (state == STATE_ERROR || state == STATE_CLOSE)
        return "never";
    return time_word (json_object_get (plan, "plan_time"), out);
}

static void print_line (const struct zplan_result *result)
{
    char now[RFC3339_SIZE], nominal[WORD_SIZE];
    struct reason reason;
    json_t *plan = json_read_object (span_of (result->plan, result->plan_size), &reason);
    rfc3339_format (clock_wall_us () / 1000000, now);
    printf ("%s ", now);
    print_bytes (span_of (result->id, result->id_size));
    printf (" \"");
    print_bytes (span_of (result->title, result->title_size));
    printf ("\" %s next %s ", status_word (result->status), next_word (plan, nominal));
    print_bytes (without_newlines (result_text (result)));
    putchar ('\n');
    json_decref (plan);
}

// -- a result for programs

static json_t *frames_of (const struct zplan_result *result)
{
    json_t *list = json_array ();
    for (size_t i = 0; i < result->count; i++) {
        const struct zplan_frame *frame = &result->frames[i];
        const char *name = frame_name (frame->type);
        json_t *entry = json_object ();
        json_object_set_new (entry, "type", json_integer (frame->type));
        json_object_set_new (entry, "name", name ? json_string (name) : json_null ());
        json_object_set_new (entry, "value", json_from_frame (span_of (frame->data, frame->size)));
        json_array_append_new (list, entry);
    }
    return list;
}

static void print_object (const struct zplan_result *result)
{
    struct reason reason;
    struct span plan_text = span_of (result->plan, result->plan_size);
    json_t *plan = json_read_object (plan_text, &reason);
    json_t *object = json_object ();
    json_object_set_new (object, "id", json_from_frame (span_of (result->id, result->id_size)));
    json_object_set_new (object, "title",
                         json_from_frame (span_of (result->title, result->title_size)));
    json_object_set_new (object, "status", json_string (status_word (result->status)));
    json_object_set_new (object, "code", json_integer (result->status));
    json_object_set_new (object, "plan", plan ? plan : json_from_frame (plan_text));
    json_object_set_new (object, "frames", frames_of (result));
    print_json (object);
    json_decref (object);
}

// -- the loop

// Print what has come, but look for signals now and then. False: enough, or nobody reads it.
static bool print_results (struct watch *self)
{
    enum { AT_ONCE = 64 };
    struct zplan_result result;
    for (int i = 0; i < AT_ONCE && self->left > 0; i++) {
        if (zplan_subscriber_recv (self->subscriber, 0, &result) != ZPLAN_ANSWERED)
            break;
        if (self->cli->json)
            print_object (&result);
        else
            print_line (&result);
        if (fflush (stdout))
            return false;
        self->left--;
    }
    return self->left > 0;
}

static int wait_and_print (struct watch *self)
{
    for (;;) {
        zmq_pollitem_t items[] = {
            {.socket = zplan_subscriber_socket (self->subscriber), .events = ZMQ_POLLIN},
            {.fd = self->signal_fd, .events = ZMQ_POLLIN}};
        if (zmq_poll (items, 2, -1) < 0 && errno != EINTR)
            return EXIT_REFUSED;
        int signal_number = process_next_signal (self->signal_fd);
        if (signal_number != 0 && signal_number != SIGCHLD)
            return EXIT_DONE;
        if (!print_results (self))
            return EXIT_DONE; // what could not be written is told at the end of main
    }
}

static struct zplan_subscriber *subscribe (const struct cli *cli, const char *title, int *ret_exit)
{
    struct zplan_subscriber *subscriber = zplan_subscriber_new (cli->publish, title);
    if (subscriber)
        return subscriber;
    struct reason reason;
    if (errno == EINVAL) {
        reason_set (&reason, "--publish: want tcp://HOST:PORT or ipc://PATH, got %s",
                    quoted (span_text (cli->publish)));
        *ret_exit = usage_error (cli->argv[0], &reason);
    } else {
        complain (cli->publish, span_text (strerror (errno)));
        *ret_exit = EXIT_REFUSED;
    }
    return NULL;
}

int verb_watch (const struct cli *cli)
{
    struct selection selection = {.count = INT64_MAX};
    const struct usage usage = {
        .synopsis = "zplan watch [TITLE] [-n COUNT]",
        .about = about,
        .groups = {{"Watch", rows, sizeof rows / sizeof *rows, &selection}},
        .group_count = 1,
        .words_max = 1,
        .words = "at most one title",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct watch self = {.cli = cli, .signal_fd = process_prepare (), .left = selection.count};
    self.subscriber = subscribe (cli, count ? cli->argv[1] : "", &code);
    if (self.subscriber)
        code = wait_and_print (&self);
    zplan_subscriber_destroy (&self.subscriber);
    close (self.signal_fd);
    return code;
}
