#include "watch_events.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "codes.h"
#include "json.h"
#include "options.h"
#include "print.h"
#include "process.h"
#include "rfc3339.h"

enum { EVENTS_AT_ONCE = 64 }; // after these, signals are checked

// Print a step and its item: " load", " load.3".
static void print_step (const json_t *state, const char *name)
{
    const json_t *step = json_object_get (state, name), *item = json_object_get (state, "item");
    if (!step)
        return;
    putchar (' ');
    write_frame (stdout, step);
    if (item)
        printf (".%" JSON_INTEGER_FORMAT, json_integer_value (item));
}

static void print_member (const json_t *state, const char *name)
{
    if (!json_object_get (state, name))
        return;
    printf (" %s=", name);
    write_frame (stdout, json_object_get (state, name));
}

// Print the event of a flow run: "2026-01-31T02:00:00Z flow nightly 5f3a... skipped load by=rule".
static void print_flow_event (const json_t *state)
{
    printf (" ");
    write_frame (stdout, json_object_get (state, "run"));
    printf (" ");
    write_frame (stdout, json_object_get (state, "event"));
    print_step (state, "step");
    print_member (state, "by");
    print_member (state, "state");
    print_member (state, "why");
    print_member (state, "error");
}

static void print_plan_event (const struct zplan_event *event, const json_t *state)
{
    const json_t *flow = json_object_get (state, "flow");
    print_between (" ", span_of (event->id, event->id_size), "");
    if (json_object_get (state, "description")) {
        printf (" \"");
        write_frame (stdout, json_object_get (state, "description"));
        printf ("\" %s", state_plain_text (json_object_get (state, "plan_state")));
    }
    print_member (flow, "run");
    if (json_object_get (flow, "step"))
        printf (" step=");
    print_step (flow, "step");
}

static void print_line (const struct zplan_event *event, const json_t *state)
{
    char now[RFC3339_SIZE];
    display_refresh ();
    rfc3339_format (display_get ()->now, now);
    printf ("%s %s ", now, event_word (event->code));
    print_bytes (span_of (event->station, event->station_size));
    if (event->code == ZPLAN_EVENT_FLOW)
        print_flow_event (state);
    else
        print_plan_event (event, state);
    putchar ('\n');
}

// Print an event as JSON. The state of a plan gets the names of json_names.h; that of a flow run
// has its own.
static void print_object (const struct cli *cli, const struct zplan_event *event,
                          const json_t *state)
{
    bool as_is = event->code == ZPLAN_EVENT_FLOW || strcmp (cli->json, "wire") == 0;
    print_json_new (json_pack ("{s:s, s:o, s:o, s:o*}", "event", event_word (event->code), "target",
                               json_from_frame (span_of (event->station, event->station_size)),
                               "id", json_from_frame (span_of (event->id, event->id_size)), "state",
                               as_is ? json_deep_copy (state) : json_names (JSON_PLAN, state)));
}

static void report_lost_events (const struct zplan_event *event)
{
    if (event->missed == ZPLAN_EVENTS_UNKNOWN)
        complain (NULL,
                  span_text ("the station restarted the numbers of events: some may be missed"));
    else if (event->missed)
        fprintf (stderr, "zplan: %" PRId64 " events are missed\n", event->missed);
}

// Print an event, and count it. False: enough events were printed, or the output is closed.
static bool print_event (const struct cli *cli, const struct zplan_event *event, int64_t *left)
{
    struct reason reason;
    json_t *state = json_read_object (span_of (event->state, event->state_size), &reason);
    if (cli->json)
        print_object (cli, event, state);
    else
        print_line (event, state);
    json_decref (state);
    return !fflush (stdout) && --*left > 0;
}

static bool is_signal_pending (int signal_fd)
{
    int number = process_next_signal (signal_fd);
    return number != 0 && number != SIGCHLD;
}

static void receive_events (const struct cli *cli, struct zplan_events *events, const char *title,
                            int64_t count)
{
    int signal_fd = process_prepare ();
    bool continues = true;
    while (continues && !is_signal_pending (signal_fd)) {
        struct pollfd items[] = {{.fd = zplan_events_fd (events), .events = POLLIN},
                                 {.fd = signal_fd, .events = POLLIN}};
        struct zplan_event event;
        if (poll (items, 2, -1) < 0 && errno != EINTR)
            break;
        for (int i = 0; continues && i < EVENTS_AT_ONCE; i++) {
            if (zplan_events_recv (events, 0, &event) != ZPLAN_OK)
                break;
            report_lost_events (&event);
            if (bytes_begin (span_of (event.station, event.station_size), title))
                continues = print_event (cli, &event, &count);
        }
    }
    close (signal_fd);
}

int watch_events (const struct cli *cli, const char *endpoint, const char *title, int64_t count)
{
    struct keyfile key;
    int code = EXIT_DONE;
    if (keyfile_read (&key, cli, &code))
        return code;
    struct zplan_events *events =
        key.given ? zplan_events_new_curve (endpoint, &key.curve) : zplan_events_new (endpoint);
    if (!events)
        return call_refuse_endpoint (cli, "--events", endpoint);
    receive_events (cli, events, title, count);
    zplan_events_destroy (&events);
    return EXIT_DONE;
}
