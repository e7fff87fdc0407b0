// follow PUBLISH REQUEST SINCE EPOCH TITLE COUNT: so many results from one's own loop, missing
// none; a line for each, and for each notice.
#include <zplan.h>

#include <inttypes.h>
#include <poll.h>

#include "check.h"

static void notice (void *context, const struct zplan_notice *it)
{
    struct zplan_subscriber **subscriber = context;
    struct zplan_result result;
    CHECK (zplan_subscriber_recv (*subscriber, 0, &result) == ZPLAN_ERROR_NESTED);
    printf ("notice %d %" PRId64 " %" PRId64 "\n", (int)it->kind, it->after, it->before);
    fflush (stdout);
}

int main (int argc, char **argv)
{
    CHECK (argc == 7);
    struct zplan_subscriber *subscriber = zplan_subscriber_new (argv[1], argv[5]);
    CHECK (subscriber);
    struct zplan_recovery recovery = {.endpoint = argv[2],
                                      .since = atoll (argv[3]),
                                      .epoch = argv[4],
                                      .timeout_ms = 60000,
                                      .fn = notice,
                                      .context = &subscriber};
    CHECK (zplan_subscriber_recover (subscriber, &recovery) == ZPLAN_OK);
    CHECK (zplan_subscriber_recover (subscriber, &recovery) == ZPLAN_ERROR_ARGUMENT);
    long left = atol (argv[6]), idle = 0;
    while (left > 0) {
        struct pollfd item = {.fd = zplan_subscriber_fd (subscriber), .events = POLLIN};
        struct zplan_result result;
        CHECK (poll (&item, 1, 60000) == 1);
        if (zplan_subscriber_recv (subscriber, 0, &result) != ZPLAN_OK) {
            CHECK (++idle < 1000); // it is no busy loop
            continue;
        }
        CHECK (result.from_history == (result.run != NULL));
        CHECK (result.from_history == (result.plan == NULL));
        CHECK (*result.epoch && result.exec_id > 0);
        printf ("%" PRId64 " %s %.*s %.*s %d\n", result.seq,
                result.from_history ? "history" : "live", (int)result.id_size,
                (const char *)result.id, (int)result.title_size, (const char *)result.title,
                result.status);
        fflush (stdout);
        left--;
    }
    zplan_subscriber_destroy (&subscriber);
    CHECK (!subscriber);
    return 0;
}
