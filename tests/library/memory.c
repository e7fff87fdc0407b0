// memory REQUEST PUBLISH: does a bit of everything while an allocation of libzplan or jansson fails
// (see malloc_shim.c). Whatever the calls return, nothing crashes. Says how many
// allocations failed.
#include <zplan.h>

#include <dlfcn.h>

#include "check.h"

static long (*failures) (void);

static void take_reply (void *context, int error, const struct zplan_reply *reply)
{
    (void)reply;
    *(int *)context = error;
}

static void ask (struct zplan_client *client, struct zplan_plan *plan)
{
    struct zplan_reply reply;
    int outcome = 1;
    zplan_client_set_timeout (client, 60000);
    int error = zplan_client_ping (client, &reply);
    CHECK (error == ZPLAN_OK || error == ZPLAN_ERROR_MEMORY);
    if (plan) {
        error = zplan_client_submit_plan (client, plan, &reply);
        CHECK (error == ZPLAN_OK || error == ZPLAN_ERROR_MEMORY || *zplan_plan_error (plan));
    }
    error = zplan_client_send_word (client, "stats", NULL, 0, take_reply, &outcome);
    CHECK (error == ZPLAN_OK || error == ZPLAN_ERROR_MEMORY);
}

// The one result that the station has published comes in the end, whatever fails on the way.
static void follow (const char *publish, const char *request)
{
    struct zplan_subscriber *subscriber = zplan_subscriber_new (publish, "mem");
    struct zplan_recovery recovery = {.endpoint = request};
    struct zplan_result result;
    CHECK (subscriber || errno == ENOMEM);
    if (!subscriber)
        return;
    int error = zplan_subscriber_recover (subscriber, &recovery);
    CHECK (error == ZPLAN_OK || error == ZPLAN_ERROR_MEMORY);
    if (!error) {
        CHECK (zplan_subscriber_recv (subscriber, 60000, &result) == ZPLAN_OK);
        CHECK (result.from_history && result.seq == 1);
    }
    zplan_subscriber_destroy (&subscriber);
}

int main (int argc, char **argv)
{
    CHECK (argc == 3);
    *(void **)&failures = dlsym (RTLD_DEFAULT, "malloc_shim_failures");
    CHECK (failures);
    struct zplan_client *client = zplan_client_new (argv[1]);
    CHECK (client || errno == ENOMEM);
    struct zplan_plan *plan = zplan_plan_new ("jobs", "run");
    if (plan) {
        zplan_plan_set_title (plan, "memory");
        zplan_plan_set_timezone (plan, "Europe/Berlin");
        zplan_plan_set_weekly (plan, 1, 8, 30);
        zplan_plan_set_json (plan, "skip_set", "1");
        zplan_plan_add_argument (plan, "x");
        zplan_plan_json (plan);
    }
    if (client)
        ask (client, plan);
    zplan_plan_destroy (&plan);
    zplan_client_destroy (&client);
    follow (argv[2], argv[1]);
    printf ("%ld\n", failures ());
    return 0;
}
