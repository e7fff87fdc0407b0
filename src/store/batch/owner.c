#include "owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "plant.h"

enum owner_link_state {
    CLOSED,         // no connection, and none requested yet
    OPENING,        // a connection was requested
    CHECK_REJECTED, // open, but Redis rejected the last check
    CHECKING,       // waiting for the answers to a check and to the commands sent before it
    WATCHED         // the last check was answered, and nothing was sent since
};

struct owner {
    struct owner_config config;
    char former[OWNER_TOKEN_SIZE]; // an earlier token of this station: if Redis still has it, the
                                   // station takes over at once; "" = none
    enum owner_link_state link;
    char token[OWNER_TOKEN_SIZE];  // this station's; empty = standby
    char taking[OWNER_TOKEN_SIZE]; // the token that was sent with a takeover, until it is found
    uint64_t epoch;                // the greatest found
    int64_t acked;                 // number of the last applied batch
    int64_t batch;                 // number of the batch in flight, 0 = none
    bool full;                     // Redis' memory is full
    bool handover;                 // the database is to be released
    bool lost_ownership;  // it was the owner until now, and OWNER_STANDBY is not reported yet
    enum owner_loss loss; // lost before the last takeover (owner_loss)
    enum owner_loss pending_loss; // lost since, to be reported by the next takeover
    char found[OWNER_TOKEN_SIZE]; // token found by the last check
    int64_t found_batch;          // batch number found by the last check
    char seen[OWNER_TOKEN_SIZE];  // token last found in Redis, or written there by this station
    int64_t seen_batch;           // batch number found with `seen`
    int64_t seen_us;              // since when they are unchanged
    int64_t asked_us;             // when the last commands were sent
    int64_t sent_us; // when the batch or takeover in flight was first sent: the lease begins there,
                     // as the first copy may be the one that was applied
    int64_t leased_us;     // start of the lease: sent_us of the last write that was applied
    int64_t wake_us;       // owner_next_us
    int64_t away_until_us; // after a release: do not take a free database before this time
};

static const char FREE[] = ".free";

struct owner *owner_new (const struct owner_config *config)
{
    struct owner *self = memory_new (sizeof *self);
    self->config = *config;
    if (config->stored)
        snprintf (self->former, sizeof self->former, "%s", config->stored);
    self->wake_us = INT64_MIN;
    return self;
}

void owner_destroy (struct owner **self)
{
    free (*self);
    *self = NULL;
}

// -- tokens

// The next number of the splitmix64 generator.
static uint64_t next_nonce (struct owner *self)
{
    uint64_t z = self->config.seed += UINT64_C (0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C (0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C (0x94d049bb133111eb);
    return z ^ z >> 31;
}

static bool token_is (struct span found, const char *token)
{
    return token[0] && span_is (found, token);
}

bool owner_is_free (struct span found)
{
    size_t size = sizeof FREE - 1;
    return found.size > size && memcmp (found.data + found.size - size, FREE, size) == 0;
}

// The number at the start of the token. Without one the epoch is 0: any takeover exceeds it.
static uint64_t token_epoch (struct span found)
{
    uint64_t epoch = 0;
    for (size_t i = 0; i < found.size && found.data[i] >= '0' && found.data[i] <= '9'; i++)
        epoch = epoch > UINT64_MAX / 10 - 1 ? epoch : epoch * 10 + (found.data[i] - '0');
    return epoch;
}

static void copy_token (struct span token, char out[OWNER_TOKEN_SIZE])
{
    size_t size = token.size < OWNER_TOKEN_SIZE ? token.size : OWNER_TOKEN_SIZE - 1;
    if (size)
        memmove (out, token.data, size);
    out[size] = '\0';
}

static void note_seen_token (struct owner *self, struct span token, int64_t batch, int64_t now_us)
{
    copy_token (token, self->seen);
    self->seen_batch = batch;
    self->seen_us = now_us;
}

// -- steps

// A step that sends commands, followed by a check whose answer is awaited.
static struct owner_step step_then_check (struct owner *self, enum owner_action action,
                                          enum owner_change change, int64_t now_us)
{
    self->link = CHECKING;
    self->asked_us = now_us;
    self->wake_us = INT64_MAX;
    return (struct owner_step){action, change};
}

// A step without an action; on_owner_tick continues at `until_us`.
static struct owner_step step_wait_until (struct owner *self, enum owner_change change,
                                          int64_t until_us)
{
    self->wake_us = until_us;
    return (struct owner_step){OWNER_WAIT, change};
}

static int64_t next_heartbeat_us (const struct owner *self)
{
    return self->config.alone ? INT64_MAX : self->leased_us + OWNER_LEASE_US / 4;
}

// Send the next batch, or resend the one in flight.
static struct owner_step step_send_batch (struct owner *self, enum owner_change change,
                                          int64_t now_us)
{
    if (!self->batch)
        self->sent_us = now_us;
    self->batch = self->acked + 1;
    return step_then_check (self, OWNER_SEND, change, now_us);
}

// How much Redis has lost of the batches written by this station, or by the owner it saw last.
static enum owner_loss find_loss (const struct owner *self, struct span found, int64_t batch)
{
    const char *known = self->token[0] ? self->token : self->seen;
    int64_t number = self->token[0] ? self->acked : self->seen_batch;
    if (!known[0])
        return OWNER_LOST_NOTHING;
    if (!found.size)
        return OWNER_LOST_ALL;
    bool back = span_is (found, known) ? batch < number
                                       : token_epoch (found) < token_epoch (span_text (known));
    return back ? OWNER_LOST_TAIL : OWNER_LOST_NOTHING;
}

// Remember a loss, to be reported when this station takes over. Forget it if another station has
// taken over in between, and so has reported it.
static void note_loss (struct owner *self, const struct owner_event *event)
{
    enum owner_loss loss = find_loss (self, event->token, event->batch);
    const char *known = self->token[0] ? self->token : self->seen;
    if (loss != OWNER_LOST_NOTHING)
        self->pending_loss = loss;
    else if (token_epoch (event->token) > token_epoch (span_text (known)))
        self->pending_loss = OWNER_LOST_NOTHING;
}

// Take over with a new token, of an epoch above all that were found.
static struct owner_step step_take_over (struct owner *self, const struct owner_event *event,
                                         int64_t now_us)
{
    // If TOKEN_BY_NAME is planted, the seed depends on the name (writer.c).
    uint64_t nonce = PLANTED (TOKEN_BY_NAME) ? self->config.seed
                     : PLANTED (EPOCH_ALONE) ? 0
                                             : next_nonce (self);
    note_loss (self, event);
    self->full = event->refusal == OWNER_NO_MEMORY;
    self->lost_ownership = self->lost_ownership || self->token[0];
    self->token[0] = '\0';
    snprintf (self->taking, sizeof self->taking, "%" PRIu64 ".%016" PRIx64, ++self->epoch, nonce);
    self->sent_us = now_us;
    return step_then_check (self, OWNER_TAKE, OWNER_UNCHANGED, now_us);
}

// A check found the token of this station's takeover: the station is the owner now.
static struct owner_step on_takeover_found (struct owner *self, int64_t batch, int64_t now_us)
{
    if (batch != 0)
        return (struct owner_step){OWNER_WAIT, OWNER_IMPOSSIBLE};
    memcpy (self->token, self->taking, sizeof self->token);
    self->taking[0] = self->former[0] = '\0';
    self->acked = self->batch = 0;
    self->full = self->handover = self->lost_ownership = false;
    self->loss = self->pending_loss;
    self->pending_loss = OWNER_LOST_NOTHING;
    self->leased_us = self->sent_us;
    note_seen_token (self, span_text (self->token), 0, now_us);
    return step_wait_until (self, OWNER_TOOK_OVER, next_heartbeat_us (self));
}

// Process a check by a station that is not the owner: take over if the database is vacant, or if
// the owner has not written for a whole lease.
static struct owner_step on_check_as_standby (struct owner *self, const struct owner_event *event,
                                              int64_t now_us)
{
    struct span token = event->token;
    bool late = now_us - self->asked_us > OWNER_MARGIN_US;
    if (PLANTED (TOKEN_BY_NAME))
        snprintf (self->former, sizeof self->former, "%" PRIu64 ".%016" PRIx64, token_epoch (token),
                  self->config.seed);
    bool same = token_is (token, self->seen) && event->batch == self->seen_batch;
    bool own = token_is (token, self->former);
    bool vacant = !token.size || owner_is_free (token) || own || self->config.alone;
    bool retakes = self->former[0] && (own || !token.size);
    if (self->lost_ownership && !retakes) { // report OWNER_STANDBY before a takeover
        self->lost_ownership = false;
        note_seen_token (self, token, event->batch, now_us);
        return step_wait_until (self, OWNER_STANDBY, now_us + OWNER_POLL_US);
    }
    if (event->refusal == OWNER_NOT_NOW)
        return step_wait_until (self, OWNER_UNCHANGED, now_us + OWNER_RETRY_US);
    if (vacant && now_us >= self->away_until_us)
        return step_take_over (self, event, now_us);
    if (same && !late && now_us - self->seen_us >= OWNER_LEASE_US)
        return step_take_over (self, event, now_us);
    if (!same)
        note_loss (self, event);
    if (!same || late)
        note_seen_token (self, token, event->batch, now_us);
    return step_wait_until (self, OWNER_UNCHANGED, now_us + OWNER_POLL_US);
}

// Process a check that found this station's token: which of its batches was applied last?
static struct owner_step on_check_as_owner (struct owner *self, const struct owner_event *event,
                                            int64_t now_us)
{
    if (event->batch < self->acked)
        return step_take_over (self, event, now_us);
    if (event->batch == self->acked + 1 && self->batch) {
        self->acked = self->batch;
        self->batch = 0;
        self->full = false;
        self->leased_us = PLANTED (LEASE_FROM_RECEIPT) ? now_us : self->sent_us;
        note_seen_token (self, event->token, event->batch, now_us);
        return step_wait_until (self, OWNER_ACKED,
                                self->handover ? now_us : next_heartbeat_us (self));
    }
    if (event->batch != self->acked)
        return (struct owner_step){OWNER_WAIT, OWNER_IMPOSSIBLE};
    if (event->refusal) {
        self->full = event->refusal == OWNER_NO_MEMORY;
        return step_wait_until (self, self->batch ? OWNER_REFUSED : OWNER_UNCHANGED,
                                self->full ? now_us : now_us + OWNER_RETRY_US);
    }
    if (self->batch)
        return step_send_batch (self, OWNER_UNCHANGED, now_us);
    return step_wait_until (self, OWNER_UNCHANGED,
                            self->handover ? now_us : next_heartbeat_us (self));
}

// Process the answer to a check.
static struct owner_step on_check_answered (struct owner *self, const struct owner_event *event,
                                            int64_t now_us)
{
    uint64_t epoch = token_epoch (event->token);
    self->link = WATCHED;
    if (epoch > self->epoch && epoch < INT64_MAX)
        self->epoch = epoch;
    copy_token (event->token, self->found);
    self->found_batch = event->batch;
    if (token_is (event->token, self->taking))
        return on_takeover_found (self, event->batch, now_us);
    if (token_is (event->token, self->token))
        return on_check_as_owner (self, event, now_us);
    if (self->token[0] && !event->token.size)
        return step_take_over (self, event, now_us);
    if (self->token[0]) { // there is another owner, or this station released the database
        note_loss (self, event);
        self->lost_ownership = true;
        self->token[0] = '\0';
        self->batch = self->acked = 0;
        if (self->handover && owner_is_free (event->token))
            self->away_until_us = now_us + OWNER_LEASE_US;
        self->handover = false;
    }
    return on_check_as_standby (self, event, now_us);
}

// End the lease before the release is sent, as another station may take over at once.
static struct owner_step step_release (struct owner *self, int64_t now_us)
{
    self->leased_us = INT64_MIN / 2;
    return step_then_check (self, OWNER_RELEASE, OWNER_UNCHANGED, now_us);
}

// Forget the ownership but keep the token as `former`: the next check finds it, and the
// station takes over.
static void prepare_retake (struct owner *self)
{
    if (!self->token[0])
        return;
    memcpy (self->former, self->token, sizeof self->former);
    self->token[0] = '\0';
    self->batch = self->acked = 0;
    self->handover = false;
    self->lost_ownership = true;
}

// -- events

// The time of owner_next_us was reached: do what was delayed until then.
static struct owner_step on_owner_tick (struct owner *self, int64_t now_us)
{
    if (now_us < self->wake_us)
        return (struct owner_step){OWNER_WAIT, OWNER_UNCHANGED};
    switch (self->link) {
    case CLOSED:
        self->link = OPENING;
        self->wake_us = INT64_MAX;
        return (struct owner_step){OWNER_OPEN, OWNER_UNCHANGED};
    case WATCHED:
        if (!self->token[0])
            return step_then_check (self, OWNER_CHECK, OWNER_UNCHANGED, now_us);
        if (self->handover && !self->batch)
            return step_release (self, now_us);
        return step_send_batch (self, OWNER_UNCHANGED, now_us); // a resend, or a heartbeat
    case CHECK_REJECTED:
        return step_then_check (self, OWNER_CHECK, OWNER_UNCHANGED, now_us);
    default: // OPENING and CHECKING wait for another event
        self->wake_us = INT64_MAX;
        return (struct owner_step){OWNER_WAIT, OWNER_UNCHANGED};
    }
}

static struct owner_step on_link_closed (struct owner *self, int64_t now_us)
{
    self->link = CLOSED;
    return step_wait_until (self, OWNER_UNCHANGED, now_us + OWNER_POLL_US);
}

struct owner_step owner_event (struct owner *self, const struct owner_event *event, int64_t boot_us)
{
    bool is_replica = event->refusal == OWNER_READ_ONLY;
    switch (event->type) {
    case OWNER_OPENED:
        if (self->config.yields)
            self->away_until_us = boot_us + OWNER_LEASE_US;
        self->config.yields = false;
        return step_then_check (self, OWNER_CHECK, OWNER_UNCHANGED, boot_us);
    case OWNER_CLOSED:
        return on_link_closed (self, boot_us);
    case OWNER_CHECKED:
        if (is_replica) // this Redis is a replica now, and its data may be old
            return on_link_closed (self, boot_us);
        return on_check_answered (self, event, boot_us);
    case OWNER_CHECK_REJECTED:
        if (is_replica)
            return on_link_closed (self, boot_us);
        self->link = CHECK_REJECTED;
        return step_wait_until (self, OWNER_UNCHANGED, boot_us + OWNER_RETRY_US);
    case OWNER_BATCH:
        if (owner_may_send_batch (self))
            return step_send_batch (self, OWNER_UNCHANGED, boot_us);
        break;
    case OWNER_HANDOVER:
        self->handover = self->token[0] != '\0';
        if (self->handover && self->link == WATCHED && !self->batch)
            return step_release (self, boot_us);
        break;
    case OWNER_RETAKE:
        prepare_retake (self);
        break;
    case OWNER_TICK:
        return on_owner_tick (self, boot_us);
    }
    return (struct owner_step){OWNER_WAIT, OWNER_UNCHANGED};
}

// -- queries

int64_t owner_next_us (const struct owner *self)
{
    return self->wake_us;
}

bool owner_may_send_batch (const struct owner *self)
{
    return self->token[0] && self->link == WATCHED && !self->batch && !self->handover;
}

bool owner_is_leased (const struct owner *self, int64_t boot_us)
{
    return self->token[0] &&
           (self->config.alone || boot_us < self->leased_us + OWNER_LEASE_US - OWNER_MARGIN_US);
}

bool owner_is_owner (const struct owner *self)
{
    return self->token[0];
}

const char *owner_token (const struct owner *self)
{
    return self->token[0] ? self->token : self->taking;
}

bool owner_uses_script (const struct owner *self)
{
    return self->full;
}

const char *owner_found_token (const struct owner *self, int64_t *ret_batch)
{
    *ret_batch = self->found_batch;
    return self->found;
}

int64_t owner_batch (const struct owner *self)
{
    return self->batch;
}

int64_t owner_acked (const struct owner *self)
{
    return self->acked;
}

enum owner_loss owner_loss (const struct owner *self)
{
    return self->loss;
}
