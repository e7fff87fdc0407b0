// zplan doctor: whether the station does its work, and what to put right.
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "call.h"
#include "options.h"
#include "print.h"

static const char about[] =
    "Ask the station whether it does its work: Redis, what an acknowledgement is worth, its\n"
    "targets. Ends with 1 when something keeps it from its work. Answers while Redis is away.\n\n"
    "  zplan doctor\n"
    "  zplan doctor --json | jq .problems\n";

static void print_list (const char *mark, const json_t *list)
{
    size_t i;
    const json_t *line;
    json_array_foreach (list, i, line)
    {
        printf ("%s  ", mark);
        print_bytes (text_of (line));
        putchar ('\n');
    }
}

static void print_text (const char *label, const json_t *text)
{
    printf ("      %s", label);
    print_bytes (text_of (text));
    putchar ('\n');
}

static void report (const json_t *health)
{
    const json_t *redis = json_object_get (health, "redis");
    print_list ("bad ", json_object_get (health, "problems"));
    print_list ("warn", json_object_get (health, "warnings"));
    if (json_is_true (json_object_get (health, "healthy")))
        puts ("good  the station does its work");
    print_text ("Redis is ", json_object_get (redis, "state"));
    print_text ("an acknowledged plan is ", json_object_get (redis, "acknowledged"));
    printf ("      %" PRId64 " of %" PRId64 " target stations are connected\n",
            (int64_t)json_integer_value (json_object_get (health, "connected")),
            (int64_t)json_integer_value (json_object_get (health, "targets")));
    printf ("      %" PRId64 " plan stations share this Redis\n",
            (int64_t)json_integer_value (json_object_get (health, "attending")));
}

int verb_doctor (const struct cli *cli)
{
    const struct usage usage = {
        .synopsis = "zplan doctor",
        .about = about,
        .words = "no arguments",
    };
    int code;
    json_t *answer = call_word (cli, &usage, "health", &code);
    if (answer && cli->json)
        print_json (answer);
    else if (answer)
        report (answer);
    if (answer && !json_is_true (json_object_get (answer, "healthy")))
        code = EXIT_REFUSED;
    json_decref (answer);
    return code;
}
