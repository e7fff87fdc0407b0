// zplan ping: reports whether the station answers, and the round-trip time.
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "call.h"
#include "clock.h"
#include "print.h"

static const char about[] = "Ask the station whether it serves, and print how long it took.\n\n"
                            "  zplan ping\n"
                            "  zplan ping --connect tcp://10.0.0.7:7920 --timeout 500\n";

static void report_ping (const struct cli *cli, const char *endpoint, int64_t took_us)
{
    if (cli->json)
        print_answer_new (
            cli, JSON_ANSWER,
            json_pack ("{s:s, s:I}", "endpoint", endpoint, "round_trip_us", (json_int_t)took_us));
    else
        printf ("answer from %s in %" PRId64 ".%03" PRId64 " ms\n", endpoint, took_us / 1000,
                took_us % 1000);
}

static int ping_station (const struct cli *cli, struct zplan_client *client)
{
    struct zplan_reply reply;
    int64_t start_us = clock_mono_us ();
    int outcome = zplan_client_ping (client, &reply);
    int64_t took_us = clock_mono_us () - start_us;
    int code = call_report (cli, outcome, &reply, NULL);
    if (code == EXIT_DONE)
        report_ping (cli, zplan_client_endpoint (client), took_us);
    return code;
}

int verb_ping (const struct cli *cli)
{
    return verb_run (cli, "zplan ping", about, ping_station);
}
