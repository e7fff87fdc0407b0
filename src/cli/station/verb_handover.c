// zplan handover: the owner gives the plans to a standby.
#include <jansson.h>
#include <stdio.h>

#include "call.h"
#include "print.h"

static const char about[] =
    "Let a standby take over the plans: the station completes its writes, releases the plans\n"
    "and becomes a standby. For maintenance without a gap: no plan is lost, no run is\n"
    "sent twice.\n\n"
    "  zplan handover\n"
    "  zplan doctor        # which station owns the plans now\n";

int verb_handover (const struct cli *cli)
{
    int code;
    struct zplan_client *client = call_begin (cli, "zplan handover", about, &code);
    if (!client)
        return code;
    json_t *answer = call_command (cli, client, (const char *[]){"handover", NULL}, NULL, &code);
    if (code == EXIT_DONE && cli->json)
        print_answer (cli, JSON_ANSWER, answer);
    else if (code == EXIT_DONE)
        puts ("handed over: a standby takes over now");
    json_decref (answer);
    zplan_client_destroy (&client);
    return code;
}
