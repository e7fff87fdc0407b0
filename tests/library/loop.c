// loop ENDPOINT COUNT: COUNT plans under way from one's own loop, which waits for one descriptor;
// each is answered once, also those that callbacks submit.
#include <zplan.h>

#include <poll.h>

#include "check.h"

enum { WAIT_MS = 60000 };

struct load {
    struct zplan_client *client;
    long wanted, sent, accepted, refused_again;
};

static void answered (void *context, int error, const struct zplan_reply *reply);

static void submit (struct load *load)
{
    char id[17];
    snprintf (id, sizeof id, "%lx", load->sent + 1);
    struct zplan_plan *plan = zplan_plan_new ("jobs", "run");
    CHECK (plan);
    zplan_plan_set_id (plan, id);
    zplan_plan_set_title (plan, "loop");
    zplan_plan_set_in (plan, 86400);
    int error = zplan_client_send_plan (load->client, plan, answered, load);
    if (error) {
        CHECK (error == ZPLAN_ERROR_AGAIN);
        CHECK (zplan_client_in_hand (load->client) == ZPLAN_REQUESTS_MAX);
        load->refused_again++;
    } else {
        load->sent++;
    }
    zplan_plan_destroy (&plan);
}

static void answered (void *context, int error, const struct zplan_reply *reply)
{
    struct load *load = context;
    struct zplan_reply unused;
    CHECK (error == ZPLAN_OK);
    CHECK (zplan_client_ping (load->client, &unused) == ZPLAN_ERROR_NESTED);
    CHECK (zplan_client_process (load->client) == ZPLAN_ERROR_NESTED);
    if (reply->status == ZERO_STATUS_PLAN_ID)
        load->accepted++;
    else
        CHECK (reply->status == ZERO_STATUS_BUSY_ID);
    if (load->sent < load->wanted)
        submit (load);
}

int main (int argc, char **argv)
{
    CHECK (argc == 3);
    struct load load = {.client = zplan_client_new (argv[1]), .wanted = atol (argv[2])};
    CHECK (load.client);
    zplan_client_set_timeout (load.client, WAIT_MS);
    // As many as may be at once, and one more; the callbacks send the rest.
    while (load.sent < load.wanted && load.refused_again == 0)
        submit (&load);
    CHECK (load.refused_again == 1 || load.sent == load.wanted);
    struct pollfd item = {.fd = zplan_client_fd (load.client), .events = POLLIN};
    long turns = 0;
    while (zplan_client_in_hand (load.client)) {
        CHECK (poll (&item, 1, WAIT_MS) == 1);
        CHECK (zplan_client_process (load.client) == ZPLAN_OK);
        turns++;
    }
    // With nothing in hand nothing is left to do. Once it may be awake for what libzmq had to say.
    for (int i = 0; i < 10 && poll (&item, 1, 100); i++)
        CHECK (zplan_client_process (load.client) == ZPLAN_OK);
    CHECK (poll (&item, 1, 100) == 0);
    CHECK (turns <= load.sent * 20 + 100); // it is no busy loop
    printf ("%ld %ld\n", load.sent, load.accepted);
    zplan_client_destroy (&load.client);
    return 0;
}
