// zplan why: why a plan is not running now, or which run is in progress, and what will change that.
#include <jansson.h>
#include <limits.h>
#include <stdio.h>

#include "call.h"
#include "options.h"
#include "plan_ref.h"
#include "print.h"
#include "rfc3339.h"
#include "verb_why.h"

static const char about[] =
    "Print each reason why a plan does not run now, or its run in progress, and\n"
    "what will change that.\n\n"
    "  zplan why 1f\n"
    "  zplan why 1f 20 --json | jq '.reasons[].why'\n";

// Actions that resolve a reason, as advice for people; all other reasons end by themselves.
static const struct {
    const char *until, *words;
} remedies[] = {
    {"reset", "reset it"},
    {"pause, then reset", "pause it, then reset it"},
    {"done, when the failure was handled manually, or reset",
     "deal with it, then say done; or reset it"},
    {"station add", "add the target"},
    {"never", "it will not run again"},
    {"never: it is kept until it is removed", "it is kept until it is removed"},
    {"at once", "at once"},
};

static void print_until (const char *until)
{
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++) {
        if (strcmp (remedies[i].until, until) == 0) {
            printf ("%s", remedies[i].words);
            return;
        }
    }
    print_between ("until ", span_text (until), "");
}

// Print a reason; for a stopped plan it begins with the admin command: "pause by ops at ...".
static void print_why (struct span why)
{
    static const struct {
        const char *word, *past;
    } stops[] = {{"pause ", "paused "}, {"close ", "closed "}};
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        size_t size = strlen (stops[i].word);
        if (bytes_begin (why, stops[i].word)) {
            printf ("%s", stops[i].past);
            why = span_of (why.data + size, why.size - size);
        }
    }
    print_bytes (why);
}

void why_print_time (struct span at)
{
    int64_t seconds;
    struct reason ignored;
    if (!at.size || rfc3339_parse (at, &seconds, &ignored))
        return;
    json_t *number = json_integer (seconds);
    printf (", %s", time_line_text (number));
    json_decref (number);
}

void why_print (const json_t *reasons)
{
    size_t i;
    const json_t *reason;
    json_array_foreach (reasons, i, reason)
    {
        const char *until = json_string_value (json_object_get (reason, "until"));
        printf ("  ");
        print_why (field_text (reason, "why"));
        printf (": ");
        print_until (until ? until : "something unknown");
        why_print_time (field_text (reason, "at"));
        putchar ('\n');
    }
}

static void print_reasons (const char *id, const json_t *answer)
{
    const json_t *state = json_object_get (answer, "plan_state");
    print_between ("plan ", span_text (plan_ref_shown (id)), ": ");
    write_coloured (stdout, state_colour (state), span_text (state_plain_text (state)));
    puts (field_is_true (answer, "running") ? ", a run is in progress" : "");
    why_print (json_object_get (answer, "reasons"));
}

static void print_object (const struct cli *cli, const char *id, const json_t *answer)
{
    const json_t *plan_id = json_object_get (answer, "plan_id");
    json_t *object = json_pack ("{s:s, s:s}", "id", plan_id ? id_hex_text (plan_id) : id, "state",
                                state_wire_text (json_object_get (answer, "plan_state")));
    json_object_update (object, (json_t *)(uintptr_t)answer);
    print_answer_new (cli, JSON_ANSWER, object);
}

static int plan_why_print (const struct cli *cli, struct zplan_client *client, const char *id)
{
    int code;
    json_t *answer = call_command (cli, client, (const char *[]){"why", id, NULL}, id, &code);
    if (answer && cli->json)
        print_object (cli, id, answer);
    else if (answer)
        print_reasons (id, answer);
    json_decref (answer);
    return code;
}

int verb_why (const struct cli *cli)
{
    const struct usage usage = {
        .synopsis = "zplan why ID...",
        .about = about,
        .words_min = 1,
        .words_max = INT_MAX,
        .words = "plans, by id or name",
    };
    return call_for_each_plan (cli, &usage, plan_why_print);
}
