// libzplan with CURVE: keys that are none make nothing, so that nothing connects without encryption
// by mistake.
#include "rows.h"

#include <errno.h>

#include "curve.h"
#include "zplan_worker.h"

#define ENDPOINT "ipc:///tmp/zplan-nobody-is-here"
#define NO_KEY   "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"

static struct curve_keys own, other;

static const struct row {
    const char *name;
    struct zplan_curve curve;
    bool valid;
} rows[] = {
    {"three keys", {other.public_key, own.public_key, own.secret_key}, true},
    {"our own station", {own.public_key, own.public_key, own.secret_key}, true},
    {"none", {NULL, NULL, NULL}, false},
    {"empty ones", {"", "", ""}, false},
    {"no server key", {NULL, own.public_key, own.secret_key}, false},
    {"a server key that is none", {NO_KEY, own.public_key, own.secret_key}, false},
    {"no public key", {other.public_key, NULL, own.secret_key}, false},
    {"a public key that is none", {other.public_key, NO_KEY, own.secret_key}, false},
    {"no secret key", {other.public_key, own.public_key, NULL}, false},
    {"a secret key that is none", {other.public_key, own.public_key, NO_KEY}, false},
    {"keys of two pairs", {own.public_key, other.public_key, own.secret_key}, false},
};

static void check (const char *name, const void *made, bool valid)
{
    CHECK_INT (name, made != NULL, valid);
    if (!made)
        CHECK_INT (name, errno, EINVAL);
}

static void only_sound_keys_make_something (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        const struct row *row = &rows[i];
        errno = 0;
        struct zplan_client *client = zplan_client_new_curve (ENDPOINT, &row->curve);
        check (row->name, client, row->valid);
        zplan_client_destroy (&client);
        errno = 0;
        struct zplan_subscriber *subscriber =
            zplan_subscriber_new_curve (ENDPOINT, "", &row->curve);
        check (row->name, subscriber, row->valid);
        zplan_subscriber_destroy (&subscriber);
        errno = 0;
        struct zplan_worker *worker = zplan_worker_new_curve (ENDPOINT, "w", &row->curve);
        check (row->name, worker, row->valid);
        zplan_worker_destroy (&worker);
    }
}

static void no_keys_at_all_are_none (void **state)
{
    (void)state;
    errno = 0;
    check ("client", zplan_client_new_curve (ENDPOINT, NULL), false);
    check ("subscriber", zplan_subscriber_new_curve (ENDPOINT, "", NULL), false);
    check ("worker", zplan_worker_new_curve (ENDPOINT, "w", NULL), false);
}

static void an_endpoint_is_still_checked (void **state)
{
    (void)state;
    errno = 0;
    check ("client", zplan_client_new_curve ("tcp://x", &rows[0].curve), false);
    check ("subscriber", zplan_subscriber_new_curve ("tcp://x", "", &rows[0].curve), false);
    check ("worker", zplan_worker_new_curve ("tcp://x", "w", &rows[0].curve), false);
    check ("name", zplan_worker_new_curve (ENDPOINT, "a b", &rows[0].curve), false);
}

static int set_up (void **state)
{
    struct reason reason;
    (void)state;
    return curve_keys_make (&own, &reason) || curve_keys_make (&other, &reason);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (only_sound_keys_make_something),
        cmocka_unit_test (no_keys_at_all_are_none),
        cmocka_unit_test (an_endpoint_is_still_checked),
    };
    return cmocka_run_group_tests (tests, set_up, NULL);
}
