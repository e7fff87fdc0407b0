// libzplan with CURVE: keys that are none make nothing, so that nothing connects without encryption
// by mistake.
#include "rows.h"

#include <errno.h>

#include "curve.h"
#include "zplan.h"
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
        struct zplan_worker *worker = zplan_worker_new (&(struct zplan_worker_options){
            .endpoint = ENDPOINT, .name = "w", .curve = &row->curve});
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
}

static void an_endpoint_is_still_checked (void **state)
{
    (void)state;
    errno = 0;
    check ("client", zplan_client_new_curve ("tcp://x", &rows[0].curve), false);
    check ("subscriber", zplan_subscriber_new_curve ("tcp://x", "", &rows[0].curve), false);
}

static void lists_of_endpoints_are_checked (void **state)
{
#define A   "tcp://127.0.0.1:1"
#define B   "ipc:///tmp/zplan-nobody-is-here"
#define KEY own.public_key
    char two[2 * CURVE_KEY_SIZE], blank[2 * CURVE_KEY_SIZE];
    snprintf (two, sizeof two, "%s,%s", own.public_key, other.public_key);
    snprintf (blank, sizeof blank, "%s %s", own.public_key, other.public_key);
    const struct {
        const char *name, *endpoints, *server_key;
        bool valid;
    } cases[] = {
        {"two, one key", A "," B, KEY, true},
        {"two, two keys", A "," B, two, true},
        {"one, two keys", A, two, false},
        {"three, two keys", A "," B "," A, two, false},
        {"keys with a blank between", A "," B, blank, false},
        {"eight", A "," B "," A "," B "," A "," B "," A "," B, KEY, true},
        {"nine", A "," B "," A "," B "," A "," B "," A "," B "," A, KEY, false},
        {"an empty one", A ",", KEY, false},
        {"a blank", A ", " B, KEY, false},
        {"one that is none", A ",tcp://x", KEY, false},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (cases); i++) {
        struct zplan_curve curve = {cases[i].server_key, own.public_key, own.secret_key};
        errno = 0;
        struct zplan_client *client = zplan_client_new_curve (cases[i].endpoints, &curve);
        check (cases[i].name, client, cases[i].valid);
        zplan_client_destroy (&client);
        errno = 0;
        struct zplan_events *events = zplan_events_new_curve (cases[i].endpoints, &curve);
        check (cases[i].name, events, cases[i].valid);
        zplan_events_destroy (&events);
        for (int pull = 0; pull < 2; pull++) {
            errno = 0;
            struct zplan_worker *worker =
                zplan_worker_new (&(struct zplan_worker_options){.endpoint = cases[i].endpoints,
                                                                 .name = "w",
                                                                 .curve = &curve,
                                                                 .pull = pull ? "jobs" : NULL});
            check (cases[i].name, worker, cases[i].valid);
            zplan_worker_destroy (&worker);
        }
    }
}

static void options_of_a_worker_are_checked (void **state)
{
    static const struct {
        const char *name;
        struct zplan_worker_options options;
        bool valid;
    } cases[] = {
        {"all there is", {ENDPOINT, "w", &rows[0].curve, ZPLAN_CREDIT_MAX}, true},
        {"as little as may be", {.endpoint = ENDPOINT, .name = "A-z_0.9"}, true},
        {"no endpoint", {.name = "w"}, false},
        {"an endpoint that is none", {"tcp://x", "w", &rows[0].curve, 1}, false},
        {"no name", {.endpoint = ENDPOINT}, false},
        {"an empty name", {.endpoint = ENDPOINT, .name = ""}, false},
        {"a name with a space", {.endpoint = ENDPOINT, .name = "a b"}, false},
        {"a credit below none", {.endpoint = ENDPOINT, .name = "w", .credit = -1}, false},
        {"too much credit",
         {.endpoint = ENDPOINT, .name = "w", .credit = ZPLAN_CREDIT_MAX + 1},
         false},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (cases); i++) {
        errno = 0;
        struct zplan_worker *worker = zplan_worker_new (&cases[i].options);
        check (cases[i].name, worker, cases[i].valid);
        zplan_worker_destroy (&worker);
        CHECK_INT (cases[i].name, worker == NULL, true);
    }
    errno = 0;
    check ("no options", zplan_worker_new (NULL), false);
}

static int nothing (struct zplan_job *job, struct zplan_answer *answer, void *context)
{
    (void)job, (void)answer, (void)context;
    return ZPLAN_JOB_KEPT;
}

static void without_a_worker_or_a_job_calls_say_so (void **state)
{
    char text[8];
    struct zplan_answer answer = {.status = ZERO_STATUS_OK_ID};
    struct zplan_worker *none = NULL;
    (void)state;
    CHECK_INT ("handle", zplan_worker_handle (NULL, "x", nothing, NULL), ZPLAN_ERROR_ARGUMENT);
    CHECK_INT ("run", zplan_worker_run (NULL, 0), ZPLAN_ERROR_ARGUMENT);
    CHECK_INT ("process", zplan_worker_process (NULL), ZPLAN_ERROR_ARGUMENT);
    CHECK_INT ("fd", zplan_worker_fd (NULL), ZPLAN_ERROR_ARGUMENT);
    CHECK_INT ("refusal", zplan_worker_refusal (NULL, text, sizeof text), ZPLAN_ERROR_ARGUMENT);
    CHECK_INT ("take", zplan_worker_take (NULL, 0) == NULL, true);
    CHECK_INT ("joined", zplan_worker_joined (NULL), false);
    CHECK_INT ("left", zplan_worker_left (NULL), true);
    CHECK_INT ("answer", zplan_job_answer (NULL, &answer), ZPLAN_ERROR_ARGUMENT);
    CHECK_INT ("fail", zplan_job_fail (NULL, "x"), ZPLAN_ERROR_ARGUMENT);
    CHECK_INT ("progress", zplan_job_progress (NULL, 1, "x"), ZPLAN_ERROR_ARGUMENT);
    CHECK_INT ("lost", zplan_job_lost (NULL), false);
    zplan_worker_leave (NULL);
    zplan_worker_destroy (NULL);
    zplan_worker_destroy (&none);
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
        cmocka_unit_test (lists_of_endpoints_are_checked),
        cmocka_unit_test (options_of_a_worker_are_checked),
        cmocka_unit_test (without_a_worker_or_a_job_calls_say_so),
    };
    return cmocka_run_group_tests (tests, set_up, NULL);
}
