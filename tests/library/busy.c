// busy ENDPOINT: a program that does other things for longer than its requests may last, while the
// station answers them. A line of standard input tells that it has.
#include <zplan.h>

#include <poll.h>
#include <unistd.h>

#include "check.h"

enum { REQUESTS = 300, TIMEOUT_MS = 300 };

static int answered, ended;

static void note (void *context, int error, const struct zplan_reply *reply)
{
    (void)context, (void)reply;
    CHECK (error == ZPLAN_OK);
    answered++;
}

static void note_end (void *context, int error, const struct zplan_reply *reply)
{
    (void)context, (void)reply;
    ended = error;
}

static void send_all (struct zplan_client *client)
{
    answered = 0;
    for (int i = 0; i < REQUESTS; i++)
        CHECK (zplan_client_send_word (client, "list", NULL, 0, note, NULL) == ZPLAN_OK);
}

// Until the time is over and libzmq has read all.
static void be_busy (void)
{
    char line[16];
    CHECK (fgets (line, sizeof line, stdin));
    sleep (2);
}

int main (int argc, char **argv)
{
    CHECK (argc == 2);
    struct zplan_reply reply;
    struct zplan_client *client = zplan_client_new (argv[1]);
    CHECK (client);
    zplan_client_set_timeout (client, TIMEOUT_MS);

    send_all (client);
    be_busy ();
    CHECK (zplan_client_process (client) == ZPLAN_OK);
    CHECK (answered > 0 && zplan_client_in_hand (client) > 0); // a turn does not do all
    while (zplan_client_in_hand (client))
        CHECK (zplan_client_process (client) == ZPLAN_OK);
    CHECK (answered == REQUESTS);

    send_all (client);
    be_busy ();
    zplan_client_set_timeout (client, 60000);
    CHECK (zplan_client_ping (client, &reply) == ZPLAN_OK);
    CHECK (answered == REQUESTS);

    zplan_client_set_timeout (client, TIMEOUT_MS);
    CHECK (zplan_client_send_word (client, "stats", NULL, 0, note_end, NULL) == ZPLAN_OK);
    be_busy ();
    zplan_client_set_timeout (client, 60000);
    CHECK (zplan_client_ping (client, &reply) == ZPLAN_ERROR_NO_ANSWER); // with its connection
    CHECK (ended == ZPLAN_ERROR_NO_ANSWER);
    zplan_client_destroy (&client);
    return 0;
}
