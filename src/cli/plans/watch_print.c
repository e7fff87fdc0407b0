// For people, texts from peers are printed as they are; in JSON they are as frames (json.h).
#include "watch_print.h"

#include <stdio.h>

#include "codes.h"
#include "json.h"
#include "outcomes.h"
#include "plan.h"
#include "print.h"
#include "rfc3339.h"

// Print the time, to which the times on the line are relative.
static void print_now (void)
{
    char now[RFC3339_SIZE];
    display_refresh ();
    rfc3339_format (display_get ()->now, now);
    printf ("%s ", now);
}

// -- a result for people

// The most informative text of the result: its content, else its data, else its status.
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

// Drop the trailing newlines of a command's output.
static struct span without_newlines (struct span text)
{
    while (text.size && (text.data[text.size - 1] == '\n' || text.data[text.size - 1] == '\r'))
        text.size--;
    return text;
}

// When the plan is due next: its plan_time, or "never" if it has ended or failed permanently.
static const char *next_word (const json_t *plan)
{
    json_int_t state = field_number (plan, "plan_state");
    if (state == PLAN_ERROR || state == PLAN_CLOSE)
        return "never";
    return time_cell_text (json_object_get (plan, "plan_time"));
}

// -- a result for programs

static json_t *frames_of (const struct zplan_result *result)
{
    json_t *list = json_array ();
    for (size_t i = 0; i < result->count; i++) {
        const struct zplan_frame *frame = &result->frames[i];
        const char *name = frame_name (frame->type);
        json_array_append_new (
            list, json_pack ("{s:i, s:s?, s:o}", "type", frame->type, "name", name, "value",
                             json_from_frame (span_of (frame->data, frame->size))));
    }
    return list;
}

static void print_object (const struct cli *cli, const struct zplan_result *result,
                          const json_t *plan)
{
    // `seq` and `epoch` allow a watch to resume after this result, as in a run of the history.
    print_answer_new (cli, JSON_RUN,
                      json_pack ("{s:o, s:o, s:s, s:i, s:O*, s:O*, s:o, s:o}", "id",
                                 json_from_frame (span_of (result->id, result->id_size)), "title",
                                 json_from_frame (span_of (result->title, result->title_size)),
                                 "status", status_word (result->status), "code", result->status,
                                 "seq", json_object_get (plan, "seq"), "epoch",
                                 json_object_get (plan, "epoch"), "plan",
                                 plan ? plan_object (plan)
                                      : json_from_frame (span_of (result->plan, result->plan_size)),
                                 "frames", frames_of (result)));
}

void result_print (const struct cli *cli, const struct zplan_result *result, const json_t *plan)
{
    if (cli->json) {
        print_object (cli, result, plan);
        return;
    }
    print_now ();
    print_bytes (span_of (result->id, result->id_size));
    print_between (" \"", span_of (result->title, result->title_size), "\" ");
    json_t *status = json_integer (result->status);
    print_outcome (status);
    json_decref (status);
    printf (" next %s ", next_word (plan));
    print_between ("", without_newlines (result_text (result)), "\n");
}

// -- a run of the history

// Print the output on the same line, like the text of a published result.
static void print_output (const json_t *output)
{
    const json_t *tail = json_object_get (output, "tail");
    if (!output)
        return;
    const json_t *parts[] = {json_object_get (output, "head"), tail};
    for (size_t i = 0; i < 2 && parts[i]; i++) {
        fputs (i ? " [...] " : " ", stdout);
        if (json_is_string (parts[i]))
            print_bytes (without_newlines (text_of (parts[i])));
        else
            write_frame (stdout, parts[i]);
    }
}

void result_print_run (const struct cli *cli, const json_t *run, const char *epoch)
{
    if (!cli->json) {
        const json_t *when = json_object_get (run, "ended");
        display_refresh ();
        if (!json_is_number (when))
            when = json_object_get (run, "fired");
        printf ("%s ", time_cell_text (when));
        print_between ("", field_text (run, "plan"), " \"");
        write_frame (stdout, json_object_get (run, "title"));
        printf ("\" ");
        print_outcome (json_object_get (run, "status"));
        write_reason (stdout, " ", run);
        print_output (json_object_get (run, "output"));
        printf (" (from history)\n");
        return;
    }
    json_t *object = json_pack ("{s:s, s:s}", "from", "history", "epoch", epoch);
    json_object_set (object, "id", json_object_get (run, "plan")); // as in a published result
    json_object_update_missing (object, (json_t *)(uintptr_t)run);
    print_answer_new (cli, JSON_RUN, object);
}

// -- an event

// Print a step and its item after `before`: " load", " step=load.3".
static void print_step (const char *before, const json_t *state, const char *name)
{
    const json_t *step = json_object_get (state, name), *item = json_object_get (state, "item");
    if (!step)
        return;
    fputs (before, stdout);
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
    print_step (" ", state, "step");
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
    print_step (" step=", flow, "step");
}

// Print an event as JSON. The state of a plan gets the names of json_names.h; that of a flow run
// has its own.
static void print_event_object (const struct cli *cli, const struct zplan_event *event,
                                const json_t *state)
{
    bool as_is = event->code == ZPLAN_EVENT_FLOW || strcmp (cli->json, "wire") == 0;
    print_json_new (json_pack ("{s:s, s:o, s:o, s:o*}", "event", event_word (event->code), "target",
                               json_from_frame (span_of (event->station, event->station_size)),
                               "id", json_from_frame (span_of (event->id, event->id_size)), "state",
                               as_is ? json_deep_copy (state) : json_names (JSON_PLAN, state)));
}

void event_print (const struct cli *cli, const struct zplan_event *event)
{
    struct reason reason;
    json_t *state = json_read_object (span_of (event->state, event->state_size), &reason);
    if (cli->json) {
        print_event_object (cli, event, state);
    } else {
        print_now ();
        printf ("%s ", event_word (event->code));
        print_bytes (span_of (event->station, event->station_size));
        if (event->code == ZPLAN_EVENT_FLOW)
            print_flow_event (state);
        else
            print_plan_event (event, state);
        putchar ('\n');
    }
    json_decref (state);
}
