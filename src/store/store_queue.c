// Reads the queue in pages as the core requests them, and checks once a second whether the queue or
// the limits were edited by hand.
#include <stdlib.h>

#include "clock.h"
#include "memory.h"
#include "store_private.h"

enum { COMPARE_US = 1000000, PAGE_RETRY_US = 100000, FIELDS = 3 };

// -- pages

// A read in flight, with the state of the store when it was sent.
struct queue_read {
    struct store *store;
    uint64_t resets;       // core_resets: if it differs now, the answer is outdated
    int64_t expected;      // number of plans that the core expects: due ones, or all
    uint64_t limit_writes; // as in struct store: if it differs now, the limits read are outdated
};

static struct queue_read *queue_read_new (struct store *self)
{
    struct queue_read *sent_read = memory_new (sizeof *sent_read);
    *sent_read = (struct queue_read){self, core_resets (self->core), 0, self->limit_writes};
    return sent_read;
}

// Whether no reset dropped the core's data since the read was sent.
static bool read_is_current (const struct queue_read *sent_read)
{
    return core_resets (sent_read->store->core) == sent_read->resets;
}

// Remove a queue member that names no plan, and note it for the log.
static void remove_invalid_member (struct store *self, struct span member)
{
    store_put (self, WORDS (TEXT ("ZREM"), TEXT (KEY_TIME_SET), member));
    self->invalid_batch = core_batch (self->core);
    if (!self->invalid_members++)
        copy_text (self->invalid_member, sizeof self->invalid_member, member);
}

// Parse the members of a page. Members that name no plan are removed from the queue.
static size_t parse_members (struct store *self, const redisReply *reply, struct core_member *out)
{
    size_t count = 0;
    for (size_t i = 0; i + FIELDS <= reply->elements && count < CORE_PAGE; i += FIELDS) {
        struct core_member *member = &out[count];
        struct span key = reply_text (reply->element[i]);
        *member = (struct core_member){.score_us = reply_score_us (reply->element[i + 1]),
                                       .class = reply_text (reply->element[i + 2])};
        if (message_key_parse (key, &member->target, &member->id))
            count++;
        else // no plan has this key: it would stay due forever
            remove_invalid_member (self, key);
    }
    return count;
}

// Pass the page to the core. After an error, read it again later.
static void on_queue_page (void *owner, const redisReply *reply)
{
    struct queue_read *sent_read = owner;
    struct store *self = sent_read->store;
    if (read_is_current (sent_read) && reply_is_array (reply, 0)) {
        struct core_member *members = memory_new (CORE_PAGE * sizeof *members);
        size_t count = parse_members (self, reply, members);
        core_load_page (self->core, members, count, reply->elements / FIELDS, store_now_us (self));
        free (members);
        store_report_next_due (self);
    } else if (read_is_current (sent_read)) {
        core_page_lost (self->core);
        self->page_retry_us = clock_mono_us () + PAGE_RETRY_US;
        if (store_replace_wrong_key (self, KEY_TIME_SET,
                                     reply)) // the next sweep restores the queue
            self->invalid_batch = core_batch (self->core);
    }
    free (sent_read);
}

// Read a page of the queue after the cursor.
static void read_queue_page (struct store *self, const struct core_cursor *cursor)
{
    bool begins = cursor->score_us == INT64_MIN;
    struct span score = begins ? TEXT ("") : NUMBER (cursor->score_us);
    struct span member = begins || cursor->all
                             ? TEXT ("")
                             : PLAN_KEY (KEY_MESSAGE, TEXT (cursor->target), cursor->id);
    store_run_script (
        self, SCRIPT_PAGE, 2,
        WORDS (TEXT (KEY_TIME_SET), TEXT (KEY_CLASS), score, member, NUMBER (CORE_PAGE)),
        on_queue_page, queue_read_new (self));
}

// -- edits by hand

// If Redis has another number of due plans than expected, the queue was edited: read it again.
static void on_due_count (void *owner, const redisReply *reply)
{
    struct queue_read *sent_read = owner;
    struct store *self = sent_read->store;
    bool differs =
        reply && reply->type == REDIS_REPLY_INTEGER && reply->integer != sent_read->expected;
    if (read_is_current (sent_read) && differs)
        core_reread (self->core);
    free (sent_read);
}

static void on_limits_checked (void *owner, const redisReply *reply)
{
    struct queue_read *sent_read = owner;
    // If a limit was changed meanwhile, the core's data are newer.
    if (read_is_current (sent_read) && sent_read->limit_writes == sent_read->store->limit_writes)
        store_pass_limits (sent_read->store, reply);
    free (sent_read);
}

static void on_plan_total (void *owner, const redisReply *reply)
{
    struct queue_read *sent_read = owner;
    if (read_is_current (sent_read) && reply && reply->type == REDIS_REPLY_INTEGER)
        core_correct_plan_count (sent_read->store->core, sent_read->expected, reply->integer);
    free (sent_read);
}

// Compare the numbers of due plans and of all plans in Redis with those in memory. Called when no
// write is pending or in flight, so they must agree unless somebody edited Redis.
static void compare_plan_counts (struct store *self)
{
    int64_t until_us;
    int64_t expected = core_expected_due (self->core, store_now_us (self), &until_us);
    if (expected < 0)
        return;
    struct queue_read *sent_read = queue_read_new (self), *all = queue_read_new (self);
    sent_read->expected = expected;
    all->expected = core_plan_count (self->core);
    store_get (self, WORDS (TEXT ("ZCOUNT"), TEXT (KEY_TIME_SET), TEXT ("-inf"), SCORE (until_us)),
               on_due_count, sent_read);
    store_get (self, WORDS (TEXT ("ZCARD"), TEXT (KEY_INDEX)), on_plan_total, all);
}

void store_queue_update (struct store *self)
{
    struct core_cursor cursor;
    int64_t now_us = clock_mono_us ();
    // Do not read while invalid members are being removed: they would be read again.
    if (!self->invalid_batch && now_us >= self->page_retry_us &&
        core_wants_page (self->core, store_now_us (self), &cursor))
        read_queue_page (self, &cursor);
    if (self->comparison_wanted && core_is_quiet (self->core)) {
        self->comparison_wanted = false;
        compare_plan_counts (self);
    }
    if (now_us < self->comparison_us)
        return;
    self->comparison_wanted = true; // done in the next turn in which the core is quiet
    self->comparison_us = now_us + COMPARE_US;
    if (!self->limits_unwritten)
        store_get (self, WORDS (TEXT ("HGETALL"), TEXT (KEY_LIMITS)), on_limits_checked,
                   queue_read_new (self));
}
