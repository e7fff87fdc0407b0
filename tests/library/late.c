// late ENDPOINT: a station that answers every request but `stats`. What runs out of time behind an
// answered request harms nothing; what runs out of time alone takes the connection with it.
#include <zplan.h>

#include <poll.h>

#include "check.h"

static void note (void *context, int error, const struct zplan_reply *reply)
{
    (void)reply;
    CHECK (*(int *)context == 1);
    *(int *)context = error;
}

static void wait_for (struct zplan_client *client, const int *outcome)
{
    while (*outcome == 1) {
        struct pollfd item = {.fd = zplan_client_fd (client), .events = POLLIN};
        CHECK (poll (&item, 1, 60000) == 1);
        CHECK (zplan_client_process (client) == ZPLAN_OK);
    }
}

int main (int argc, char **argv)
{
    CHECK (argc == 2);
    struct zplan_client *client = zplan_client_new (argv[1]);
    struct zplan_reply reply;
    int silent = 1, answered = 1, other = 1;
    CHECK (client);
    zplan_client_set_timeout (client, 300);
    CHECK (zplan_client_send_word (client, "stats", NULL, 0, note, &silent) == ZPLAN_OK);
    zplan_client_set_timeout (client, 60000);
    CHECK (zplan_client_send_word (client, "list", NULL, 0, note, &answered) == ZPLAN_OK);
    wait_for (client, &answered);
    CHECK (answered == ZPLAN_OK && silent == 1);
    wait_for (client, &silent);
    CHECK (silent == ZPLAN_ERROR_NO_ANSWER);

    // A call that waits serves the others meanwhile.
    CHECK (zplan_client_send_word (client, "list", NULL, 0, note, &other) == ZPLAN_OK);
    CHECK (zplan_client_ping (client, &reply) == ZPLAN_OK);
    CHECK (other == ZPLAN_OK && zplan_client_in_hand (client) == 0);

    zplan_client_set_timeout (client, 300);
    CHECK (zplan_client_manage (client, "stats", NULL, 0, &reply) == ZPLAN_ERROR_NO_ANSWER);
    zplan_client_set_timeout (client, 60000);
    CHECK (zplan_client_ping (client, &reply) == ZPLAN_OK);
    zplan_client_destroy (&client);
    return 0;
}
