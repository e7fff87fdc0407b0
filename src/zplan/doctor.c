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
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct zplan_client *client = call_open (cli, &code);
    if (!client)
        return code;
    struct zplan_reply reply;
    int outcome = zplan_client_manage (client, "health", NULL, 0, &reply);
    code = call_judge (cli, outcome, &reply, NULL);
    json_t *health = code == EXIT_DONE ? call_json (&reply) : NULL;
    if (health && cli->json)
        print_json (health);
    else if (health)
        report (health);
    if (code == EXIT_DONE && !json_is_true (json_object_get (health, "healthy")))
        code = EXIT_REFUSED;
    json_decref (health);
    zplan_client_destroy (&client);
    return code;
}
