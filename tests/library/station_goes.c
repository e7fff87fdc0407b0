// station_goes ENDPOINT: asks when a line comes on standard input, and says how it went; the test
// takes the station away in between.
#include <zplan.h>

#include "check.h"

int main (int argc, char **argv)
{
    CHECK (argc == 2);
    struct zplan_client *client = zplan_client_new (argv[1]);
    CHECK (client);
    char line[16];
    while (fgets (line, sizeof line, stdin)) {
        struct zplan_reply reply;
        zplan_client_set_timeout (client, atoi (line));
        int error = zplan_client_ping (client, &reply);
        CHECK (error != ZPLAN_OK || reply.status == ZERO_STATUS_OK_ID);
        printf ("%s\n", zplan_error_text (error));
        fflush (stdout);
    }
    zplan_client_destroy (&client);
    return 0;
}
