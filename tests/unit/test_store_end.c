// How the store ends, gives its plans up, and meets refusals: on a link that answers as a test
// wants (tests/fuzz/answers.h), by default as Redis does when nothing is in the database.
#include "rows.h"

#include "answers.h"
#include "reactor.h"
#include "store_private.h"

static struct feed feed;
static struct reactor *reactor;
static struct store *store;

struct caller {
    size_t answers;
    enum store_result result;
};

static void on_done (void *owner, enum store_result result, const char *error)
{
    struct caller *self = owner;
    self->answers++;
    self->result = result;
    assert_non_null (error);
}

static void on_named (void *owner, const struct store_named *answer)
{
    on_done (owner, answer->result, answer->error);
}

static void on_loaded (void *owner, const struct store_loaded *answer)
{
    on_done (owner, answer->result, answer->error);
}

static void on_claimed (void *owner, const struct store_claim *answer)
{
    on_done (owner, answer->result, answer->error);
}

static void on_state (void *owner, enum store_state state)
{
    (void)owner, (void)state;
}

static void on_due (void *owner, int64_t redis_us)
{
    (void)owner, (void)redis_us;
}

static void turn (void)
{
    link_flush (store_link (store));
    answers_settle ();
}

static void answer_all (void)
{
    while (answers_next ())
        ;
    answers_settle ();
}

static void serve (void)
{
    const struct store_config config = {.link = {.window = 100},
                                        .state_folder = -1,
                                        .name = "test",
                                        .endpoints = "",
                                        .due = on_due};
    const struct store_bounds bounds = {.history_count = 100, .history_age_s = 60};
    feed = (struct feed){0};
    reactor = reactor_new ();
    answers_begin (&feed);
    store = store_new (&config, &bounds, reactor, on_state, NULL);
    answers_connect ();
    for (int i = 0; i < 20 && store_state (store) != STORE_SERVING; i++) {
        turn ();
        answer_all ();
    }
    assert_int_equal (store_state (store), STORE_SERVING);
}

static void end (void)
{
    store_destroy (&store);
    reactor_destroy (&reactor);
    feed_free (&feed);
}

// Those too who wait for nothing, or ask again when they are answered.
static void who_waits_is_answered_when_the_store_ends (void **state)
{
    (void)state;
    for (int turns = 0; turns < 4; turns++) {
        struct caller callers[9] = {{0}};
        serve ();
        store_restore (store, NULL, 0, on_done, &callers[0]);
        store_call_when_settled (store, on_done, &callers[1]);
        store_stations (store, "jobs", "text", LINK_REPEAT, on_named, &callers[2]);
        store_restore (store, NULL, 0, on_done, &callers[3]);
        store_kinds (store, KIND_PUT, span_text ("k"), "{}", on_named, &callers[4]);
        store_call_when_settled (store, on_done, &callers[5]);
        store_load (store, 1, LINK_REPEAT, on_loaded, &callers[6]);
        store_claim (store, &(struct claim_wish){.core = {.limit = 9, .lease_us = 6000000}},
                     on_claimed, &callers[7]);
        store_downgrade (store, on_done, &callers[8]);
        if (turns > 0)
            turn ();
        if (turns > 1)
            answer_all ();
        if (turns > 2)
            answers_lose ();
        end ();
        for (size_t i = 0; i < ROWS (callers); i++)
            assert_int_equal (callers[i].answers, 1);
    }
}

static void going_back_leaves_the_key_of_another_owner (void **state)
{
    (void)state;
    enum { TAKEN_OVER = 1 << 3 };
    for (int other = 0; other < 2; other++) {
        struct caller caller = {0};
        serve ();
        store_downgrade (store, on_done, &caller);
        if (other)
            answers_befall (TAKEN_OVER);
        for (int i = 0; i < 4; i++) {
            turn ();
            answer_all ();
            answers_pass (10000); // what nobody hurries waits for a little while
        }
        assert_int_equal (caller.answers, 1);
        assert_int_equal (answers_asked ("DEL"), !other);
        assert_true (other ? caller.result == STORE_RESET : caller.result == STORE_DONE);
        end ();
    }
}

// All rows of a batch meet keys of other types, and there is no memory for the batch that writes
// them again: the plan is there by then, so its submission is not refused.
static void a_repair_that_is_refused_refuses_no_submission (void **state)
{
    (void)state;
    static const uint8_t wrong_types[] = {0, 0, 1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
    static const uint8_t no_memory[] = {15};
    struct caller caller = {0};
    serve ();
    struct plan *plan = plan_new (0);
    plan->id = 1;
    plan->state = PLAN_QUEUE;
    plan->station = span_text ("jobs");
    store_submit (store, &(struct store_submission){.plan = plan, .made_here = true}, on_done,
                  &caller);
    plan_destroy (&plan);
    answer_all ();
    turn ();
    feed.left = span_of (wrong_types, sizeof wrong_types);
    answer_all ();
    turn ();
    feed.left = span_of (no_memory, sizeof no_memory);
    answer_all ();
    assert_int_equal (caller.answers, 0);
    assert_string_equal (writer_refusal (store->writer), "OOM command not allowed");
    for (int i = 0; i < 4; i++) {
        turn ();
        answer_all ();
    }
    assert_int_equal (caller.answers, 1);
    assert_int_equal (caller.result, STORE_DONE);
    end ();
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (who_waits_is_answered_when_the_store_ends),
        cmocka_unit_test (going_back_leaves_the_key_of_another_owner),
        cmocka_unit_test (a_repair_that_is_refused_refuses_no_submission),
    };
    return cmocka_run_group_tests_name ("the end of the store", tests, NULL, NULL);
}
