// zplan whoami: prints what this key may do.
#include <jansson.h>

#include "call.h"
#include "print.h"

static const char about[] =
    "What the station lets this key do: its name there, its roles, and the targets that\n"
    "it is bound to.\n\n"
    "  zplan whoami\n"
    "  zplan --key ops.key_secret whoami\n";

static void print_rights (const json_t *answer)
{
    const json_t *name = json_object_get (answer, "name"), *role;
    const json_t *targets = json_object_get (answer, "targets");
    size_t i;
    print_between ("name     ",
                   json_is_string (name) ? text_of (name)
                                         : span_text ("(none: the station has no allow-list)"),
                   "\nroles    ");
    json_array_foreach (json_object_get (answer, "roles"), i, role)
        print_between (i ? ", " : "", text_of (role), "");
    print_between ("\ntargets  ", json_is_string (targets) ? text_of (targets) : span_text ("all"),
                   "\n");
}

static int show_rights (const struct cli *cli, struct zplan_client *client)
{
    int code;
    json_t *answer = call_command (cli, client, (const char *const[]){"whoami", NULL}, NULL, &code);
    if (answer) // the wire calls targets stations
        json_object_set (answer, "targets", json_object_get (answer, "stations"));
    json_object_del (answer, "stations");
    if (answer && cli->json)
        print_answer (cli, JSON_ANSWER, answer);
    else if (answer)
        print_rights (answer);
    json_decref (answer);
    return code;
}

int verb_whoami (const struct cli *cli)
{
    return verb_run (cli, "zplan whoami", about, show_rights);
}
