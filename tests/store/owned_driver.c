// owned_driver: a station in little on a store that owns its database (src/owned), for tests and
// for a look at its speed: plans are submitted, due at once, taken, and end well.
//
//   owned_driver SOCKET PLANS [WINDOW [FOLDER]]
//
// SOCKET is a Redis' Unix socket, WINDOW how many submissions may be unacknowledged, FOLDER what a
// restart finds its token in. Says "serving SECONDS" when it owns the database; "accepted ID" of
// each acknowledged plan where PLANS is at most 100000 and VERBOSE is set; and in the end one line
// of JSON. With a PLANS of 0 it ends as soon as no plan is left that is due.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"
#include "codes.h"
#include "log.h"
#include "plan_json.h"
#include "state_folder.h"
#include "store.h"

enum { WINDOW = 1000, SLOTS = 256, ARGUMENT = 200, IDLE_MS = 200 };

struct driver {
    struct reactor *reactor;
    struct store *store;
    struct timer timer;
    struct plan *model;
    int64_t plans, window, submitted, accepted, refused, taken, ended, failed, stale;
    int64_t started_us, served_us, accepted_us, first_us, ended_us;
    int64_t in_flight;
    uint64_t last_id;
    int64_t last_seq;
    bool claiming, draining, verbose, gap;
};

static void go_on (struct driver *self);

// -- submissions

static void on_submitted (void *owner, enum store_result result, const char *error)
{
    struct driver *self = owner;
    (void)error;
    self->accepted += result == STORE_DONE;
    self->refused += result != STORE_DONE;
    if (self->accepted + self->refused == self->plans)
        self->accepted_us = clock_mono_us ();
    go_on (self);
}

struct submitter {
    struct driver *driver;
    uint64_t id;
};

static void on_told (void *owner, enum store_result result, const char *error)
{
    struct submitter *submitter = owner;
    if (result == STORE_DONE) {
        printf ("accepted %016" PRIx64 "\n", submitter->id);
        fflush (stdout);
    }
    on_submitted (submitter->driver, result, error);
    free (submitter);
}

static void submit_one (struct driver *self)
{
    char text[1024], argument[ARGUMENT + 1];
    struct reason reason;
    uint64_t id = (uint64_t)store_now_us (self->store) << 8,
             stored = core_last_id (store_core (self->store));
    self->last_id = stored > self->last_id ? stored : self->last_id;
    self->last_id = id > self->last_id ? id : self->last_id + 1;
    memset (argument, 'a', ARGUMENT);
    argument[ARGUMENT] = '\0';
    int64_t due_s = store_now_us (self->store) / 1000000;
    snprintf (
        text, sizeof text,
        "{\"exec_id\":0               ,\"exec_time\":0         ,\"plan_state\":1,\"revision\":1,"
        "\"caller\":\"me\",\"plan_id\":%" PRIu64 ",\"request_id\":\"r\",\"station\":\"jobs\","
        "\"description\":\"drive\",\"plan_type\":1,\"plan_value\":0,\"plan_repet\":1,"
        "\"real_repet\":0,\"last_state\":0,\"plan_time\":%" PRId64 ",\"base_time\":%" PRId64
        ",\"add_time\":%" PRId64 ",\"skip_set\":0,\"skip_num\":0,\"error_count\":0,"
        "\"no_keep\":true,\"messages\":[\"*1\",{\"b64\":\"BAIFAiQlAA==\"},"
        "\"{\\\"plan_type\\\":1}\",\"jobs\",\"echo\",\"%s\"]}",
        self->last_id, due_s, due_s, due_s, argument);
    struct plan *plan = plan_from_stored_json (self->last_id, span_text (text), &reason);
    if (!plan) {
        fprintf (stderr, "owned_driver: %s\n", reason.text);
        exit (1);
    }
    const struct store_submission submission = {.plan = plan, .made_here = true, .due = due_s};
    self->submitted++;
    if (self->verbose) {
        struct submitter *submitter = malloc (sizeof *submitter);
        *submitter = (struct submitter){self, self->last_id};
        store_submit (self->store, &submission, on_told, submitter);
    } else {
        store_submit (self->store, &submission, on_submitted, self);
    }
    plan_destroy (&plan);
}

// -- runs

static void on_committed (void *owner, const struct store_committed *answer)
{
    struct driver *self = owner;
    self->in_flight--;
    self->ended += answer->result == STORE_DONE;
    self->stale += answer->result != STORE_DONE;
    if (answer->seq) {
        self->gap = self->gap || (self->last_seq && answer->seq != self->last_seq + 1);
        self->last_seq = answer->seq;
    }
    self->ended_us = clock_mono_us ();
    go_on (self);
}

static void end_well (struct driver *self, const struct store_claimed *claimed)
{
    struct reason reason;
    struct plan *plan = plan_from_stored_json (claimed->plan_id, claimed->message, &reason);
    if (!plan) {
        self->failed++;
        return;
    }
    size_t size;
    const struct decision decision = {
        .commit = COMMIT_END, .broadcast = BROADCAST_RESULT, .succeeded = true};
    const struct outcome_record record = {.title = plan->description,
                                          .nominal = plan_nominal (plan, claimed->exec_id),
                                          .status = ZERO_STATUS_OK_ID,
                                          .state = PLAN_CLOSE,
                                          .exec_id = claimed->exec_id,
                                          .worker = claimed->station};
    char *packed = store_record (&record, &size);
    self->in_flight++;
    plan->first_run = true;
    store_commit (self->store,
                  &(struct store_commit){.plan = plan,
                                         .revision = plan->revision,
                                         .key_station = claimed->station,
                                         .exec_id = claimed->exec_id,
                                         .decision = &decision,
                                         .record = span_of (packed, size)},
                  on_committed, self);
    free (packed);
    plan_destroy (&plan);
}

static void on_claimed (void *owner, const struct store_claim *claim)
{
    struct driver *self = owner;
    self->claiming = false;
    if (claim->count && !self->first_us)
        self->first_us = clock_mono_us ();
    for (size_t i = 0; i < claim->count; i++)
        end_well (self, &claim->taken[i]);
    self->taken += (int64_t)claim->count;
    if (claim->count)
        go_on (self);
}

static void claim (struct driver *self)
{
    const struct core_slots target = {.target = span_text ("jobs"),
                                      .free_slots = SLOTS - self->in_flight};
    if (self->claiming || target.free_slots < SLOTS / 3)
        return;
    self->claiming = true;
    store_claim (self->store,
                 &(struct claim_wish){.core = {.limit = SLOTS / 2,
                                               .lease_us = 6000000,
                                               .targets = &target,
                                               .target_count = 1},
                                      .limits = &(struct limit){0}},
                 on_claimed, self);
}

// -- the whole

static bool is_done (const struct driver *self)
{
    bool submitted = self->accepted + self->refused == self->plans;
    return submitted && self->draining && !self->in_flight && !self->claiming &&
           core_ready (store_core (self->store), span_text ("jobs")) == 0 &&
           (self->plans == 0 || self->ended + self->stale >= self->accepted);
}

static void go_on (struct driver *self)
{
    while (store_state (self->store) == STORE_SERVING && self->submitted < self->plans &&
           self->submitted - self->accepted - self->refused < self->window)
        submit_one (self);
    // First all are submitted, then all are run.
    self->draining = self->accepted + self->refused == self->plans;
    if (self->draining && store_state (self->store) == STORE_SERVING)
        claim (self);
}

static void on_due (void *owner, int64_t redis_us)
{
    (void)redis_us;
    go_on (owner);
}

static void on_woken (void *owner, enum store_result result, const char *error)
{
    (void)owner, (void)result, (void)error;
}

static void on_state (void *owner, enum store_state state)
{
    struct driver *self = owner;
    if (!self->store)
        return;
    if (state == STORE_SERVING) {
        self->served_us = clock_mono_us ();
        printf ("serving %.3f\n", (double)(self->served_us - self->started_us) / 1e6);
        fflush (stdout);
        store_wake_waiting (self->store, "jobs", SLOTS, on_woken, self);
    }
    if (state == STORE_FENCED || state == STORE_REFUSED) {
        fprintf (stderr, "owned_driver: %s %s\n", state == STORE_FENCED ? "fenced" : "refused",
                 link_trouble (store_link (self->store)));
        reactor_stop (self->reactor);
    }
}

static void on_timer (void *owner)
{
    struct driver *self = owner;
    static int idle;
    go_on (self);
    link_flush (store_link (self->store));
    idle = store_state (self->store) == STORE_SERVING && is_done (self) ? idle + 1 : 0;
    if (idle > IDLE_MS / 20) {
        reactor_stop (self->reactor);
        return;
    }
    timer_set (&self->timer, self->reactor, 20);
}

static double per_second (int64_t count, int64_t from_us, int64_t to_us)
{
    return to_us > from_us ? (double)count * 1e6 / (double)(to_us - from_us) : 0;
}

static void report (const struct driver *self)
{
    struct rusage usage;
    getrusage (RUSAGE_SELF, &usage);
    double cpu_us = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
                    (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    printf ("{\"accepted\": %" PRId64 ", \"refused\": %" PRId64 ", \"taken\": %" PRId64
            ", \"ended\": %" PRId64 ", \"stale\": %" PRId64 ", \"gap\": %s, \"seq\": %" PRId64
            ", \"plans_per_s\": %.0f, \"runs_per_s\": %.0f, \"cpu_us\": %.1f}\n",
            self->accepted, self->refused, self->taken, self->ended, self->stale,
            self->gap ? "true" : "false", self->last_seq,
            per_second (self->accepted, self->served_us, self->accepted_us),
            per_second (self->ended, self->first_us, self->ended_us),
            self->ended ? cpu_us / (double)self->ended : 0);
}

int main (int argc, char **argv)
{
    struct driver driver = {.window = argc > 3 ? strtoll (argv[3], NULL, 10) : WINDOW,
                            .plans = argc > 2 ? strtoll (argv[2], NULL, 10) : 0,
                            .verbose = getenv ("VERBOSE") != NULL};
    struct store_config config = {.link = {.address = {.kind = ADDRESS_UNIX}, .window = 1 << 20},
                                  .name = "driver",
                                  .endpoints = "",
                                  .due = on_due,
                                  .state_folder = argc > 4 ? state_folder_open (argv[4]) : -1};
    const struct store_bounds bounds = {.history_count = 100000, .history_age_s = 86400};
    if (argc < 3) {
        fprintf (stderr, "owned_driver SOCKET PLANS [WINDOW [FOLDER]]\n");
        return 2;
    }
    log_start ("owned_driver", "warn", "logfmt");
    snprintf (config.link.address.host, sizeof config.link.address.host, "%s", argv[1]);
    driver.reactor = reactor_new ();
    driver.started_us = clock_mono_us ();
    driver.timer = (struct timer){.call = on_timer, .owner = &driver};
    driver.store = store_new (&config, &bounds, driver.reactor, on_state, &driver);
    timer_set (&driver.timer, driver.reactor, 1);
    reactor_run (driver.reactor);
    report (&driver);
    timer_end (&driver.timer);
    store_destroy (&driver.store);
    reactor_destroy (&driver.reactor);
    return driver.failed || driver.gap;
}
