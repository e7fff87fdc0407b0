// Creates the store from the link, the writer and the core, and has the functions that its other
// files share.
#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "failpoint.h"
#include "log.h"
#include "memory.h"
#include "process.h"
#include "state_folder.h"
#include "store_private.h"

// -- calls that wait until the store serves

struct deferred_call {
    struct deferred_call *next;
    enum waiter_kind kind;
    void (*call) (void *owner, bool serves);
    void *owner;
};

void store_call_when_serving (struct store *self, enum waiter_kind kind,
                              void (*call) (void *owner, bool serves), void *owner)
{
    struct deferred_call *deferred = memory_new (sizeof *deferred);
    *deferred = (struct deferred_call){.kind = kind, .call = call, .owner = owner};
    *self->last_deferred = deferred;
    self->last_deferred = &deferred->next;
}

// Run the waiting calls whose kind is at least `first`, but not calls that these add.
static void run_deferred_calls (struct store *self, enum waiter_kind first, bool serves)
{
    struct deferred_call *deferred = self->deferred;
    self->deferred = NULL;
    self->last_deferred = &self->deferred;
    while (deferred) {
        struct deferred_call *next = deferred->next;
        if (deferred->kind < first) {
            deferred->next = NULL;
            *self->last_deferred = deferred;
            self->last_deferred = &deferred->next;
        } else {
            deferred->call (deferred->owner, serves);
            free (deferred);
        }
        deferred = next;
    }
}

// -- state

static void change_store_state (struct store *self, enum store_state state)
{
    if (self->state == state)
        return;
    self->state = state;
    self->changed (self->owner, state);
}

// Abort all reads of the core's data.
static void abort_reads (struct store *self)
{
    store_load_abort (self);
    store_migrate_abort (self);
    store_claim_detach (self);
}

// Follow the state of the link. If it is lost, everything that waits for its answers is aborted.
static void on_link_state (void *owner, enum link_state state)
{
    struct store *self = owner;
    if (!self->writer)
        return; // called within link_new
    if (state == LINK_OPENING)
        return; // state unchanged: away, or refused at the last attempt
    if (state == LINK_UP) {
        // The store serves again when the writer has found its token (OWNER_STILL_OWNS).
        writer_opened (self->writer, clock_boot_us ());
        change_store_state (self, STORE_STANDBY);
        return;
    }
    if (self->state != STORE_AWAY || state == LINK_REFUSED) {
        writer_closed (self->writer, clock_boot_us ());
        if (!self->loaded)
            writer_retake (self->writer, clock_boot_us ());
        abort_reads (self);
        run_deferred_calls (self, WAITER_CLIENT, false);
    }
    change_store_state (self, state == LINK_REFUSED ? STORE_REFUSED : STORE_AWAY);
}

bool store_is_serving (const struct store *self)
{
    return self->state == STORE_SERVING;
}

// -- callbacks of the writer

// Pass an answer to the writer. A lost one (NULL) is not passed: writer_closed follows.
static void on_writer_answer (void *owner, const redisReply *reply)
{
    struct store *self = owner;
    if (reply)
        writer_answer (self->writer, reply, clock_boot_us ());
}

static void send_commands (void *owner, const struct commands *commands)
{
    struct store *self = owner;
    self->sent_kinds |= writer_row_kinds (self->writer);
    link_send (self->link, commands, on_writer_answer, self);
}

static void open_link (void *owner, const char *why)
{
    struct store *self = owner;
    if (link_state (self->link) == LINK_UP) // in other states the link connects automatically
        link_renew (self->link, why);
}

// This station became the owner: drop all data in memory, and load them again.
static void start_loading (struct store *self)
{
    enum owner_loss loss = owner_loss (writer_owner (self->writer));
    self->lost_tail = self->lost_tail || loss == OWNER_LOST_TAIL;
    self->lost_all = self->lost_all || loss == OWNER_LOST_ALL;
    abort_reads (self);
    core_reset (self->core);
    self->invalid_batch = 0;
    self->loaded = false;
    change_store_state (self, STORE_LOADING);
    store_load_start (self);
}

// React to what changed in the ownership, or with the batch in flight.
static void on_owner_change (void *owner, enum owner_change news)
{
    struct store *self = owner;
    switch (news) {
    case OWNER_TOOK_OVER:
        start_loading (self);
        break;
    case OWNER_ACKED:
        core_batch_acked (self->core, store_now_us (self));
        if (self->invalid_batch && core_batch (self->core) > self->invalid_batch)
            self->invalid_batch = 0;
        store_report_next_due (self);
        break;
    case OWNER_STANDBY:
        abort_reads (self);
        core_reset (self->core);
        change_store_state (self, STORE_FENCED);
        break;
    case OWNER_IMPOSSIBLE:
        log_event (LEVEL_ERROR, "owner.impossible",
                   "reason=\"Redis has a batch of this station that it never sent: is there a copy "
                   "of this process?\"");
        abort ();
    case OWNER_STILL_OWNS: // reconnected, and this station's token is unchanged
        change_store_state (self, STORE_SERVING);
        break;
    default:
        break;
    }
}

void store_report_next_due (struct store *self)
{
    int64_t next_us = core_next_us (self->core);
    if (next_us < INT64_MAX)
        self->due (self->owner, next_us);
}

void store_begin_serving (struct store *self)
{
    self->loaded = true;
    change_store_state (self, STORE_SERVING);
}

// Update the offset between the clocks by a reading of Redis' clock, taken between `asked_us` and
// now.
static void on_redis_time (void *owner, int64_t asked_us, int64_t redis_us)
{
    enum { STEP_US = 2000000 }; // a larger correction means that Redis' clock was set
    struct store *self = owner;
    // A reading bounds the offset from both sides: the faster the answer, the more tightly. The
    // offset changes only if it is outside these bounds. The first one is the least possible, so
    // that no plan is sent early.
    if (redis_us <= 0 || redis_us > (int64_t)SCHEDULE_TIME_MAX * 1000000)
        return; // not a valid time
    int64_t least = redis_us - clock_mono_us ();
    int64_t most = redis_us - asked_us;
    int64_t before_us = self->offset_us;
    if (!self->clock_was_read || self->offset_us < least)
        self->offset_us = least;
    else if (self->offset_us > most)
        self->offset_us = most;
    int64_t step_us = self->offset_us - before_us;
    bool stepped = self->clock_was_read && (step_us > STEP_US || step_us < -STEP_US);
    self->clock_was_read = true;
    if (!stepped)
        return;
    log_event (
        LEVEL_WARN, "clock.step",
        "seconds=%.1f reason=\"the clock of Redis was set: leases end early or late by that\"",
        (double)step_us / 1e6);
    if (store_is_serving (self))
        store_report_next_due (self);
}

static void on_wrong_key (void *owner, struct span key)
{
    struct store *self = owner;
    copy_text (self->wrong_key, sizeof self->wrong_key, key);
}

static void keep_takeover_token (void *owner, const char *token)
{
    struct store *self = owner;
    state_folder_store_token (self->state_folder, token);
}

// -- turns

// Set the timer to the writer's next deadline, at most a second from now.
static void set_flush_timer (struct store *self)
{
    enum { LONGEST_MS = 1000 };
    int64_t now_us = clock_boot_us (), next_us = owner_next_us (writer_owner (self->writer));
    int64_t left_us = next_us > now_us ? next_us - now_us : 0;
    int64_t ms = left_us > LONGEST_MS * 1000 ? LONGEST_MS : (left_us + 999) / 1000;
    if (!writer_is_idle (self->writer) && ms > 2)
        ms = 2; // a delayed batch is waiting
    timer_set (&self->timer, self->reactor, ms > 0 ? ms : 1);
}

// Called by link_flush at the end of a turn, before it writes: hands over the calls of this turn.
static void flush_turn (void *owner)
{
    struct store *self = owner;
    if (self->flushing)
        return;
    self->flushing = true;
    writer_flush (self->writer, clock_boot_us (), clock_mono_us (), link_received_us (self->link));
    if (store_is_serving (self)) {
        run_deferred_calls (self, WAITER_SURE, true);
        store_queue_update (self);
    }
    self->flushing = false;
    set_flush_timer (self);
}

// Called by link_flush after it wrote. In a test build the station may be killed here: a batch was
// sent, and its answer not read.
static void on_flushed (void *owner)
{
    struct store *self = owner;
    if (self->sent_kinds & ROWS_SUBMISSION)
        FAILPOINT ("store_sent");
    if (self->sent_kinds & ROWS_CLAIM)
        FAILPOINT ("claim_sent");
    if (self->sent_kinds & ROWS_RESULT)
        FAILPOINT ("result_sent");
    self->sent_kinds = 0;
}

static void on_flush_timer (void *owner)
{
    struct store *self = owner;
    link_flush (self->link);
}

void store_hand_over (struct store *self)
{
    writer_hand_over (self->writer, clock_boot_us ());
}

bool store_is_leased (const struct store *self)
{
    return owner_is_leased (writer_owner (self->writer), clock_boot_us ());
}

bool store_owns (const struct store *self)
{
    return owner_is_owner (writer_owner (self->writer));
}

// -- life

enum { TEXT_ROOM = 4096 }; // initial size of the buffer for writing plans

static struct core_bounds make_core_bounds (const struct store_bounds *bounds)
{
    return (struct core_bounds){.plans = bounds->plans,
                                .plans_station = bounds->plans_station,
                                .plans_caller = bounds->plans_caller,
                                .outcomes = bounds->history_count};
}

static void create_writer (struct store *self, const struct store_config *config)
{
    const struct writer_io io = {.owner = self,
                                 .send = send_commands,
                                 .open = open_link,
                                 .owner_changed = on_owner_change,
                                 .time = on_redis_time,
                                 .wrong_key = on_wrong_key,
                                 .taking = keep_takeover_token};
    char token[OWNER_TOKEN_SIZE] = "";
    self->state_folder = config->state_folder;
    state_folder_read_token (self->state_folder, token, sizeof token);
    const struct writer_config writer = {.owner = {.seed = process_random (),
                                                   .alone = config->alone,
                                                   .yields = config->yields,
                                                   .stored = *token ? token : NULL},
                                         .name = self->name,
                                         .endpoints = self->endpoints,
                                         .key = self->key,
                                         .outcomes = self->bounds.history_count};
    self->writer = writer_new (self->core, &writer, &io);
}

struct store *store_new (const struct store_config *config, const struct store_bounds *bounds,
                         struct reactor *reactor, store_state_fn *changed, void *owner)
{
    struct store *self = memory_new (sizeof *self);
    const struct core_bounds core_bounds = make_core_bounds (bounds);
    self->bounds = *bounds;
    self->reactor = reactor;
    self->changed = changed;
    self->owner = owner;
    self->due = config->due;
    self->alone = config->alone;
    self->window = config->link.window;
    self->last_deferred = &self->deferred;
    self->offset_us = clock_wall_us () - clock_mono_us ();
    snprintf (self->instance, sizeof self->instance, "%016" PRIx64, process_random ());
    snprintf (self->name, sizeof self->name, "%s", config->name);
    snprintf (self->endpoints, sizeof self->endpoints, "%s", config->endpoints);
    snprintf (self->key, sizeof self->key, "%s", config->key ? config->key : "");
    json_text_start (&self->text, TEXT_ROOM);
    self->core = core_new (&core_bounds);
    self->timer = (struct timer){.call = on_flush_timer, .owner = self};
    struct link_config link = config->link;
    link.schemas[0] = STORE_SCHEMA;
    link.schemas[1] = STORE_SCHEMA_FORMER;
    self->link = link_new (&link, reactor,
                           &(struct link_io){.owner = self,
                                             .changed = on_link_state,
                                             .gather = flush_turn,
                                             .flushed = on_flushed,
                                             .time = on_redis_time});
    create_writer (self, config);
    set_flush_timer (self);
    return self;
}

void store_destroy (struct store **self_p)
{
    struct store *self = *self_p;
    if (!self)
        return;
    timer_end (&self->timer);
    self->flushing = true; // prevents further sends
    self->state = STORE_AWAY;
    run_deferred_calls (self, WAITER_SURE, false);
    link_destroy (&self->link);
    abort_reads (self);
    writer_destroy (&self->writer);
    run_deferred_calls (self, WAITER_SURE, false); // again, for calls added by the callbacks above
    core_destroy (&self->core);
    state_folder_close (&self->state_folder);
    free (self->spare_claim);
    free (self->text.bytes);
    free (self);
    *self_p = NULL;
}

size_t store_pending (const struct store *self)
{
    return link_pending (self->link) + writer_waiter_count (self->writer);
}

enum { BATCH_BYTES = 1048576 }; // the store is busy when the batch being collected is this large

// While the link is down the store is not busy: waiting calls are bounded by the runs in flight,
// and new requests must be rejected at once. While plans are loading it is busy, so that requests
// wait: that takes only some ms.
bool store_busy (const struct store *self)
{
    bool soon = self->state == STORE_LOADING ||
                (self->state == STORE_STANDBY && owner_is_owner (writer_owner (self->writer)));
    return soon || (store_is_serving (self) &&
                    (link_busy (self->link) || core_batch_bytes (self->core) >= BATCH_BYTES ||
                     (int64_t)store_pending (self) >= self->window));
}

bool store_idle (const struct store *self)
{
    if (!store_is_serving (self))
        return !store_busy (self);
    return link_idle (self->link) && core_batch_bytes (self->core) < BATCH_BYTES &&
           (int64_t)store_pending (self) <= self->window / 2;
}

bool store_is_settled (const struct store *self)
{
    return !store_owns (self) || (writer_is_idle (self->writer) && !link_pending (self->link));
}

void store_trim (struct store *self)
{
    writer_trim (self->writer);
}

void store_set_bounds (struct store *self, const struct store_bounds *bounds)
{
    const struct core_bounds core_bounds = make_core_bounds (bounds);
    self->bounds = *bounds;
    core_set_bounds (self->core, &core_bounds);
    writer_set_outcomes (self->writer, bounds->history_count);
}

const struct core *store_core (const struct store *self)
{
    return self->core;
}

struct link *store_link (const struct store *self)
{
    return self->link;
}

const char *store_trouble (struct store *self)
{
    if (!self->link)
        return ""; // the store is being destroyed, and answers waiting callers
    const char *refusal = writer_refusal (self->writer);
    // A full memory of Redis (OOM) does not count: plans can still run and be removed.
    if (*link_trouble (self->link) || !*refusal || strncmp (refusal, "OOM", 3) == 0)
        return link_trouble (self->link);
    reason_set (&self->trouble, "Redis: %s", refusal);
    return self->trouble.text;
}

enum store_state store_state (const struct store *self)
{
    return self->state;
}

// -- clocks

int64_t store_mono_us (const struct store *self, int64_t redis_us)
{
    return redis_us - self->offset_us;
}

int64_t store_now_us (const struct store *self)
{
    return clock_mono_us () + self->offset_us;
}
