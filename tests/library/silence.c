// silence ENDPOINT: nobody answers there. Time-outs of calls and of callbacks, an interrupt, and
// what becomes of requests when the client goes.
#include <zplan.h>

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static long now_ms (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct seen {
    int calls, error;
};

static void note (void *context, int error, const struct zplan_reply *reply)
{
    struct seen *seen = context;
    CHECK (!reply);
    seen->calls++;
    seen->error = error;
}

static void calls (struct zplan_client *client)
{
    struct zplan_reply reply = {.status = 77};
    zplan_client_set_timeout (client, 200);
    long start = now_ms ();
    CHECK (zplan_client_ping (client, &reply) == ZPLAN_ERROR_NO_ANSWER);
    CHECK (now_ms () - start >= 200 && reply.status == 77);
    CHECK (strstr (zplan_client_error (client), "within 200 ms"));
    zplan_client_set_timeout (client, 0);
    CHECK (zplan_client_ping (client, &reply) == ZPLAN_ERROR_NO_ANSWER);

    int ends[2];
    CHECK (pipe (ends) == 0 && write (ends[1], "x", 1) == 1);
    zplan_client_set_timeout (client, 600000);
    zplan_client_set_interrupt (client, ends[0]);
    CHECK (zplan_client_ping (client, &reply) == ZPLAN_ERROR_NO_ANSWER);
    CHECK (strstr (zplan_client_error (client), "interrupted"));
    zplan_client_set_interrupt (client, -1);
    close (ends[0]);
    close (ends[1]);
}

static void callbacks (struct zplan_client *client)
{
    struct seen first = {0}, second = {0};
    const char *args[] = {"{}"};
    zplan_client_set_timeout (client, 200);
    long start = now_ms ();
    CHECK (zplan_client_send_word (client, "list", args, 1, note, &first) == ZPLAN_OK);
    zplan_client_set_timeout (client, 600000);
    CHECK (zplan_client_send_word (client, "list", args, 1, note, &second) == ZPLAN_OK);
    CHECK (zplan_client_in_hand (client) == 2 && first.calls == 0);
    while (zplan_client_in_hand (client)) {
        struct pollfd item = {.fd = zplan_client_fd (client), .events = POLLIN};
        CHECK (poll (&item, 1, 60000) == 1);
        CHECK (zplan_client_process (client) == ZPLAN_OK);
    }
    // The second was on the connection that had to be given up.
    CHECK (now_ms () - start >= 200);
    CHECK (first.calls == 1 && first.error == ZPLAN_ERROR_NO_ANSWER);
    CHECK (second.calls == 1 && second.error == ZPLAN_ERROR_NO_ANSWER);
}

int main (int argc, char **argv)
{
    CHECK (argc == 2);
    struct zplan_client *client = zplan_client_new (argv[1]);
    CHECK (client);
    calls (client);
    callbacks (client);
    struct seen last = {0};
    CHECK (zplan_client_send (client, ZERO_BYTE_COMMAND_PING, NULL, 0, note, &last) == ZPLAN_OK);
    CHECK (zplan_client_send (client, ZERO_BYTE_COMMAND_PING, NULL, 0, NULL, NULL) == ZPLAN_OK);
    zplan_client_destroy (&client);
    CHECK (last.calls == 1 && last.error == ZPLAN_ERROR_CLOSED);
    return 0;
}
