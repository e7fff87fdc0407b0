#include "show_plan.h"

#include <stdio.h>

#include "json_names.h"
#include "json_words.h"
#include "outcomes.h"
#include "plan.h"
#include "plan_words.h"
#include "print.h"
#include "rfc3339.h"
#include "terms_show.h"

static json_int_t number_of (const json_t *plan, const char *field)
{
    return json_integer_value (json_object_get (plan, field));
}

static enum plan_state state_of (const json_t *plan)
{
    return (enum plan_state)number_of (plan, "plan_state");
}

void show_text (const char *label, const json_t *frame)
{
    if (!frame || (json_is_string (frame) && json_string_length (frame) == 0))
        return;
    terms_label (label);
    print_frame (frame);
    putchar ('\n');
}

void show_moment (const char *label, const json_t *seconds)
{
    char out[WORD_SIZE];
    terms_label (label);
    printf ("%s\n", moment_word (seconds, out));
}

// -- what it calls

static void print_argument (const json_t *frame)
{
    putchar (' ');
    if (json_is_string (frame))
        write_argument (stdout, text_of (frame));
    else
        print_frame (frame);
}

// `names` is the plan with the names of JSON, which knows its frames by their types.
static void print_command (const json_t *names)
{
    size_t i;
    const json_t *frame, *command = json_object_get (names, "command"),
                         *frames = json_object_get (names, "frames");
    if (command) {
        terms_label ("command");
        print_frame (command);
        json_array_foreach (json_object_get (names, "args"), i, frame) print_argument (frame);
        putchar ('\n');
    }
    json_array_foreach (frames, i, frame)
    {
        struct span type = text_of (json_object_get (frame, "type"));
        json_t *bytes = json_pack ("{sO*}", "b64", json_object_get (frame, "b64"));
        const json_t *text = json_object_get (frame, "text");
        if (!command || (!span_is (type, "COMMAND") && !span_is (type, "ARG"))) {
            char name[WORD_SIZE];
            const json_t *number = json_object_get (frame, "type");
            if (json_is_integer (number)) // one without a name
                snprintf (name, sizeof name, "0x%02x", (int)json_integer_value (number));
            else
                snprintf (name, sizeof name, "%.*s", (int)type.size, (const char *)type.data);
            terms_label (name);
            print_frame (text ? text : bytes);
            putchar ('\n');
        }
        json_decref (bytes);
    }
}

// -- how it is

// " by ops, 2 h ago"
static void print_stopped (const json_t *stopped)
{
    enum { WITHOUT_MS = 19 };
    char out[WORD_SIZE], instant[WITHOUT_MS + 2];
    int64_t seconds;
    struct reason ignored;
    const json_t *by = json_object_get (stopped, "by"), *at = json_object_get (stopped, "at");
    if (json_is_string (by))
        print_between (" by ", text_of (by), "");
    if (json_string_length (at) < WITHOUT_MS)
        return;
    snprintf (instant, sizeof instant, "%.*sZ", WITHOUT_MS, json_string_value (at));
    if (rfc3339_parse (span_text (instant), &seconds, &ignored) == 0) {
        json_t *number = json_integer (seconds);
        printf (", %s", moment_word (number, out));
        json_decref (number);
    }
}

static const char *verdict_words (const json_t *plan)
{
    static const char *const words[VERDICTS] = {
        [VERDICT_FAILURE] = " permanently: its retries are exhausted; zplan done, or zplan reset",
        [VERDICT_PENDING] = " permanently, needs manual action: zplan done, or zplan reset",
        [VERDICT_MANUAL] = ", its failure was resolved manually",
    };
    json_int_t verdict = number_of (plan, "verdict");
    return verdict > 0 && verdict < VERDICTS && words[verdict] ? words[verdict] : "";
}

void show_state (const json_t *plan)
{
    char out[WORD_SIZE];
    json_t *names = json_names (JSON_PLAN, plan);
    const json_t *state = json_object_get (plan, "plan_state");
    terms_label ("state");
    colour_on (stdout, state_colour (state));
    printf ("%s", plain_state (state, out));
    printf ("%s", verdict_words (plan));
    colour_off (stdout, state_colour (state));
    if (state_of (plan) == PLAN_EXECUTE)
        printf (" since %s", moment_word (json_object_get (plan, "exec_time"), out));
    if (state_of (plan) == PLAN_PAUSE && number_of (plan, "held"))
        printf (" when it was submitted");
    if (state_of (plan) == PLAN_PAUSE || state_of (plan) == PLAN_CLOSE)
        print_stopped (json_object_get (names, "stopped"));
    putchar ('\n');
    show_text ("remark", json_object_get (plan, "remark"));
    json_decref (names);
}

static void print_counts (const json_t *plan)
{
    static const struct {
        const char *field, *one, *many;
    } counts[] = {
        {"error_count", "failed try of this occurrence", "failed tries of this occurrence"},
        {"skip_num", "skipped", "skipped"},
        {"missed", "missed", "missed"},
    };
    json_int_t all = number_of (plan, "plan_repet"), type = number_of (plan, "plan_type");
    terms_label ("runs");
    printf ("%" JSON_INTEGER_FORMAT, number_of (plan, "real_repet"));
    if (all > 0 && type > SCHEDULE_TIME)
        printf (" of %" JSON_INTEGER_FORMAT, all);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        json_int_t count = number_of (plan, counts[i].field);
        if (count > 0)
            printf (", %" JSON_INTEGER_FORMAT " %s", count,
                    count == 1 ? counts[i].one : counts[i].many);
    }
    putchar ('\n');
}

// How the last run ended, and why.
static void print_last (const json_t *plan)
{
    char out[WORD_SIZE];
    const json_t *status = json_last_status (plan);
    terms_label ("last run");
    if (!status) {
        puts (state_of (plan) == PLAN_EXECUTE || number_of (plan, "last_state") ? "-" : "none yet");
        return;
    }
    write_coloured (stdout, status_colour (status), span_text (outcome_text (status, out)));
    // Else it is the time of the run in progress.
    if (state_of (plan) != PLAN_EXECUTE && number_of (plan, "exec_time"))
        printf (", %s", moment_word (json_object_get (plan, "exec_time"), out));
    json_t *run =
        json_pack ("{sO sO*}", "status", status, "reason", json_object_get (plan, "error_info"));
    write_reason (stdout, ": ", run);
    json_decref (run);
    putchar ('\n');
}

// -- when

static void print_schedule (const json_t *plan)
{
    char out[WORD_SIZE];
    const json_t *zone = json_object_get (plan, "timezone");
    terms_label ("schedule");
    write_plan_schedule (stdout, plan);
    if (number_of (plan, "plan_type") == SCHEDULE_TIME && !plan_waits (plan)) // else next says it
        printf (", %s", moment_word (json_object_get (plan, "plan_time"), out));
    putchar ('\n');
    if (!zone && number_of (plan, "plan_type") <= SCHEDULE_DAY)
        return; // no zone is meant
    terms_label ("time zone");
    if (zone)
        print_bytes (text_of (zone));
    puts (zone ? "" : "UTC");
}

void show_what (const json_t *plan)
{
    char out[WORD_SIZE];
    json_t *names = json_names (JSON_PLAN, plan);
    show_text ("name", json_object_get (plan, "key"));
    terms_label ("id");
    printf ("%s\n", id_word (json_object_get (plan, "plan_id"), out));
    show_text ("title", json_object_get (plan, "description"));
    print_command (names);
    show_text ("target", json_object_get (plan, "station"));
    print_schedule (plan);
    json_decref (names);
}

void show_how (const json_t *plan)
{
    print_counts (plan);
    print_last (plan);
    if (number_of (plan, "add_time"))
        show_moment ("added", json_object_get (plan, "add_time"));
    terms_show (plan);
}
