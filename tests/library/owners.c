// owners ENDPOINTS: sends what a line on standard input names, and says how it went and where the
// client is connected then; the test takes stations away and puts them there meanwhile.
//
//     ping, stats, load, whoami, flow_get, pause    that command
//     plan, plan_id, plan_key    a submission without a name, with an id, with a key
//     many    a hundred of each of stats and pause at once, from one's own loop
#include <zplan.h>

#include <poll.h>

#include "check.h"

enum { MANY = 100, TIMEOUT_MS = 60000 };

static int submit (struct zplan_client *client, const char *line, struct zplan_reply *reply)
{
    struct zplan_submission submission = {
        .station = "jobs",
        .plan = strcmp (line, "plan_key") == 0 ? "{\"key\": \"nightly\"}" : "{}",
        .id = strcmp (line, "plan_id") == 0 ? "2a" : NULL,
        .frames = (struct zplan_frame[]){{ZERO_FRAME_COMMAND, "x", 1}},
        .count = 1};
    return zplan_client_submit (client, &submission, reply);
}

struct tally {
    int answered, unknown;
};

static void count (void *context, int error, const struct zplan_reply *reply)
{
    struct tally *tally = context;
    CHECK (error == (reply ? ZPLAN_OK : ZPLAN_ERROR_NO_ANSWER));
    *(reply ? &tally->answered : &tally->unknown) += 1;
}

static void many (struct zplan_client *client)
{
    struct tally stats = {0}, pause = {0};
    int idle = 0;
    for (int i = 0; i < MANY; i++) {
        CHECK (!zplan_client_send_word (client, "stats", NULL, 0, count, &stats));
        CHECK (!zplan_client_send_word (client, "pause", (const char *[]){"2a"}, 1, count, &pause));
    }
    while (zplan_client_in_hand (client) > 0) {
        struct pollfd item = {zplan_client_fd (client), POLLIN, 0};
        size_t before = zplan_client_in_hand (client);
        CHECK (poll (&item, 1, TIMEOUT_MS) == 1);
        CHECK (zplan_client_process (client) == ZPLAN_OK);
        idle += zplan_client_in_hand (client) == before;
        CHECK (idle < 1000); // it is no busy loop
    }
    printf ("%d %d %d %d\n", stats.answered, stats.unknown, pause.answered, pause.unknown);
}

static int ask (struct zplan_client *client, const char *line, struct zplan_reply *reply)
{
    if (strcmp (line, "ping") == 0)
        return zplan_client_ping (client, reply);
    if (strncmp (line, "plan", 4) == 0)
        return submit (client, line, reply);
    if (strcmp (line, "flow_get") == 0)
        return zplan_client_manage (client, "flow", (const char *[]){"get", "etl"}, 2, reply);
    return zplan_client_manage (client, line, (const char *[]){"2a"}, strcmp (line, "stats") != 0,
                                reply);
}

int main (int argc, char **argv)
{
    CHECK (argc == 2);
    struct zplan_client *client = zplan_client_new (argv[1]);
    CHECK (client);
    char line[16];
    zplan_client_set_timeout (client, TIMEOUT_MS);
    while (fgets (line, sizeof line, stdin)) {
        line[strcspn (line, "\n")] = '\0';
        if (strcmp (line, "many") == 0) {
            many (client);
        } else {
            struct zplan_reply reply;
            int error = ask (client, line, &reply);
            printf ("%s %s\n", error ? zplan_client_error (client) : "done",
                    zplan_client_endpoint (client));
        }
        fflush (stdout);
    }
    zplan_client_destroy (&client);
    return 0;
}
