// Finds a plan by its id, including its changes that are only in memory yet. If the plan may still
// be rejected, or its run is not written yet, the caller waits until Redis has acknowledged that.
#include <stdlib.h>

#include "clock.h"
#include "memory.h"
#include "plan_json.h"
#include "store_private.h"

enum { CANDIDATES_MAX = 8 }; // entries of one id; more than one exists only after edits by hand

enum extra_data { ONLY_EXISTENCE, ONLY_MESSAGE, MORE_WORK, MORE_FAILURES, MORE_PLACE };

struct store_lookup;

// Processes the answer to a read of a lookup, unless it is an error.
typedef void lookup_answer_fn (struct store_lookup *self, const redisReply *reply);

struct store_lookup {
    struct waiter waiter; // waits until the state of the plan is written
    struct store *store;
    uint64_t plan_id;
    enum extra_data extra_data;
    enum link_repeat repeat;
    char targets[CANDIDATES_MAX][STATION_NAME_MAX + 1];
    size_t count, at; // number of `targets`; index of the next one to try
    struct store_loaded answer;
    char target[STATION_NAME_MAX + 1];
    uint8_t *message;
    struct store_place place;
    lookup_answer_fn *next; // gets the answer to the read that was sent last
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

// Pass the answer on, or fail the lookup if it is an error or missing.
static void on_lookup_read (void *owner, const redisReply *reply)
{
    struct store_lookup *self = owner;
    const char *error;
    enum store_result result = reply_key_result (reply, &error);
    if (result == STORE_DONE)
        self->next (self, reply);
    else
        fail_lookup (self, result, error);
}

static void send_lookup_read (struct store_lookup *self, const struct span *words, size_t count,
                              lookup_answer_fn *next)
{
    self->next = next;
    store_send_command (self->store, self->repeat, words, count, on_lookup_read, self);
}

// -- additional data

static void on_extra_data (struct store_lookup *self, const redisReply *reply)
{
    if (self->extra_data == MORE_WORK)
        self->answer.work = reply;
    else
        self->answer.failures = reply;
    answer_lookup (self);
}

static void set_limit_use (const struct core *core, const char *kind, struct span name,
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

// Set the plan's place in the queue from the core or, if the core does not have it, from its score.
static void on_queue_score (struct store_lookup *self, const redisReply *reply)
{
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
    set_limit_use (core, "s", target, &place->station);
    set_limit_use (core, "g", group, &place->group);
    plan_destroy (&plan);
    self->answer.place = place;
    answer_lookup (self);
}

static void on_wait_score (struct store_lookup *self, const redisReply *reply)
{
    self->place.waits = reply_text (reply).size > 0;
    send_lookup_read (self,
                      WORDS (TEXT ("ZSCORE"), TEXT (KEY_TIME_SET),
                             PLAN_KEY (KEY_MESSAGE, span_text (self->target), self->plan_id)),
                      on_queue_score);
}

// Read the additional data that the lookup wants, or answer.
static void read_extra_data (struct store_lookup *self)
{
    struct span target = span_text (self->target);
    char wait[sizeof KEY_WAIT + STATION_NAME_MAX];
    if (self->extra_data == MORE_PLACE) {
        snprintf (wait, sizeof wait, KEY_WAIT "%s", self->target);
        send_lookup_read (
            self,
            WORDS (TEXT ("ZSCORE"), TEXT (wait), PLAN_KEY (KEY_MESSAGE, target, self->plan_id)),
            on_wait_score);
    } else if (self->extra_data == MORE_FAILURES && message_exec_id (self->answer.message)) {
        send_lookup_read (self,
                          WORDS (TEXT ("LRANGE"), PLAN_KEY (KEY_FAILED, target, self->plan_id),
                                 TEXT ("0"), TEXT ("-1")),
                          on_extra_data);
    } else if (self->extra_data == MORE_WORK) {
        send_lookup_read (self,
                          WORDS (TEXT ("HGETALL"), PLAN_KEY (KEY_WORK, target, self->plan_id)),
                          on_extra_data);
    } else {
        answer_lookup (self);
    }
}

// -- the plan

static void set_found_message (struct store_lookup *self, struct span message)
{
    size_t size;
    self->message = message_as_running (message, self->answer.exec_id, &size);
    self->answer.message = span_of (self->message, size);
    self->answer.station = span_text (self->target);
    self->answer.result = STORE_DONE;
    self->answer.error = "";
    read_extra_data (self);
}

static void try_next_target (struct store_lookup *self);
static void start_or_fail_lookup (void *owner, bool serves);

// The awaited writes are done: repeat the lookup.
static void on_writes_done (struct waiter *waiter, enum written how, const char *error)
{
    struct store_lookup *self = (struct store_lookup *)waiter; // it is the first member
    (void)error;
    if (how == WRITTEN_UNKNOWN)
        fail_lookup (self, STORE_UNKNOWN, "");
    else if (store_is_serving (self->store))
        start_or_fail_lookup (self, true);
    else
        store_call_when_serving (self->store, waiter->kind, start_or_fail_lookup, self);
}

static void wait_for_writes (struct store_lookup *self)
{
    self->waiter =
        (struct waiter){.kind = self->repeat == LINK_REPEAT ? WAITER_SURE : WAITER_CLIENT,
                        .release = on_writes_done};
    writer_wait_batch (self->store->writer, &self->waiter, clock_mono_us ());
}

// Process the message under a candidate target. What the core knows of the plan is newer.
static void on_lookup_message (struct store_lookup *self, const redisReply *reply)
{
    struct core_view view;
    struct span message = reply_text (reply);
    bool known =
        core_view (self->store->core, self->plan_id, &view) && span_is (view.target, self->target);
    // A run whose start is not written yet was not sent: wait for the write, and repeat the lookup.
    bool begins = known && view.exec_id && !view.settled;
    if (known && (view.submitted || begins) && !view.gone) {
        wait_for_writes (self);
        return;
    }
    if (known && view.gone)
        message = (struct span){0};
    else if (known && view.message.data)
        message = view.message;
    if (!message.data) {
        try_next_target (self);
        return;
    }
    if (known) {
        self->answer.exec_id = view.exec_id;
        self->answer.earlier_may_answer = view.earlier_may_answer;
        self->answer.no_status = view.no_status;
    }
    self->answer.running = self->answer.exec_id != 0;
    set_found_message (self, message);
}

// The first byte of the message shows whether the plan exists.
static void on_first_byte (struct store_lookup *self, const redisReply *reply)
{
    if (!reply_text (reply).size) {
        try_next_target (self);
        return;
    }
    self->answer = (struct store_loaded){
        .result = STORE_DONE, .station = span_text (self->target), .error = ""};
    answer_lookup (self);
}

// Read the plan under the next candidate target. Candidates are the targets of this id in the
// index, the target that the caller gave, and the one that the core knows.
static void try_next_target (struct store_lookup *self)
{
    if (self->at == self->count) {
        fail_lookup (self, STORE_NONE, "");
        return;
    }
    memcpy (self->target, self->targets[self->at++], sizeof self->target);
    struct span key = PLAN_KEY (KEY_MESSAGE, span_text (self->target), self->plan_id);
    if (self->extra_data == ONLY_EXISTENCE)
        // A key of a wrong type does not count as a plan: a submission replaces it.
        send_lookup_read (self, WORDS (TEXT ("GETRANGE"), key, TEXT ("0"), TEXT ("0")),
                          on_first_byte);
    else
        send_lookup_read (self, WORDS (TEXT ("GET"), key), on_lookup_message);
}

static void add_candidate (struct store_lookup *self, struct span name)
{
    if (self->count == CANDIDATES_MAX || !station_name_valid (name))
        return;
    for (size_t i = 0; i < self->count; i++)
        if (span_is (name, self->targets[i]))
            return;
    memcpy (self->targets[self->count], name.data, name.size);
    self->targets[self->count++][name.size] = '\0';
}

// The index entries were read: try the first candidate target.
static void on_index_entries (struct store_lookup *self, const redisReply *reply)
{
    struct core_view view;
    for (size_t i = 0; reply_is_array (reply, 0) && i < reply->elements; i++) {
        struct span target;
        uint64_t id; // always the id that is looked up
        if (index_entry_parse (reply_text (reply->element[i]), &id, &target))
            add_candidate (self, target);
    }
    if (core_view (self->store->core, self->plan_id, &view))
        add_candidate (self, view.target);
    try_next_target (self);
}

static struct store_lookup *lookup_new (struct store *self, uint64_t plan_id,
                                        enum extra_data extra_data, store_loaded_fn *reply,
                                        void *owner)
{
    struct store_lookup *lookup = memory_new (sizeof *lookup);
    lookup->store = self;
    lookup->plan_id = plan_id;
    lookup->extra_data = extra_data;
    lookup->reply = reply;
    lookup->owner = owner;
    return lookup;
}

static void read_index_entries (struct store_lookup *self)
{
    char from[IDENT_SIZE + 2], to[IDENT_SIZE + 2], digits[IDENT_SIZE];
    self->at = 0;
    id_write_digits (self->plan_id, digits);
    snprintf (from, sizeof from, "[%s:", digits);
    snprintf (to, sizeof to, "(%s;", digits);
    send_lookup_read (self, WORDS (TEXT ("ZRANGEBYLEX"), TEXT (KEY_INDEX), TEXT (from), TEXT (to)),
                      on_index_entries);
}

// Called when the store serves, or never will: start the lookup, or fail it.
static void start_or_fail_lookup (void *owner, bool serves)
{
    if (serves)
        read_index_entries (owner);
    else
        fail_lookup (owner, STORE_LOST, "");
}

// Begin the lookup after all pending writes: the core does not keep results of participants or
// failures, so they can be read only from Redis.
static void lookup_after_writes (struct store_lookup *self)
{
    if (store_is_serving (self->store) && core_has_rows (self->store->core))
        wait_for_writes (self);
    else
        read_index_entries (self);
}

void store_find (struct store *self, uint64_t plan_id, struct span station, store_loaded_fn *reply,
                 void *owner)
{
    struct store_lookup *lookup = lookup_new (self, plan_id, ONLY_MESSAGE, reply, owner);
    if (station.size)
        add_candidate (lookup, station);
    read_index_entries (lookup);
}

void store_exists (struct store *self, uint64_t plan_id, struct span station,
                   store_loaded_fn *reply, void *owner)
{
    struct store_lookup *lookup = lookup_new (self, plan_id, ONLY_EXISTENCE, reply, owner);
    add_candidate (lookup, station);
    lookup_after_writes (lookup);
}

void store_load (struct store *self, uint64_t plan_id, enum link_repeat repeat,
                 store_loaded_fn *reply, void *owner)
{
    struct store_lookup *lookup =
        lookup_new (self, plan_id, repeat == LINK_REPEAT ? MORE_WORK : ONLY_MESSAGE, reply, owner);
    lookup->repeat = repeat;
    if (repeat == LINK_REPEAT && !store_is_serving (self))
        store_call_when_serving (self, WAITER_SURE, start_or_fail_lookup, lookup);
    else if (repeat == LINK_REPEAT)
        lookup_after_writes (lookup);
    else
        read_index_entries (lookup);
}

void store_load_results (struct store *self, uint64_t plan_id, store_loaded_fn *reply, void *owner)
{
    lookup_after_writes (lookup_new (self, plan_id, MORE_WORK, reply, owner));
}

void store_load_failures (struct store *self, uint64_t plan_id, store_loaded_fn *reply, void *owner)
{
    lookup_after_writes (lookup_new (self, plan_id, MORE_FAILURES, reply, owner));
}

void store_load_place (struct store *self, uint64_t plan_id, store_loaded_fn *reply, void *owner)
{
    read_index_entries (lookup_new (self, plan_id, MORE_PLACE, reply, owner));
}

// Whether the stored frames are an answer. They are not parsed, as they may be large. `[]` means
// that a voter has not answered; anything but an array was not written by a station.
static bool frames_are_answer (struct span frames)
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
        if (!frames_are_answer (frames))
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
