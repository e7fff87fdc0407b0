// drained ENDPOINTS: a call whose answer is read when its connection was lost already; a line on
// standard input says that it was.
#include <zplan.h>

#include <unistd.h>

#include "check.h"

// The answer before it: while this one is dealt with the other arrives, and the connection is lost.
static void first (void *context, int error, const struct zplan_reply *reply)
{
    char line[16];
    (void)context;
    CHECK (error == ZPLAN_OK && reply->status == ZERO_STATUS_OK_ID);
    puts ("first");
    fflush (stdout);
    CHECK (fgets (line, sizeof line, stdin));
    usleep (200000); // until the loss was noticed
}

int main (int argc, char **argv)
{
    CHECK (argc == 2);
    struct zplan_client *client = zplan_client_new (argv[1]);
    CHECK (client);
    struct zplan_reply reply;
    size_t size = 0;
    CHECK (zplan_client_send_word (client, "stats", NULL, 0, first, NULL) == ZPLAN_OK);
    CHECK (zplan_client_manage (client, "health", NULL, 0, &reply) == ZPLAN_OK);
    const char *json = zplan_reply_frame (&reply, ZERO_FRAME_JSON, &size);
    CHECK (json && size == 100000);
    for (size_t i = 0; i < size; i++)
        CHECK (json[i] == 'x');
    puts ("whole");
    zplan_client_destroy (&client);
    return 0;
}
