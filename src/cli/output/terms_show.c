// Each member is printed as its option, a struct term. Texts from peers are printed as bytes;
// others are words of the wire, printed unchanged if they are safe.
#include "terms_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "plan.h"
#include "policy.h"
#include "print.h"
#include "retry_option.h"
#include "schedule_text.h"
#include "terms.h"
#include "text_table.h"

void terms_label (const char *label)
{
    printf ("%-14s ", label);
}

// -- values

// Read an object that the station sends as an object or as its JSON text. NULL: `value` is NULL.
static json_t *object_of (const json_t *value)
{
    json_t *read = json_loads (json_is_string (value) ? json_string_value (value) : "", 0, NULL);
    return read ? read : json_incref ((json_t *)(uintptr_t)value);
}

static void print_object (const json_t *value)
{
    char *text = NULL;
    size_t size;
    json_t *object = object_of (value);
    FILE *memory = text_open (&text, &size);
    write_json (memory, object);
    fclose (memory);
    write_argument (stdout, span_of (text, size));
    free (text);
    json_decref (object);
}

static void print_value (enum term_value type, const json_t *value)
{
    char duration[DURATION_SIZE];
    if (type == TERM_SECONDS)
        fputs (duration_option (json_integer_value (value), duration), stdout);
    else if (type == TERM_OBJECT)
        print_object (value);
    else if (type == TERM_RETRY)
        retry_write_option (stdout, value);
    else if (json_is_string (value))
        write_argument (stdout, text_of (value));
    else if (type == TERM_INSTANT)
        fputs (time_rfc3339_text (value), stdout);
    else
        column_number (stdout, value);
}

// -- the options

// Print a member as its option; TERM_PART: the option has no value.
static void print_option (bool *first, const struct term *term, const json_t *value)
{
    terms_label (*first ? "options" : "");
    *first = false;
    fputs (term->option, stdout);
    if (term->value != TERM_PART) {
        putchar (' ');
        print_value (term->value, value);
    }
    putchar ('\n');
}

// Print the cron expression, if the schedule's text does not show all of it.
static void print_cron (bool *first, const json_t *plan)
{
    static const struct term term = {"cron", "--cron", TERM_TEXT, 0};
    static const char raw[] = "cron ";
    size_t i;
    char words[SCHEDULE_TEXT_SIZE];
    const json_t *text, *cron = json_object_get (plan, "cron");
    if (strncmp (schedule_text (plan, NULL, words), raw, sizeof raw - 1) != 0)
        return;
    if (json_is_string (cron))
        print_option (first, &term, cron);
    json_array_foreach (cron, i, text) print_option (first, &term, text);
}

// Print the members of the object that have one of these options. Takes ownership of the object.
static void print_options (bool *first, const struct term rows[2], json_t *object)
{
    for (size_t i = 0; i < 2; i++)
        if (json_object_get (object, rows[i].field))
            print_option (first, &rows[i], json_object_get (object, rows[i].field));
    json_decref (object);
}

// Print a member that has no option, as JSON, on a line of its own.
static void print_object_member (const json_t *plan, const char *field)
{
    const json_t *value = json_object_get (plan, field);
    if (!value)
        return;
    json_t *object = object_of (value);
    terms_label (field);
    write_json (stdout, object);
    putchar ('\n');
    json_decref (object);
}

// Whether the value need not be shown: it is a default, has no effect, or is shown elsewhere.
static bool is_member_hidden (const json_t *plan, const char *field, const json_t *value)
{
    json_int_t type = field_number (plan, "plan_type");
    json_int_t number = json_integer_value (value);
    if (strcmp (field, "plan_repet") == 0)
        return number < 1 || type <= SCHEDULE_TIME || json_object_get (plan, "iteration");
    if (strcmp (field, "key") == 0 || strcmp (field, "if_exists") == 0)
        return true; // the name is shown above, and if_exists applied to the submission only
    if (strcmp (field, "skip_set") == 0 || strcmp (field, "priority") == 0)
        return json_is_integer (value) && number == 0;
    if (strcmp (field, "no_keep") == 0 && type <= SCHEDULE_TIME)
        return true; // it has no effect on a plan that runs once
    return json_is_false (value) || (strcmp (field, "cycle") == 0 && json_is_array (value));
}

// Members whose options are not in terms.h.
static const struct term times[] = {
    {"start_time", "--start", TERM_INSTANT, 0},
    {"plan_repet", "--repeat", TERM_NUMBER, 0},
    {"skip_set", "--skip", TERM_NUMBER, 0},
    {"no_keep", "--keep", TERM_PART, 0},
};

static void print_member (bool *first, const json_t *plan, const struct term *term)
{
    const json_t *value = json_object_get (plan, term->field);
    if (value && !is_member_hidden (plan, term->field, value))
        print_option (first, term, value);
}

// -- iterations

// Print the iteration of the last run, as "2 of 4, run 3 of 5".
static void print_iteration (const json_t *plan, const struct policy *policy)
{
    int64_t cycle = policy_cycle (policy);
    int64_t used = field_number (plan, "real_repet") + field_number (plan, "skip_num");
    if (cycle < 1)
        return;
    struct run_place place = policy_run_place (used, cycle);
    terms_label ("iteration");
    printf ("%" PRId64, place.iteration);
    if (policy->iteration)
        printf (" of %" PRId64, policy->iteration);
    printf (", run %" PRId64 " of %" PRId64 "\n", place.cycle, cycle);
}

// Whether the plan's target is a flow: its messages have neither a COMMAND nor a PUB_TITLE.
static bool is_flow_plan (const json_t *plan)
{
    size_t i;
    const json_t *frame;
    json_t *names = json_names (JSON_PLAN, plan);
    bool found = !json_object_get (plan, "messages") || json_object_get (names, "command");
    json_array_foreach (json_object_get (names, "frames"), i, frame)
    {
        struct span type = field_text (frame, "type");
        found = found || span_is (type, "COMMAND") || span_is (type, "PUB_TITLE");
    }
    json_decref (names);
    return !found;
}

// Print the retries. A flow plan or a step without a rule is not retried (proto/flows.md 18.3,
// 18.7).
static void print_retry (const json_t *plan)
{
    json_t *shown = json_copy ((json_t *)(uintptr_t)plan);
    terms_label ("retry");
    if (!json_object_get (plan, "retry") && (is_flow_plan (plan) || json_object_get (plan, "step")))
        json_object_set_new (shown, "retry", json_pack ("{s:s}", "strategy", "none"));
    retry_write (stdout, shown);
    putchar ('\n');
    json_decref (shown);
}

void terms_show (const json_t *plan)
{
    static const struct term on_failure[] = {{"command", "--on-failure", TERM_TEXT, 0},
                                             {"station", "--on-failure-target", TERM_TEXT, 0}};
    static const struct term vote[] = {{"rule", "--vote", TERM_TEXT, 0},
                                       {"deadline", "--vote-deadline", TERM_TEXT, 0}};
    bool first = true;
    struct policy *policy;
    struct reason ignored;
    if (policy_read_from (plan, &policy, &ignored) && policy)
        print_iteration (plan, policy);
    policy_destroy (&policy);
    print_retry (plan);
    print_object_member (plan, "workers"); // only plans of pull targets have them
    print_object_member (plan, "params");
    print_object_member (plan, "defaults");
    print_object_member (plan, "callback");
    print_cron (&first, plan);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        print_member (&first, plan, &times[i]);
    for (size_t i = 0; i < TERMS; i++)
        if (terms_table[i].value != TERM_PART)
            print_member (&first, plan, &terms_table[i]);
    print_options (&first, on_failure, object_of (json_object_get (plan, "on_failure")));
    print_options (&first, vote, object_of (json_object_get (plan, "vote")));
}
