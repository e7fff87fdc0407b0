// events ENDPOINT COUNT [CODES]: so many events, a line each, from one's own loop.
#include <zplan.h>

#include <inttypes.h>
#include <poll.h>

#include "check.h"

int main (int argc, char **argv)
{
    CHECK (argc == 3 || argc == 4);
    errno = 0;
    CHECK (!zplan_events_new ("x") && errno == EINVAL);
    CHECK (zplan_events_recv (NULL, 0, NULL) == ZPLAN_ERROR_ARGUMENT);
    struct zplan_events *events = zplan_events_new (argv[1]);
    CHECK (events);
    CHECK (zplan_events_select (NULL, 0) == ZPLAN_ERROR_ARGUMENT);
    if (argc == 4)
        CHECK (zplan_events_select (events, atoi (argv[3])) == ZPLAN_OK);
    long left = atol (argv[2]), idle = 0;
    while (left > 0) {
        struct pollfd item = {.fd = zplan_events_fd (events), .events = POLLIN};
        struct zplan_event event;
        CHECK (poll (&item, 1, 60000) == 1);
        if (zplan_events_recv (events, 0, &event) != ZPLAN_OK) {
            CHECK (++idle < 1000);
            continue;
        }
        printf ("%d %.*s %.*s %" PRId64 " %" PRId64 " %s\n", event.code, (int)event.station_size,
                (const char *)event.station, (int)event.id_size, (const char *)event.id, event.seq,
                event.missed, event.epoch);
        fflush (stdout);
        left--;
    }
    zplan_events_destroy (&events);
    CHECK (!events);
    return 0;
}
