// Finds a plan by its id, including its changes that are only in memory yet. If the plan may still
// be rejected, or its run is not written yet, the caller waits until Redis has acknowledged that.
#include <stdlib.h>

#include "clock.h"
#include "memory.h"
#include "plan_json.h"
#include "store_private.h"

enum { CANDIDATES_MAX = 8 }; // entries of one id; more than one exists only after edits by hand

enum more { LESS_MESSAGE, MORE_NOTHING, MORE_VOTES, MORE_WORK, MORE_FAILURES, MORE_PLACE };

struct store_lookup {
    struct waiter waiter; // waits until the state of the plan is written
    struct store *store;
    uint64_t plan_id;
    enum more more;
    enum link_repeat repeat;
    char targets[CANDIDATES_MAX][STATION_NAME_MAX + 1];
    size_t count, at;
    struct store_loaded answer;
    char target[STATION_NAME_MAX + 1];
    uint8_t *message;
    struct store_place place;
    store_loaded_fn *reply;
    void *owner;
};

static void answer_lookup (struct store_lookup *self)
{
    self->reply (self->owner, &self->answer);
    free (self->message);
    free (self);
}

static void fail_lookup (struct store_lookup *self, enum store_result result, const char *error)
{
    self->answer = (struct store_loaded){.result = result, .error = error};
    answer_lookup (self);
}

static void lookup_send (struct store_lookup *self, const struct span *words, size_t count,
                         link_reply_fn *reply)
{
    store_ask (self->store, self->repeat, words, count, reply, self);
}

// Whether the answer is an error or missing; then this ends the lookup and answers the caller.
static bool read_failed (struct store_lookup *self, const redisReply *reply)
{
    const char *error;
    enum store_result result = reply_key_result (reply, &error);
    if (result != STORE_DONE)
        fail_lookup (self, result, error);
    return result != STORE_DONE;
}

// -- additional data

static void on_work (void *owner, const redisReply *reply)
{
    struct store_lookup *self = owner;
    if (read_failed (self, reply))
        return;
    self->answer.work = reply;
    answer_lookup (self);
}

static void on_failures (void *owner, const redisReply *reply)
{
    struct store_lookup *self = owner;
    if (read_failed (self, reply))
        return;
    self->answer.failures = reply;
    answer_lookup (self);
}

static void set_limit (const struct core *core, const char *kind, struct span name,
                       struct limit_use *ret)
{
    char text[LIMIT_NAME_MAX + 1];
    int size = snprintf (text, sizeof text, "%s:%.*s", kind, (int)name.size,
                         name.size ? (const char *)name.data : "");
    const struct limit_state *state = core_limit (core, span_of (text, (size_t)size));
    *ret = (struct limit_use){.set = state && state->is_set,
                              .limit = state ? state->limit : (struct limit){0},
                              .busy = state ? state->busy : 0,
                              .used_us = state ? (int64_t)state->used_us : 0};
}

static void on_place (void *owner, const redisReply *reply)
{
    struct store_lookup *self = owner;
    if (read_failed (self, reply))
        return;
    struct core *core = self->store->core;
    struct store_place *place = &self->place;
    struct core_view view;
    struct reason reason;
    struct span target = span_text (self->target);
    struct plan *plan = plan_from_stored_json (self->plan_id, self->answer.message, &reason);
    int priority = plan && plan->policy ? (int)plan->policy->priority : 0;
    struct span group = span_text (plan && plan->policy ? plan->policy->group : "");
    bool known = core_view (core, self->plan_id, &view) && view.placed;
    place->score_us = known ? view.score_us : reply_score_us (reply);
    place->queued = known ? view.queued : place->score_us >= 0;
    place->counted = known && view.counted;
    place->ready = place->queued && !self->answer.running &&
                   core_is_ready (core, target, self->plan_id, place->score_us);
    place->before =
        place->ready ? core_before (core, target, priority, group, place->score_us, self->plan_id)
                     : 0;
    set_limit (core, "s", target, &place->station);
    set_limit (core, "g", group, &place->group);
    plan_destroy (&plan);
    self->answer.place = place;
    answer_lookup (self);
}

static void on_waits (void *owner, const redisReply *reply)
{
    struct store_lookup *self = owner;
    char member[MEMBER_MAX + 2];
    if (read_failed (self, reply))
        return;
    self->place.waits = reply_text (reply).size > 0;
    member_make (member, KEY_MESSAGE, span_text (self->target), self->plan_id);
    lookup_send (self, WORDS (TEXT ("ZSCORE"), TEXT (KEY_TIME_SET), TEXT (member)), on_place);
}

static void ask_more (struct store_lookup *self)
{
    char key[MEMBER_MAX + 8], member[MEMBER_MAX + 2];
    if (self->more == MORE_PLACE) {
        member_make (member, KEY_MESSAGE, span_text (self->target), self->plan_id);
        snprintf (key, sizeof key, KEY_WAIT "%s", self->target);
        lookup_send (self, WORDS (TEXT ("ZSCORE"), TEXT (key), TEXT (member)), on_waits);
    } else if (self->more == MORE_FAILURES && message_exec_id (self->answer.message)) {
        member_make (key, KEY_FAILED, span_text (self->target), self->plan_id);
        lookup_send (self, WORDS (TEXT ("LRANGE"), TEXT (key), TEXT ("0"), TEXT ("-1")),
                     on_failures);
    } else if (self->more == MORE_NOTHING || self->more == MORE_FAILURES) {
        answer_lookup (self);
    } else {
        member_make (key, KEY_WORK, span_text (self->target), self->plan_id);
        lookup_send (self, WORDS (TEXT ("HGETALL"), TEXT (key)), on_work);
    }
}

// -- the plan

static void set_message (struct store_lookup *self, struct span message)
{
    size_t size;
    self->message = message_as_running (message, self->answer.exec_id, &size);
    self->answer.message = span_of (self->message, size);
    self->answer.station = span_text (self->target);
    self->answer.result = STORE_DONE;
    self->answer.error = "";
    ask_more (self);
}

static void look_next (struct store_lookup *self);
static void look_now (void *owner, bool serves);

static void on_settled (struct waiter *waiter, enum written how, const char *error)
{
    struct store_lookup *self = (struct store_lookup *)waiter; // it is the first member
    (void)error;
    if (how == WRITTEN_UNKNOWN)
        fail_lookup (self, STORE_UNKNOWN, "");
    else if (store_serves (self->store))
        look_now (self, true);
    else
        store_when_serving (self->store, waiter->kind, look_now, self);
}

static void wait_until_settled (struct store_lookup *self)
{
    self->waiter = (struct waiter){
        .kind = self->repeat == LINK_REPEAT ? WAITER_SURE : WAITER_CLIENT, .release = on_settled};
    writer_wait (self->store->writer, &self->waiter, clock_mono_us ());
}

static void on_message (void *owner, const redisReply *reply)
{
    struct store_lookup *self = owner;
    struct core_view view;
    if (read_failed (self, reply))
        return;
    struct span message = reply_text (reply);
    bool known =
        core_view (self->store->core, self->plan_id, &view) && span_is (view.target, self->target);
    // A run whose start is not written yet was not sent: wait for that, and look again.
    bool begins = known && view.exec_id && !view.settled;
    if (known && (view.submitted || begins) && !view.gone) {
        wait_until_settled (self);
        return;
    }
    if (known && view.gone)
        message = (struct span){0};
    else if (known && view.message.data)
        message = view.message;
    if (!message.data) {
        look_next (self);
        return;
    }
    if (known) {
        self->answer.exec_id = view.exec_id;
        self->answer.earlier_may_answer = view.earlier_may_answer;
        self->answer.no_status = view.no_status;
    }
    self->answer.running = self->answer.exec_id != 0;
    set_message (self, message);
}

static void on_existence (void *owner, const redisReply *reply)
{
    struct store_lookup *self = owner;
    if (read_failed (self, reply))
        return;
    if (!reply_text (reply).size) {
        look_next (self);
        return;
    }
    self->answer = (struct store_loaded){
        .result = STORE_DONE, .station = span_text (self->target), .error = ""};
    answer_lookup (self);
}

// Read the plan under the next candidate target: those in the index, given by the caller, or known
// to the core.
static void look_next (struct store_lookup *self)
{
    char member[MEMBER_MAX + 2];
    if (self->at == self->count) {
        fail_lookup (self, STORE_NONE, "");
        return;
    }
    memcpy (self->target, self->targets[self->at++], sizeof self->target);
    member_make (member, KEY_MESSAGE, span_text (self->target), self->plan_id);
    if (self->more == LESS_MESSAGE)
        // A key of a wrong type does not count as a plan: a submission replaces it.
        lookup_send (self, WORDS (TEXT ("GETRANGE"), TEXT (member), TEXT ("0"), TEXT ("0")),
                     on_existence);
    else
        lookup_send (self, WORDS (TEXT ("GET"), TEXT (member)), on_message);
}

static void add_target (struct store_lookup *self, struct span name)
{
    if (self->count == CANDIDATES_MAX || !station_name_valid (name))
        return;
    for (size_t i = 0; i < self->count; i++)
        if (span_is (name, self->targets[i]))
            return;
    memcpy (self->targets[self->count], name.data, name.size);
    self->targets[self->count++][name.size] = '\0';
}

static void on_entries (void *owner, const redisReply *reply)
{
    struct store_lookup *self = owner;
    struct core_view view;
    if (read_failed (self, reply))
        return;
    for (size_t i = 0; reply_is_array (reply, 0) && i < reply->elements; i++) {
        struct span entry = reply_text (reply->element[i]);
        if (entry.size > IDENT_SIZE)
            add_target (self, span_of (entry.data + IDENT_SIZE, entry.size - IDENT_SIZE));
    }
    if (core_view (self->store->core, self->plan_id, &view))
        add_target (self, view.target);
    look_next (self);
}

static struct store_lookup *lookup_new (struct store *self, uint64_t plan_id,
                                        store_loaded_fn *reply, void *owner)
{
    struct store_lookup *lookup = memory_new (sizeof *lookup);
    lookup->store = self;
    lookup->plan_id = plan_id;
    lookup->more = MORE_NOTHING;
    lookup->reply = reply;
    lookup->owner = owner;
    return lookup;
}

static void read_queue_range (struct store_lookup *self)
{
    char from[IDENT_SIZE + 2], to[IDENT_SIZE + 2], digits[IDENT_SIZE];
    self->at = 0;
    id_digits (self->plan_id, digits);
    snprintf (from, sizeof from, "[%s:", digits);
    snprintf (to, sizeof to, "(%s;", digits);
    lookup_send (self, WORDS (TEXT ("ZRANGEBYLEX"), TEXT (KEY_INDEX), TEXT (from), TEXT (to)),
                 on_entries);
}

static void look_now (void *owner, bool serves)
{
    if (serves)
        read_queue_range (owner);
    else
        fail_lookup (owner, STORE_LOST, "");
}

// Begin the lookup after all pending writes: the core does not keep results of participants or
// failures, so they can be read only from Redis.
static void look_behind_writes (struct store_lookup *self)
{
    if (store_serves (self->store) && core_has_rows (self->store->core))
        wait_until_settled (self);
    else
        read_queue_range (self);
}

void store_look_up (struct store *self, uint64_t plan_id, struct span station,
                    store_loaded_fn *reply, void *owner)
{
    struct store_lookup *lookup = lookup_new (self, plan_id, reply, owner);
    if (station.size)
        add_target (lookup, station);
    read_queue_range (lookup);
}

void store_exists (struct store *self, uint64_t plan_id, struct span station,
                   store_loaded_fn *reply, void *owner)
{
    struct store_lookup *lookup = lookup_new (self, plan_id, reply, owner);
    lookup->more = LESS_MESSAGE;
    add_target (lookup, station);
    look_behind_writes (lookup);
}

void store_load (struct store *self, uint64_t plan_id, enum link_repeat repeat,
                 store_loaded_fn *reply, void *owner)
{
    struct store_lookup *lookup = lookup_new (self, plan_id, reply, owner);
    lookup->repeat = repeat;
    lookup->more = repeat == LINK_REPEAT ? MORE_VOTES : MORE_NOTHING;
    if (repeat == LINK_REPEAT && !store_serves (self))
        store_when_serving (self, WAITER_SURE, look_now, lookup);
    else if (repeat == LINK_REPEAT)
        look_behind_writes (lookup);
    else
        read_queue_range (lookup);
}

void store_load_results (struct store *self, uint64_t plan_id, store_loaded_fn *reply, void *owner)
{
    struct store_lookup *lookup = lookup_new (self, plan_id, reply, owner);
    lookup->more = MORE_WORK;
    look_behind_writes (lookup);
}

void store_load_failures (struct store *self, uint64_t plan_id, store_loaded_fn *reply, void *owner)
{
    struct store_lookup *lookup = lookup_new (self, plan_id, reply, owner);
    lookup->more = MORE_FAILURES;
    look_behind_writes (lookup);
}

void store_load_place (struct store *self, uint64_t plan_id, store_loaded_fn *reply, void *owner)
{
    struct store_lookup *lookup = lookup_new (self, plan_id, reply, owner);
    lookup->more = MORE_PLACE;
    read_queue_range (lookup);
}

// Whether the stored frames are an answer. They are not parsed, as they may be large. `[]` means
// that a voter has not answered; anything but an array was not written by a station.
static bool is_answer (struct span frames)
{
    return frames.size > 2 && frames.data[0] == '[' && frames.data[frames.size - 1] == ']';
}

char *store_results_json (const struct store_loaded *answer, uint64_t plan_id)
{
    static const struct json_name plan_name = JSON_NAME ("plan_id"),
                                  results_name = JSON_NAME ("results"),
                                  worker_name = JSON_NAME ("worker"),
                                  frames_name = JSON_NAME ("frames");
    const redisReply *work = answer->work;
    size_t elements = reply_is_array (work, 0) ? work->elements : 0;
    struct json_text json;
    size_t size;
    json_text_start (&json, 1024);
    json_text_raw (&json, span_text ("{"));
    json_text_number (&json, &plan_name, (int64_t)plan_id, 0);
    json_text_name (&json, &results_name);
    json_text_raw (&json, span_text ("["));
    for (size_t i = 0; i + 1 < elements; i += 2) {
        struct span frames = reply_text (work->element[i + 1]);
        if (!is_answer (frames))
            continue;
        json_text_item (&json);
        json_text_raw (&json, span_text ("{"));
        json_text_name (&json, &worker_name);
        json_text_frame (&json, reply_text (work->element[i]));
        json_text_name (&json, &frames_name);
        json_text_raw (&json, frames);
        json_text_raw (&json, span_text ("}"));
    }
    json_text_raw (&json, span_text ("]}"));
    return json_text_end (&json, &size);
}
