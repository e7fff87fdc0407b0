// Each call packs its arguments in the order its script documents, and unpacks the answer; nothing
// is decided here.
#include "store_private.h"

#include <ctype.h>
#include <czmq.h>
#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "decimal.h"
#include "ident.h"
#include "log.h"
#include "memory.h"
#include "plan_json.h"
#include "process.h"

// -- names

static size_t put (char *out, size_t at, struct span text)
{
    if (text.size)
        memcpy (out + at, text.data, text.size);
    out[at + text.size] = '\0';
    return at + text.size;
}

void member_make (char out[MEMBER_MAX], struct span station, uint64_t plan_id)
{
    char id[IDENT_SIZE];
    size_t at = put (out, put (out, 0, span_text ("plan:msg:")), station);
    put (out, put (out, at, span_text (":")), span_text (ident_text (plan_id, id)));
}

void wait_make (char out[MEMBER_MAX], struct span station)
{
    put (out, put (out, 0, span_text ("plan:wait:")), station);
}

// A caller as a field of plan:count: what stands between the quotes in the message, behind a letter
// for its form, and of a long one the sum of that (plan.lua, caller_of).
static void caller_field (struct store *self, struct span caller, char out[CALLER_FIELD_MAX])
{
    enum { NAME_BYTES_MAX = 40 };
    json_text_clear (&self->text);
    json_text_frame (&self->text, caller);
    size_t size;
    char *text = json_text_end (&self->text, &size);
    char *name = *text == '"' ? text : text + sizeof "{\"b64\":" - 1;
    *name = *text == '"' ? 't' : 'b';
    size = 1 + strcspn (name + 1, "\"");
    name[size] = '\0';
    if (size <= NAME_BYTES_MAX) {
        memcpy (out, "c:", 2);
        memcpy (out + 2, name, size + 1);
        return;
    }
    zdigest_t *digest = zdigest_new ();
    zdigest_update (digest, (const byte *)name, size);
    snprintf (out, CALLER_FIELD_MAX, "c:%s", zdigest_string (digest));
    for (char *at = out + 2; *at; at++)
        *at = (char)tolower (*at);
    zdigest_destroy (&digest);
}

// -- arguments

void id_digits (uint64_t id, char out[IDENT_SIZE])
{
    for (int i = 0; i < IDENT_SIZE - 1; i++, id <<= 4)
        out[i] = "0123456789abcdef"[id >> 60];
    out[IDENT_SIZE - 1] = '\0';
}

bool tallies_full (const struct tallies *self)
{
    return self->count + 2 > TALLIES_MAX;
}

static void tally (struct tallies *self, const char *field)
{
    size_t i = 0;
    while (i < self->count && strcmp (self->at[i].field, field) != 0)
        i++;
    if (i == self->count) {
        snprintf (self->at[i].field, TALLY_FIELD_MAX, "%s", field);
        self->at[i].plans = 0;
        self->count++;
    }
    self->at[i].plans++;
}

void store_tally (struct store *self, struct tallies *tallies, struct span station,
                  const struct plan *plan)
{
    char field[TALLY_FIELD_MAX];
    put (field, put (field, 0, span_text ("s:")), station);
    tally (tallies, field);
    caller_field (self, plan->caller, field);
    tally (tallies, field);
}

void tallies_add (struct tallies *self, int sign, struct batch *batch)
{
    batch_add_number (batch, (int64_t)self->count);
    for (size_t i = 0; i < self->count; i++) {
        batch_add_text (batch, self->at[i].field);
        batch_add_number (batch, sign * self->at[i].plans);
    }
    self->count = 0;
}

void store_add_plan (struct store *self, struct batch *batch, struct span key_station,
                     const struct plan *plan)
{
    char member[MEMBER_MAX], belongs[STATION_NAME_MAX + 1 + CALLER_FIELD_MAX];
    member_make (member, key_station, plan->id);
    batch_add_text (batch, member);
    size_t at = put (belongs, put (belongs, 0, key_station), span_text (" "));
    caller_field (self, plan->caller, belongs + at);
    batch_add_text (batch, belongs);
}

void store_add_entry (struct batch *batch, struct span key_station, uint64_t plan_id)
{
    char entry[IDENT_SIZE + 1 + STATION_NAME_MAX];
    id_digits (plan_id, entry);
    put (entry, put (entry, IDENT_SIZE - 1, span_text (":")), key_station);
    batch_add_text (batch, entry);
}

void store_add_work (struct batch *batch, struct span key_station, uint64_t plan_id)
{
    char work[MEMBER_MAX + 1], id[IDENT_SIZE];
    size_t at = put (work, put (work, 0, span_text ("plan:work:")), key_station);
    put (work, put (work, at, span_text (":")), span_text (ident_text (plan_id, id)));
    batch_add_text (batch, work);
}

void store_add_message (struct store *self, struct batch *batch, const struct plan *plan)
{
    json_text_clear (&self->text);
    plan_write_stored (plan, &self->text);
    batch_add (batch, span_of (self->text.bytes, self->text.size));
}

// -- life

static void gather (void *owner)
{
    struct store *self = owner;
    batches_flush (self->submissions);
    batches_flush (self->looked_at);
    batches_flush (self->commits_gathered);
    batches_flush (self->ends);
}

// For so long the sign of life of a run is kept back: mostly the result of a short one outdoes it.
enum { SIGN_OF_LIFE_MS = 2 };

// And a result when others are about to follow.
enum { RESULTS_MS = 3 };

enum { TEXT_ROOM = 4096 }; // at first

struct store *store_new (const struct link_config *config, const struct store_bounds *bounds,
                         struct reactor *reactor, link_state_fn *changed, void *owner)
{
    static const struct batch_kind submission = {.script = SCRIPT_SUBMIT,
                                                 .repeat = LINK_ONCE,
                                                 .head = store_submit_head,
                                                 .answer = store_on_submitted};
    static const struct batch_kind looked_at = {.script = SCRIPT_SUBMIT,
                                                .repeat = LINK_ONCE,
                                                .head = store_look_at_head,
                                                .answer = store_on_submitted};
    static const struct batch_kind commit = {.script = SCRIPT_COMMIT,
                                             .repeat = LINK_REPEAT,
                                             .head = store_commit_head,
                                             .answer = store_on_committed,
                                             .late = store_commit_late,
                                             .patience_ms = SIGN_OF_LIFE_MS};
    static const struct batch_kind end = {.script = SCRIPT_END,
                                          .repeat = LINK_REPEAT,
                                          .head = store_end_head,
                                          .answer = store_on_ended,
                                          .patience_ms = RESULTS_MS};
    struct store *self = memory_new (sizeof *self);
    self->bounds = *bounds;
    self->window = config->window;
    self->offset_us = clock_wall_us () - clock_mono_us ();
    uint64_t instance = process_random ();
    snprintf (self->instance, sizeof self->instance, "%016" PRIx64, instance);
    snprintf (self->claims_key, sizeof self->claims_key, "plan:claim:%016" PRIx64, instance);
    snprintf (self->sent_key, sizeof self->sent_key, "plan:sent:%016" PRIx64, instance);
    snprintf (self->new_key, sizeof self->new_key, "plan:new:%016" PRIx64, instance);
    json_text_start (&self->text, TEXT_ROOM);
    self->link = link_new (config, reactor, changed, owner);
    self->submissions = batches_new (&submission, self->link, reactor, self);
    self->looked_at = batches_new (&looked_at, self->link, reactor, self);
    self->commits_gathered = batches_new (&commit, self->link, reactor, self);
    self->ends = batches_new (&end, self->link, reactor, self);
    link_before_flush (self->link, gather, self);
    return self;
}

void store_destroy (struct store **self_p)
{
    struct store *self = *self_p;
    if (!self)
        return;
    batches_send (self->submissions);
    batches_send (self->looked_at);
    batches_send (self->commits_gathered);
    batches_send (self->ends);
    link_destroy (&self->link);
    batches_destroy (&self->submissions);
    batches_destroy (&self->looked_at);
    batches_destroy (&self->commits_gathered);
    batches_destroy (&self->ends);
    free (self->text.bytes);
    free (self);
    *self_p = NULL;
}

size_t store_pending (const struct store *self)
{
    return link_pending (self->link) + batches_pending (self->submissions) +
           batches_pending (self->looked_at) + batches_pending (self->commits_gathered) +
           batches_pending (self->ends);
}

// What waits for a link that is down does not count: it is bounded by the runs in hand, and whoever
// asks meanwhile is to be answered.
bool store_busy (const struct store *self)
{
    return link_state (self->link) == LINK_UP &&
           (link_busy (self->link) || (int64_t)store_pending (self) >= self->window);
}

bool store_idle (const struct store *self)
{
    return link_state (self->link) != LINK_UP ||
           (link_idle (self->link) && (int64_t)store_pending (self) <= self->window / 2);
}

void store_set_bounds (struct store *self, const struct store_bounds *bounds)
{
    self->bounds = *bounds;
}

struct link *store_link (const struct store *self)
{
    return self->link;
}

int64_t store_mono_us (const struct store *self, int64_t redis_us)
{
    return redis_us - self->offset_us;
}

int64_t store_now_us (const struct store *self)
{
    return clock_mono_us () + self->offset_us;
}

void store_begin_clock (struct store *self)
{
    const struct link_facts *facts = link_facts (self->link);
    if (!self->learned && facts->clock_known)
        self->offset_us = clock_wall_us () + facts->clock_ahead_ms * 1000 - clock_mono_us ();
}

enum { STEP_US = 2000000 }; // a clock that differs by more was set

void store_learn_time (struct store *self, int64_t asked_us, int64_t redis_us)
{
    // A slow answer says little, a fast one corrects what slow ones left; a step of the clock shows
    // in either direction. It begins at the least that Redis' clock may show: what was prefetched
    // is sent by it, and never early.
    if (redis_us <= 0)
        return; // no time of a Redis
    int64_t least = redis_us - clock_mono_us ();
    int64_t most = redis_us - asked_us;
    int64_t before_us = self->offset_us;
    if (!self->learned || self->offset_us < least)
        self->offset_us = least;
    else if (self->offset_us > most)
        self->offset_us = most;
    int64_t step_us = self->offset_us - before_us;
    if (self->learned && (step_us > STEP_US || step_us < -STEP_US))
        log_event (LEVEL_WARN, "clock.step",
                   "seconds=%.1f reason=\"the clock of Redis was set: leases end early or late by "
                   "that\"",
                   (double)step_us / 1e6);
    self->learned = true;
}

// -- asking and reading answers

struct ask *ask_new (struct store *self, void (*reply) (void), void *owner)
{
    struct ask *ask = memory_new (sizeof *ask);
    *ask =
        (struct ask){.store = self, .reply = reply, .owner = owner, .asked_us = clock_mono_us ()};
    return ask;
}

bool reply_is_array (const redisReply *reply, size_t elements)
{
    return reply && reply->type == REDIS_REPLY_ARRAY && reply->elements >= elements;
}

enum store_result reply_result (const redisReply *reply, const char **ret_error)
{
    *ret_error = "";
    if (!reply)
        return STORE_LOST;
    if (reply->type != REDIS_REPLY_ERROR)
        return STORE_DONE;
    *ret_error = reply->str;
    return STORE_ERROR;
}

struct span reply_text (const redisReply *reply)
{
    bool text = reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS;
    return text ? span_of (reply->str, reply->len) : (struct span){0};
}

int64_t reply_number (const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        return reply->integer;
    return reply_text (reply).size ? strtoll (reply->str, NULL, 10) : 0;
}

int64_t reply_time_us (const redisReply *reply)
{
    int64_t us = reply_number (reply);
    return us > 0 && us <= (int64_t)SCHEDULE_TIME_MAX * 1000000 ? us : 0;
}

bool message_key_parse (struct span key, struct span *ret_station, uint64_t *ret_id)
{
    static const char prefix[] = "plan:msg:";
    const size_t size = sizeof prefix - 1;
    if (key.size <= size || memcmp (key.data, prefix, size) != 0)
        return false;
    const uint8_t *colon = memrchr (key.data + size, ':', key.size - size);
    if (!colon)
        return false;
    *ret_station = span_of (key.data + size, (size_t)(colon - key.data) - size);
    return station_name_valid (*ret_station) &&
           ident_parse (span_of (colon + 1, (size_t)(key.data + key.size - colon - 1)), ret_id);
}

void run_parse (struct span text, uint64_t *ret_exec_id, bool *ret_again)
{
    *ret_exec_id = text.size ? strtoull ((const char *)text.data, NULL, 10) : 0;
    *ret_again = text.size && memchr (text.data, '+', text.size);
}

// -- change

static void on_change_safe (void *owner, bool enough)
{
    struct ask *ask = owner;
    ((store_done_fn *)ask->reply) (ask->owner, enough ? STORE_DONE : STORE_UNSURE, "");
    free (ask);
}

static void on_changed (void *owner, const redisReply *reply)
{
    static const enum store_result results[] = {STORE_NONE, STORE_DONE, STORE_CHANGED};
    struct ask *ask = owner;
    const char *error;
    enum store_result result = reply_result (reply, &error);
    int64_t number = result == STORE_DONE ? reply_number (reply) : 0;
    if (result == STORE_DONE)
        result = number >= 0 && number <= 2 ? results[number] : STORE_NONE;
    if (result == STORE_DONE) {
        link_replicate (ask->store->link, on_change_safe, ask);
        return;
    }
    ((store_done_fn *)ask->reply) (ask->owner, result, error);
    free (ask);
}

static void change_place (const struct store_change *change, char *out, size_t size)
{
    switch (change->queue) {
    case REQUEUE_KEEP:
        snprintf (out, size, "keep");
        break;
    case REQUEUE_TIME:
        snprintf (out, size, "%" PRId64, plan_due_time (change->plan));
        break;
    case REQUEUE_NOW:
        snprintf (out, size, "now");
        break;
    case REQUEUE_LEASE:
        snprintf (out, size, "+%" PRId64, change->lease_s);
        break;
    case REQUEUE_OUT:
        snprintf (out, size, "out");
        break;
    }
}

void store_change (struct store *self, const struct store_change *change, store_done_fn *reply,
                   void *owner)
{
    char revision[24], place[32], run[24] = "", member[MEMBER_MAX], wait[MEMBER_MAX];
    char class[CLASS_MAX], keep[DECIMAL_SIZE];
    class_make (class, change->plan);
    decimal_text (self->bounds.history_count, keep);
    member_make (member, change->key_station, change->plan->id);
    wait_make (wait, change->key_station);
    snprintf (revision, sizeof revision, "%" PRId64, change->revision);
    change_place (change, place, sizeof place);
    if (change->exec_id)
        snprintf (run, sizeof run, "%" PRIu64, change->exec_id);
    size_t size;
    char *json = plan_stored_text (change->plan, &size);
    const struct span args[] = {
        span_text (KEY_TIME_SET), span_text (member),   span_text (KEY_RUNS), span_text (wait),
        span_text (revision),     span_of (json, size), span_text (place),    span_text (run),
        span_text (class),        change->missed,       span_text (keep),
    };
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_CHANGE,
                               .repeat = LINK_ONCE,
                               .keys = 4,
                               .args = args,
                               .count = sizeof args / sizeof *args,
                               .reply = on_changed,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
    free (json);
}
