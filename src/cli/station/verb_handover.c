// zplan handover: makes the owner release the plans, so that a standby takes over.
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

static void print_handover (const char *subject, const json_t *answer)
{
    (void)subject;
    (void)answer;
    puts ("handed over: a standby takes over now");
}

int verb_handover (const struct cli *cli)
{
    int code;
    struct zplan_client *client = verb_begin (cli, "zplan handover", about, &code);
    if (client)
        code = call_print (cli, client, (const char *[]){"handover", NULL}, NULL, print_handover);
    zplan_client_destroy (&client);
    return code;
}
