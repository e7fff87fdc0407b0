// The store of a station on a Redis that answers anything (answers.h). Input is a byte of settings,
// then the steps: answers, lost connections, other owners, and calls of each kind, with the texts
// of Redis. Each caller must be answered exactly once, whatever Redis answers.
#include "answers.h"
#include "ident.h"
#include "json.h"
#include "log.h"
#include "outcome.h"
#include "plan_json.h"
#include "reactor.h"
#include "store_shared.h"
#include "store_read.h"

enum { ASKERS_MAX = 256, RUNS_MAX = 32, PLANS = 6, STEPS_MAX = 400 };

// A caller of the store, and how often it was answered.
struct asker {
    size_t answers;
};

// A run that was claimed.
struct claimed_run {
    char target[STATION_NAME_MAX + 1];
    uint64_t id, exec_id;
};

static struct world {
    struct feed *feed;
    struct store *store;
    struct asker askers[ASKERS_MAX];
    size_t asked;
    struct claimed_run runs[RUNS_MAX];
    size_t run_count;
    bool claiming;
} world;

static struct asker *asker_new (void)
{
    HOLDS (world.asked < ASKERS_MAX);
    return &world.askers[world.asked++];
}

static void answered (void *owner, enum store_result result, const char *error)
{
    struct asker *self = owner;
    self->answers++;
    HOLDS (self->answers == 1);
    HOLDS (result <= STORE_ERROR && error);
}

// -- plans

static const char *const targets[] = {"jobs", "job", "a.b"};

static struct plan *some_plan (size_t index)
{
    struct plan *plan = plan_new (0);
    plan->id = index + 1;
    plan->revision = 5;
    plan->station = span_text (targets[index % 3]);
    plan->caller = span_text (index % 2 ? "alice" : "bob");
    plan->state = index == 5 ? PLAN_PAUSE : PLAN_QUEUE;
    plan->plan_time = 1700000000;
    return plan;
}

// Make the stored texts of plans, and let Redis use them in its answers.
static void make_words (void)
{
    for (size_t i = 0; i < PLANS; i++) {
        size_t size;
        struct plan *plan = some_plan (i);
        answers_word (plan_stored_text (plan, &size)); // never freed
        plan_destroy (&plan);
    }
}

// -- answers to calls

static void on_done (void *owner, enum store_result result, const char *error)
{
    answered (owner, result, error);
}

static void on_submitted (void *owner, enum store_result result, const char *error)
{
    answered (owner, result, error);
    HOLDS (result != STORE_FULL || *error);
}

static void on_claimed (void *owner, const struct store_claim *answer)
{
    answered (owner, answer->result, answer->error);
    world.claiming = false;
    HOLDS (answer->result == STORE_DONE || !answer->count);
    for (size_t i = 0; i < answer->count; i++) {
        const struct store_claimed *taken = &answer->taken[i];
        struct claimed_run *run = &world.runs[world.run_count % RUNS_MAX];
        HOLDS (station_name_valid (taken->station) && taken->exec_id && taken->message.data);
        HOLDS (taken->plan_id && taken->plan_id <= INT64_MAX);
        snprintf (run->target, sizeof run->target, "%.*s", (int)taken->station.size,
                  (const char *)taken->station.data);
        run->id = taken->plan_id;
        run->exec_id = taken->exec_id;
        world.run_count++;
    }
}

static void on_committed (void *owner, const struct store_committed *answer)
{
    answered (owner, answer->result, answer->error);
    HOLDS (answer->seq >= 0 && answer->epoch);
    HOLDS (answer->result != STORE_CHANGED || answer->message.data);
    if (!answer->votes)
        return;
    struct reason reason;
    json_t *votes = json_read_object (span_text (answer->votes), &reason);
    HOLDS (votes || strstr (reason.text, "nested"));
    json_decref (votes);
}

static void on_loaded (void *owner, const struct store_loaded *answer)
{
    answered (owner, answer->result, answer->error);
    HOLDS (answer->result != STORE_DONE || answer->message.data);
    if (answer->work)
        free (store_results_json (answer, 1));
}

static void on_removed (void *owner, const struct store_removed *answer)
{
    answered (owner, answer->result, answer->error);
}

static void on_page (void *owner, const struct store_page *answer)
{
    answered (owner, answer->result, answer->error);
    HOLDS (answer->last <= INT64_MAX);
    for (size_t i = 0; i < answer->count; i++)
        HOLDS (answer->plans[i].plan_id && answer->plans[i].station.size);
}

static void on_history (void *owner, const struct store_history *answer)
{
    answered (owner, answer->result, answer->error);
    for (size_t i = 0; i < answer->count; i++)
        json_decref (store_history_at (answer, i));
}

static void on_forgot (void *owner, const struct store_forgot *answer)
{
    answered (owner, answer->result, answer->error);
}

static void on_named (void *owner, const struct store_named *answer)
{
    struct span name, text;
    answered (owner, answer->result, answer->error);
    for (size_t i = 0; store_named_at (answer, i, &name, &text); i++)
        HOLDS (i < answer->count);
}

static void on_attended (void *owner, const struct store_presence *answer)
{
    answered (owner, answer->result, answer->error);
    HOLDS (answer->attending >= 0);
}

static void on_identity (void *owner, const struct store_identity *answer)
{
    answered (owner, answer->result, answer->error);
    HOLDS (answer->result != STORE_DONE || answer->identity.size);
}

static void on_stats (void *owner, const struct store_stats *answer)
{
    answered (owner, answer->result, answer->error);
    HOLDS (answer->next >= 0 && answer->seq >= 0);
}

static void on_swept (void *owner, const struct store_swept *answer)
{
    answered (owner, answer->result, "");
    for (size_t i = 0; i < answer->count; i++)
        HOLDS (answer->outside[i].message.data && answer->outside[i].plan_id);
}

// -- calls

static void submit (uint8_t knob)
{
    struct plan *plan = some_plan (knob % PLANS);
    const struct store_submission submission = {
        .plan = plan, .made_here = knob & 64, .missed = span_text (knob & 128 ? "missed" : "")};
    store_submit (world.store, &submission, on_submitted, asker_new ());
    plan_destroy (&plan);
}

static void claim (uint8_t knob)
{
    const struct core_slots slots[] = {
        {.target = span_text ("jobs"), .free_slots = knob % 4, .probe = knob & 32 ? 1 : 0},
        {.target = span_text ("a.b"), .free_slots = 9}};
    const struct limit limits[] = {{0}, {.concurrency = knob & 64 ? 1 : 0}};
    if (world.claiming)
        return;
    world.claiming = true;
    store_claim (world.store,
                 &(struct claim_wish){.core = {.limit = 10,
                                               .lease_us = 6000000,
                                               .ahead_us = knob & 16 ? 10000 : 0,
                                               .targets = slots,
                                               .target_count = knob & 128 ? 2 : 0},
                                      .limits = limits},
                 on_claimed, asker_new ());
}

// The claimed run that `knob` selects, or one that never existed.
static struct claimed_run run_of (uint8_t knob)
{
    size_t known = world.run_count < RUNS_MAX ? world.run_count : RUNS_MAX;
    struct claimed_run run = {.id = 1 + knob % PLANS, .exec_id = INT64_C (1700000000000001)};
    snprintf (run.target, sizeof run.target, "%s", targets[knob % PLANS % 3]);
    return known && knob < 240 ? world.runs[(world.run_count - 1 - knob % known) % RUNS_MAX] : run;
}

static void commit (uint8_t knob)
{
    uint8_t how = feed_byte (world.feed);
    struct claimed_run run = run_of (knob);
    struct plan *plan = some_plan (run.id % PLANS), *called = some_plan (how % PLANS);
    const struct span frames[] = {span_text ("\x01\x01"), span_text ("yes")};
    const struct participant participant = {span_text ("ann"), frames, 2};
    const struct decision decision = {.commit = (enum commit) (1 + how % (COMMITS - 1)),
                                      .broadcast = (enum broadcast) (how / 8 % 3),
                                      .open_poll = (how & 96) == 32,
                                      .close_poll = (how & 96) == 64,
                                      .unqueued = how == 200,
                                      .waiting = how & 1 ? WAITING_FOR_TARGET : WAITING_NOT};
    plan->id = run.id;
    const struct store_commit commit = {.plan = plan,
                                        .revision = how & 16 ? REVISION_ANY : 5,
                                        .key_station = span_text (run.target),
                                        .exec_id = run.exec_id,
                                        .decision = &decision,
                                        .lease_s = 300,
                                        .participants = &participant,
                                        .participant_count = how & 96 ? 1 : 0,
                                        .record = span_text (how & 128 ? "record" : ""),
                                        .missed = span_text (how & 8 ? "missed" : ""),
                                        .output = span_text (how & 4 ? "jobs:1 2 1 1\nx" : ""),
                                        .called = (how & 24) == 24 ? called : NULL,
                                        .uncalled = span_text ("no room")};
    store_commit (world.store, &commit, on_committed, asker_new ());
    plan_destroy (&called);
    plan_destroy (&plan);
}

static void change (uint8_t knob)
{
    struct claimed_run run = run_of (knob);
    struct plan *plan = some_plan (run.id % PLANS);
    plan->id = run.id;
    plan->revision = 6;
    const struct store_change change = {.plan = plan,
                                        .revision = knob & 1 ? 5 : 0,
                                        .key_station = span_text (run.target),
                                        .exec_id = knob & 2 ? run.exec_id : 0,
                                        .queue = (enum requeue) (knob / 4 % 5),
                                        .lease_s = 300,
                                        .missed = span_text (knob & 128 ? "missed" : "")};
    store_change (world.store, &change, on_done, asker_new ());
    plan_destroy (&plan);
}

static void look (uint8_t knob)
{
    uint64_t id = 1 + knob / 8 % PLANS;
    struct asker *asker = asker_new ();
    switch (knob % 5) {
    case 0:
        store_find (world.store, id, span_text (targets[id % 3]), on_loaded, asker);
        break;
    case 1:
        store_load (world.store, id, knob & 64 ? LINK_REPEAT : LINK_ONCE, on_loaded, asker);
        break;
    case 2:
        store_load_results (world.store, id, on_loaded, asker);
        break;
    case 3:
        store_load_place (world.store, id, on_loaded, asker);
        break;
    default:
        store_remove (world.store, id, knob & 64 ? "jobs" : "", NULL, on_removed, asker);
    }
}

static void read_page (uint8_t knob)
{
    const struct span member = span_text ("\"revision\":5");
    struct asker *asker = asker_new ();
    const struct store_filter filter = {.order = knob % STORE_ORDERS,
                                        .after = knob,
                                        .after_station = "jobs",
                                        .limit = 3,
                                        .station = knob & 1 ? "jobs" : "",
                                        .state = knob & 2 ? PLAN_QUEUE : -1,
                                        .type = -1,
                                        .members = &member,
                                        .member_count = knob & 4 ? 1 : 0};
    const struct history_filter history = {.statuses = knob & 32 ? "01" : "",
                                           .from_ms = knob & 64 ? knob : 0,
                                           .seq = knob,
                                           .from_end = knob & 64,
                                           .newest = knob & 32,
                                           .limit = 3,
                                           .plan_id = knob & 16,
                                           .station = "",
                                           .output = true};
    if (knob & 128)
        store_list (world.store, &filter, on_page, asker);
    else
        store_history (world.store, &history, on_history, asker);
}

static void keep (uint8_t knob)
{
    struct asker *asker = asker_new ();
    const struct limit limit = {.concurrency = knob};
    const struct store_identity_wish wish = {
        .home = "home", .target = "jobs", .fresh = "f1", .replaces = knob & 64 ? "jobs" : ""};
    switch (knob % 4) {
    case 0:
        store_stations (world.store, knob & 8 ? "jobs" : NULL, knob & 16 ? "text" : NULL,
                        knob & 32 ? LINK_REPEAT : LINK_ONCE, on_named, asker);
        break;
    case 1:
        store_kinds (world.store, (enum kind_command) (knob / 4 % 4), span_text ("jobs"), "{}",
                     on_named, asker);
        break;
    case 2:
        store_limits (world.store, (enum limit_command) (knob / 4 % 3), "s:jobs", &limit, on_named,
                      asker);
        break;
    default:
        store_identity (world.store, &wish, on_identity, asker);
    }
}

static void tend (uint8_t knob)
{
    struct asker *asker = asker_new ();
    struct store_restored_outcome restored = {
        .plan_id = 1, .station = "jobs", .ended_ms = 5, .record = span_text ("record")};
    switch (knob % 7) {
    case 0:
        store_enter_presence (world.store, on_attended, asker);
        break;
    case 1:
        store_stats (world.store, on_stats, asker);
        break;
    case 2:
        store_wake_waiting (world.store, "jobs", 1 + knob / 8, on_done, asker);
        break;
    case 3:
        store_sweep (world.store, knob & 128 ? 1 : 0, 1 + knob / 8, on_swept, asker);
        break;
    case 4:
        store_forget (world.store, "", "", span_text ("7-0 0-1 "), on_forgot, asker);
        break;
    case 5:
        store_restore (world.store, &restored, knob & 128 ? 1 : 0, on_done, asker);
        break;
    default:
        if (knob >= 240)
            store_downgrade (world.store, on_done, asker);
        else
            store_call_when_settled (world.store, on_done, asker);
    }
}

// -- the store's states, and the steps of the input

static void on_state (void *owner, enum store_state state)
{
    (void)owner;
    HOLDS (state >= STORE_AWAY && state <= STORE_FENCED);
}

static void on_due (void *owner, int64_t redis_us)
{
    (void)owner, (void)redis_us;
}

static void answer_some (size_t count)
{
    while (count-- && answers_next ())
        ;
    answers_settle ();
}

static void turn (void)
{
    link_flush (store_link (world.store));
    answers_settle ();
}

// Call the store. Only a station that serves reads or writes plans.
static void call (uint8_t what, uint8_t knob)
{
    static void (*const calls[]) (uint8_t knob) = {submit, claim, commit, commit,   change,
                                                   look,   keep,  tend,   read_page};
    if (store_state (world.store) == STORE_SERVING || what < 2)
        calls[what](knob);
}

static void step (void)
{
    uint8_t what = feed_byte (world.feed) % 18, knob = feed_byte (world.feed);
    if (what < 9 && world.asked < ASKERS_MAX)
        call (what, knob);
    else if (what < 12)
        answer_some (knob % 16);
    else if (what < 14)
        turn ();
    else if (what == 14)
        answers_befall (knob);
    else if (what == 15)
        answers_pass (knob * INT64_C (20000));
    else if (what == 16 && knob > 250)
        store_hand_over (world.store);
    else if (what == 16)
        answers_lose ();
    else
        answers_connect ();
}

// Let the store connect, become the owner and load, with the input's answers of Redis.
static void begin (void)
{
    enum { TURNS = 12 };
    answers_connect ();
    for (int i = 0; i < TURNS && store_state (world.store) != STORE_SERVING; i++) {
        turn ();
        answer_some (SIZE_MAX);
    }
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static bool is_ready;
    struct feed feed = {.left = span_of (data, size)};
    uint8_t knob = feed_byte (&feed);
    const struct store_config config = {.link = {.window = 100},
                                        .alone = knob & 1,
                                        .yields = (knob & 6) == 6,
                                        .state_folder = -1,
                                        .name = "fuzz",
                                        .endpoints = "",
                                        .due = on_due};
    const struct store_bounds bounds = {.history_count = 100,
                                        .history_age_s = 3600,
                                        .output_bytes = 64,
                                        .output_age_s = 60,
                                        .plans = knob & 8 ? 2 : 0,
                                        .plans_caller = knob & 16 ? 1 : 0};
    if (!is_ready) {
        log_start ("fuzz", "error", "logfmt");
        make_words ();
        is_ready = true;
    }
    struct reactor *reactor = reactor_new (); // for timers, which never fire here
    world = (struct world){.feed = &feed};
    answers_begin (&feed);
    world.store = store_new (&config, &bounds, reactor, on_state, NULL);
    begin ();
    for (int i = 0; i < STEPS_MAX && feed.left.size; i++)
        step ();
    turn ();
    answer_some (SIZE_MAX);
    answers_lose ();
    store_destroy (&world.store);
    reactor_destroy (&reactor);
    for (size_t i = 0; i < world.asked; i++)
        HOLDS (world.askers[i].answers == 1);
    feed_free (&feed);
    return 0;
}
