// zplan handover: makes the owner release the plans, so that a standby takes over.
#include <jansson.h>
#include <stdio.h>

#include "call.h"

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

static int hand_over (const struct cli *cli, struct zplan_client *client)
{
    return call_print (cli, client, (const char *[]){"handover", NULL}, NULL, print_handover);
}

int verb_handover (const struct cli *cli)
{
    return verb_run (cli, "zplan handover", about, hand_over);
}
