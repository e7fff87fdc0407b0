// The plan builder: what each setter takes, what it refuses and in which words. Needs no station.
#include <zplan.h>

#include <sys/resource.h>

#include "check.h"

static void expect (struct zplan_plan *plan, int error, const char *words)
{
    CHECK (error == ZPLAN_ERROR_ARGUMENT);
    if (!strstr (zplan_plan_error (plan), words)) {
        fprintf (stderr, "want %s in %s\n", words, zplan_plan_error (plan));
        exit (1);
    }
    CHECK (!zplan_plan_json (plan));
    zplan_plan_destroy (&plan);
    CHECK (!plan);
}

static struct zplan_plan *fresh (void)
{
    struct zplan_plan *plan = zplan_plan_new ("jobs", "run");
    CHECK (plan);
    return plan;
}

#define REFUSED(words, setter, ...)                                                                \
    do {                                                                                           \
        struct zplan_plan *it = fresh ();                                                          \
        expect (it, setter (it, __VA_ARGS__), words);                                              \
    } while (0)

static void refusals (void)
{
    REFUSED ("plan_repet: want -1 (for ever) or 1..2147483647, got 0", zplan_plan_set_repeat, 0);
    REFUSED ("plan_repet: want -1", zplan_plan_set_repeat, -2);
    REFUSED ("plan_repet: want -1", zplan_plan_set_repeat, INT64_C (1) << 40);
    REFUSED ("plan_value: want 0..32766, got 32767", zplan_plan_set_every, 32767, ZPLAN_SECONDS);
    REFUSED ("plan_value: want 1..32766, got 0", zplan_plan_set_every, 0, ZPLAN_SECONDS);
    REFUSED ("plan_type: want an enum zplan_unit", zplan_plan_set_every, 1, (enum zplan_unit)6);
    REFUSED ("plan_value: want 0..6, got 8", zplan_plan_set_weekly, 8, 8, 30);
    REFUSED ("hour: want 0..23, got 24", zplan_plan_set_weekly, 1, 24, 0);
    REFUSED ("minute: want 0..59, got 60", zplan_plan_set_monthly, 1, 8, 60);
    REFUSED ("plan_value: want -31..31, got 32", zplan_plan_set_monthly, 32, 8, 30);
    REFUSED ("plan_time: want Unix seconds", zplan_plan_set_at, 0);
    REFUSED ("plan_time: want Unix seconds", zplan_plan_set_at, INT64_MAX);
    REFUSED ("in: want 0..", zplan_plan_set_in, -1);
    REFUSED ("id: want 1 to 16 hex digits", zplan_plan_set_id, "xyz");
    REFUSED ("description: want UTF-8", zplan_plan_set_title, "\xff");
    REFUSED ("timezone: no zone named 'Europe/Atlantis'", zplan_plan_set_timezone,
             "Europe/Atlantis");
    REFUSED ("'colour': unknown field", zplan_plan_set_json, "colour", "1");
    REFUSED ("revision: is set by the station", zplan_plan_set_json, "revision", "1");
    REFUSED ("skip_set: JSON: ", zplan_plan_set_json, "skip_set", "{");
    REFUSED ("skip_set: want an integer", zplan_plan_set_json, "skip_set", "\"2\"");
    REFUSED ("frame: its data are missing", zplan_plan_add_frame, ZERO_FRAME_BIN, NULL, 1);
    REFUSED ("frame: at most 1048576 bytes", zplan_plan_add_frame, ZERO_FRAME_BIN, "", 1048577);
    expect (zplan_plan_new ("a b", "run"), ZPLAN_ERROR_ARGUMENT, "station: want 1..64");
    expect (zplan_plan_new (NULL, "run"), ZPLAN_ERROR_ARGUMENT, "station: want 1..64");
}

static void held (void)
{
    struct zplan_plan *plan = fresh ();
    CHECK (zplan_plan_set_hold (plan) == ZPLAN_OK);
    CHECK (strstr (zplan_plan_json (plan), "\"hold\":true"));
    zplan_plan_destroy (&plan);
    CHECK (zplan_plan_set_hold (NULL) == ZPLAN_ERROR_ARGUMENT);
    REFUSED ("hold: want true, false or \"pause\"", zplan_plan_set_json, "hold", "1");
}

static void iterations (void)
{
    struct zplan_plan *plan = fresh ();
    CHECK (zplan_plan_set_every (plan, 10, ZPLAN_MINUTES) == ZPLAN_OK);
    CHECK (zplan_plan_set_json (plan, "iteration", "4") == ZPLAN_OK);
    CHECK (zplan_plan_json (plan) && !strstr (zplan_plan_json (plan), "plan_repet"));
    zplan_plan_destroy (&plan);
}

// A type that is given by its name is one for the setters, too.
static void named_type (void)
{
    struct zplan_plan *plan = fresh ();
    CHECK (zplan_plan_set_json (plan, "plan_type", "\"hour\"") == ZPLAN_OK);
    CHECK (zplan_plan_set_json (plan, "plan_value", "2") == ZPLAN_OK);
    CHECK (zplan_plan_set_at (plan, 4102444800) == ZPLAN_OK);
    CHECK (strstr (zplan_plan_json (plan), "\"plan_type\":4"));
    CHECK (strstr (zplan_plan_json (plan), "\"plan_repet\":-1"));
    zplan_plan_destroy (&plan);
    REFUSED ("plan_type: want", zplan_plan_set_json, "plan_type", "\"hurr\"");
}

static void on_failure (void)
{
    struct zplan_plan *plan = fresh ();
    CHECK (zplan_plan_set_on_failure (plan, "notify", NULL) == ZPLAN_OK);
    CHECK (strstr (zplan_plan_json (plan), "\"on_failure\":{\"command\":\"notify\"}"));
    CHECK (zplan_plan_set_on_failure (plan, "notify", "mail") == ZPLAN_OK);
    CHECK (strstr (zplan_plan_json (plan), "{\"command\":\"notify\",\"station\":\"mail\"}"));
    zplan_plan_destroy (&plan);
    CHECK (zplan_plan_set_on_failure (NULL, "notify", NULL) == ZPLAN_ERROR_ARGUMENT);
    REFUSED ("on_failure: command and station", zplan_plan_set_on_failure, NULL, NULL);
    REFUSED ("on_failure: command: want a string of 1..256", zplan_plan_set_on_failure, "", NULL);
    REFUSED ("on_failure: station: want 1..64", zplan_plan_set_on_failure, "notify", "a b");
}

// What comes later judges what was there, too; and the first reason stays.
static void together (void)
{
    struct zplan_plan *plan = fresh ();
    CHECK (zplan_plan_set_json (plan, "skip_set", "3") == ZPLAN_OK);
    CHECK (zplan_plan_set_every (plan, 5, ZPLAN_MINUTES) == ZPLAN_OK);
    CHECK (zplan_plan_set_repeat (plan, 3) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_plan_set_every (plan, -5, ZPLAN_MINUTES) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_plan_set_repeat (plan, 4) == ZPLAN_OK);
    expect (plan, ZPLAN_ERROR_ARGUMENT, "skip_set: want less than plan_repet (3), got 3");

    // Unfinished is not refused: the type may still come.
    plan = fresh ();
    CHECK (zplan_plan_set_json (plan, "skip_set", "3") == ZPLAN_OK);
    CHECK (!zplan_plan_json (plan));
    CHECK (strstr (zplan_plan_error (plan), "skip_set: want less than plan_repet (1)"));
    CHECK (zplan_plan_set_every (plan, 5, ZPLAN_MINUTES) == ZPLAN_OK);
    CHECK (zplan_plan_json (plan));
    zplan_plan_destroy (&plan);
}

static void json_is (struct zplan_plan *plan, const char *want)
{
    const char *json = zplan_plan_json (plan);
    if (!json || strcmp (json, want) != 0) {
        fprintf (stderr, "want %s, got %s: %s\n", want, json ? json : "none",
                 zplan_plan_error (plan));
        exit (1);
    }
}

static void texts (void)
{
    struct zplan_plan *plan = fresh ();
    json_is (plan, "{\"plan_type\":0}");
    CHECK (zplan_plan_set_title (plan, "gr\xc3\xbc\xc3\x9f dich") == ZPLAN_OK);
    CHECK (zplan_plan_set_at (plan, 1798131600) == ZPLAN_OK);
    json_is (plan, "{\"description\":\"gr\xc3\xbc\xc3\x9f dich\",\"plan_time\":1798131600,"
                   "\"plan_type\":1}");
    CHECK (zplan_plan_set_every (plan, 10, ZPLAN_SECONDS) == ZPLAN_OK);
    CHECK (zplan_plan_set_repeat (plan, 3) == ZPLAN_OK);
    json_is (plan, "{\"description\":\"gr\xc3\xbc\xc3\x9f dich\",\"plan_time\":1798131600,"
                   "\"plan_type\":2,\"plan_value\":10,\"plan_repet\":3}");
    zplan_plan_destroy (&plan);

    // The time of day of the kind before is no first time.
    plan = fresh ();
    CHECK (zplan_plan_set_weekly (plan, 1, 8, 30) == ZPLAN_OK);
    CHECK (zplan_plan_set_every (plan, 10, ZPLAN_SECONDS) == ZPLAN_OK);
    json_is (plan, "{\"plan_type\":2,\"plan_value\":10,\"plan_repet\":-1}");
    zplan_plan_destroy (&plan);

    // 08:30 of a winter day in UTC, then in Berlin.
    plan = fresh ();
    CHECK (zplan_plan_set_weekly (plan, 1, 8, 30) == ZPLAN_OK);
    json_is (plan, "{\"plan_type\":6,\"plan_value\":1,\"plan_time\":1705307400,\"plan_repet\":-1}");
    CHECK (zplan_plan_set_timezone (plan, "Europe/Berlin") == ZPLAN_OK);
    CHECK (zplan_plan_set_monthly (plan, -1, 8, 30) == ZPLAN_OK);
    json_is (plan, "{\"plan_type\":7,\"plan_value\":-1,\"plan_time\":1705303800,"
                   "\"timezone\":\"Europe/Berlin\",\"plan_repet\":-1}");
    zplan_plan_destroy (&plan);
}

static void too_many_frames (void)
{
    struct zplan_plan *plan = fresh ();
    for (int i = 0; i < 27; i++)
        CHECK (zplan_plan_add_argument (plan, "x") == ZPLAN_OK);
    expect (plan, zplan_plan_add_argument (plan, "x"), "frames: at most 28");
}

// The first time of a plan, as a reply says it.
static void first_time (void)
{
    static const struct {
        const char *text;
        int64_t time;
    } rows[] = {
        {"4102444800", 4102444800}, {"", 0}, {"soon", 0}, {"-5", 0}, {"41024448004102444800", 0}};
    struct zplan_reply reply = {.status = ZERO_STATUS_PLAN_ID, .count = 1};
    CHECK (zplan_reply_first_time (NULL) == 0);
    reply.frames[0] = (struct zplan_frame){.type = ZERO_FRAME_GLOBAL_ID, .data = "1f", .size = 2};
    CHECK (zplan_reply_first_time (&reply) == 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        reply.frames[1] = (struct zplan_frame){
            .type = ZERO_FRAME_PLAN_TIME, .data = rows[i].text, .size = strlen (rows[i].text)};
        reply.count = 2;
        CHECK (zplan_reply_first_time (&reply) == rows[i].time);
    }
}

// NULL is an error everywhere, and no crash.
static void nothing (void)
{
    struct zplan_plan *plan = NULL;
    struct zplan_reply reply = {0};
    char words[4];
    zplan_plan_destroy (&plan);
    zplan_plan_destroy (NULL);
    CHECK (zplan_plan_set_id (NULL, "1") == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_plan_set_title (NULL, "x") == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_plan_set_at (NULL, 1) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_plan_set_in (NULL, 1) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_plan_set_every (NULL, 1, ZPLAN_DAYS) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_plan_set_weekly (NULL, 1, 1, 1) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_plan_set_monthly (NULL, 1, 1, 1) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_plan_set_timezone (NULL, "UTC") == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_plan_set_repeat (NULL, 1) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_plan_set_json (NULL, "a", "1") == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_plan_add_argument (NULL, "x") == ZPLAN_ERROR_ARGUMENT);
    CHECK (!zplan_plan_json (NULL) && *zplan_plan_error (NULL));
    REFUSED ("id: want", zplan_plan_set_id, NULL);
    REFUSED ("description: want", zplan_plan_set_title, NULL);
    REFUSED ("timezone: is missing", zplan_plan_set_timezone, NULL);
    REFUSED ("is missing", zplan_plan_set_json, NULL, "1");
    REFUSED ("is missing", zplan_plan_set_json, "a", NULL);
    REFUSED ("missing", zplan_plan_add_argument, NULL);

    errno = 0;
    CHECK (!zplan_client_new (NULL) && errno == EINVAL);
    errno = 0;
    CHECK (!zplan_client_new ("tcp://nowhere") && errno == EINVAL);
    errno = 0;
    CHECK (!zplan_client_new_curve ("tcp://127.0.0.1:1", NULL) && errno == EINVAL);
    zplan_client_destroy (NULL);
    zplan_client_set_timeout (NULL, 1);
    zplan_client_set_interrupt (NULL, 1);
    CHECK (zplan_client_call (NULL, 1, NULL, 0, &reply) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_client_ping (NULL, &reply) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_client_manage (NULL, "list", NULL, 0, &reply) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_client_submit (NULL, NULL, &reply) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_client_submit_plan (NULL, NULL, &reply) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_client_send (NULL, 1, NULL, 0, NULL, NULL) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_client_process (NULL) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_client_fd (NULL) == -1 && zplan_client_in_hand (NULL) == 0);
    CHECK (*zplan_client_error (NULL));
    struct zplan_result result;
    errno = 0;
    CHECK (!zplan_subscriber_new (NULL, "") && errno == EINVAL);
    errno = 0;
    CHECK (!zplan_subscriber_new ("tcp://127.0.0.1:1", NULL) && errno == EINVAL);
    zplan_subscriber_destroy (NULL);
    CHECK (zplan_subscriber_recv (NULL, 0, &result) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_subscriber_recover (NULL, NULL) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_subscriber_fd (NULL) == -1);
    CHECK (!zplan_reply_frame (NULL, 1, NULL));
    CHECK (strcmp (zplan_reply_words (NULL, words, sizeof words), "") == 0);

    struct zplan_client *client = zplan_client_new ("tcp://127.0.0.1:1");
    CHECK (client && strcmp (zplan_client_error (client), "") == 0);
    CHECK (zplan_client_call (client, 1, NULL, 1, &reply) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_client_call (client, 1, NULL, 0, NULL) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_client_manage (client, NULL, NULL, 0, &reply) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_client_manage (client, "list", NULL, 1, &reply) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_client_manage (client, "list", (const char *[]){NULL}, 1, &reply) ==
           ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_client_submit (client, NULL, &reply) == ZPLAN_ERROR_ARGUMENT);
    CHECK (strcmp (zplan_client_error (client), "submission: it is missing") == 0);
    CHECK (zplan_client_submit_plan (client, NULL, &reply) == ZPLAN_ERROR_ARGUMENT);
    zplan_client_destroy (&client);
    CHECK (!client);

    struct zplan_subscriber *subscriber = zplan_subscriber_new ("tcp://127.0.0.1:1", "");
    CHECK (zplan_subscriber_recv (subscriber, 0, NULL) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_subscriber_recover (subscriber, NULL) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_subscriber_recover (subscriber, &(struct zplan_recovery){.endpoint = "x"}) ==
           ZPLAN_ERROR_ARGUMENT);
    zplan_subscriber_destroy (&subscriber);
}

static void words (void)
{
    for (int error = 0; error >= -7; error--)
        CHECK (*zplan_error_text (error) && strcmp (zplan_error_text (error), "unknown error"));
    CHECK (strcmp (zplan_error_text (1), "unknown error") == 0);
    CHECK (strcmp (zplan_error_text (-8), "unknown error") == 0);
    const char bytes[] = "-busy \x01 gr\xc3\xbc\xc3\x9f \xff!";
    struct zplan_reply reply = {
        .status = ZERO_STATUS_BUSY_ID, .count = 1, .frames = {{3, bytes, sizeof bytes - 1}}};
    char out[64];
    CHECK (strcmp (zplan_reply_words (&reply, out, sizeof out), "-busy ? gr\xc3\xbc\xc3\x9f ?!") ==
           0);
    CHECK (strcmp (zplan_reply_words (&reply, out, 12), "-busy ? gr") == 0); // no half a letter
    reply.count = 0;
    CHECK (strcmp (zplan_reply_words (&reply, out, sizeof out), "-busy") == 0);
}

// Without descriptors there is no client, and no end of the program.
static void no_descriptors (void)
{
    struct rlimit limit, small = {16, 16};
    CHECK (getrlimit (RLIMIT_NOFILE, &limit) == 0);
    small.rlim_max = limit.rlim_max;
    CHECK (setrlimit (RLIMIT_NOFILE, &small) == 0);
    errno = 0;
    CHECK (!zplan_client_new ("tcp://127.0.0.1:1") && errno == EMFILE);
    errno = 0;
    CHECK (!zplan_subscriber_new ("tcp://127.0.0.1:1", "") && errno == EMFILE);
    errno = 0;
    CHECK (!zplan_events_new ("tcp://127.0.0.1:1") && errno == EMFILE);
    CHECK (setrlimit (RLIMIT_NOFILE, &limit) == 0);
}

int main (void)
{
    no_descriptors ();
    refusals ();
    held ();
    iterations ();
    named_type ();
    on_failure ();
    together ();
    texts ();
    too_many_frames ();
    first_time ();
    nothing ();
    words ();
    return 0;
}
