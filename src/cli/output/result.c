#include "result.h"

#include <stdio.h>

#include "codes.h"
#include "json.h"
#include "outcomes.h"
#include "plan.h"
#include "print.h"
#include "rfc3339.h"

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
    char now[RFC3339_SIZE];
    if (cli->json) {
        print_object (cli, result, plan);
        return;
    }
    display_refresh (); // times are relative to now
    rfc3339_format (display_get ()->now, now);
    printf ("%s ", now);
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
