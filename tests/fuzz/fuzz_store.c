// What Redis answers, as an operator may have made it: input is a kind and frames. Histories,
// pages of plans, message keys, marks of runs, votes, INFO. Or whole answers, of any form,
// to calls that a store makes: submit, commit, end, claim.
#include <czmq.h>

#include "fuzz.h"
#include "ident.h"
#include "json.h"
#include "output.h"
#include "pack.h"
#include "redis_info.h"
#include "store_private.h"

enum { FRAMES = 16 };

struct answered {
    redisReply all, *elements[FRAMES], strings[FRAMES], row, *columns[FRAMES];
};

// A frame of one digit and no more stands for nil, so that not everything is a string.
static void fill (redisReply *reply, struct span frame)
{
    bool nil = frame.size == 1 && frame.data[0] == 0;
    *reply = (redisReply){.type = nil ? REDIS_REPLY_NIL : REDIS_REPLY_STRING,
                          .str = nil ? NULL : (char *)frame.data,
                          .len = nil ? 0 : frame.size};
}

// hiredis ends every string with a NUL.
static void fill_all (struct answered *self, struct feed *feed, const struct span *frames,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = feed_string (feed, frames[i]);
        fill (&self->strings[i], span_of (text, frames[i].size));
        self->elements[i] = self->columns[i] = &self->strings[i];
    }
    self->all =
        (redisReply){.type = REDIS_REPLY_ARRAY, .elements = count, .element = self->elements};
    self->row =
        (redisReply){.type = REDIS_REPLY_ARRAY, .elements = count, .element = self->columns};
}

static void check_entry (struct span text)
{
    uint64_t seq, sub, seq_again, sub_again;
    char again[48];
    if (!history_entry_parse (text, &seq, &sub))
        return;
    snprintf (again, sizeof again, "%llu-%llu", (unsigned long long)seq, (unsigned long long)sub);
    HOLDS (history_entry_parse (span_text (again), &seq_again, &sub_again));
    HOLDS (seq_again == seq && sub_again == sub && !memchr (text.data, 0, text.size));
}

// One outcome; the frames are its columns.
static void check_outcome (struct answered *answer)
{
    enum { HEAD = 5 };
    redisReply *elements[HEAD + 1] = {NULL, NULL, NULL, NULL, NULL, &answer->row};
    redisReply all = {.type = REDIS_REPLY_ARRAY, .elements = HEAD + 1, .element = elements};
    struct store_history history = {.result = STORE_DONE, .count = 1, .reply = &all};
    json_t *run = store_history_at (&history, 0);
    if (!run)
        return;
    char *text = json_write (run);
    struct reason reason;
    json_t *again = json_read_object (span_text (text), &reason);
    HOLDS (again && json_equal (run, again));
    json_decref (again);
    free (text);
    json_decref (run);
}

// -- whole answers. In the place of the link is one that answers with what the input says.

struct link {
    struct feed *feed;
    const redisReply *reply; // of the call that is answered
    size_t answering;        // calls
    bool closing;
    void (*gather) (void *owner);
    void *gather_owner;
};

static struct link fuzz_link;

static redisReply *reply_new (struct feed *feed, int type)
{
    redisReply empty = {.type = type};
    return (redisReply *)feed_keep (feed, span_of (&empty, sizeof empty)).data;
}

// What hiredis may make of bytes: no element is NULL, every text ends with a NUL.
static redisReply *reply_read (struct feed *feed, int depth)
{
    enum { ELEMENTS_MAX = 24, DEPTH_MAX = 4 };
    static const int types[] = {REDIS_REPLY_NIL,    REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER,
                                REDIS_REPLY_STRING, REDIS_REPLY_STATUS,  REDIS_REPLY_ERROR,
                                REDIS_REPLY_ARRAY,  REDIS_REPLY_ARRAY};
    uint8_t byte = feed_byte (feed);
    redisReply *self = reply_new (feed, types[byte % 8]);
    if (self->type == REDIS_REPLY_INTEGER) {
        self->integer = byte % 8 == 1 ? (int64_t)feed_number (feed) : byte / 8 - 1;
    } else if (self->type == REDIS_REPLY_ARRAY) {
        redisReply *elements[ELEMENTS_MAX];
        size_t count = depth < DEPTH_MAX ? byte / 8 % ELEMENTS_MAX : 0;
        for (size_t i = 0; i < count; i++)
            elements[i] = reply_read (feed, depth + 1);
        self->elements = count;
        struct span kept = feed_keep (feed, span_of (elements, count * sizeof *elements));
        self->element = (redisReply **)kept.data;
    } else if (self->type != REDIS_REPLY_NIL) {
        struct span text = feed_frame (feed);
        self->str = (char *)feed_string (feed, text);
        self->len = text.size;
    }
    return self;
}

struct link *link_new (const struct link_config *config, struct reactor *reactor,
                       link_state_fn *changed, void *owner)
{
    (void)config, (void)reactor, (void)changed, (void)owner;
    return &fuzz_link;
}

void link_destroy (struct link **self_p)
{
    *self_p = NULL;
}

// Answered at once, or lost, as all are that come while the store is closed.
void link_call (struct link *self, const struct link_call *call)
{
    bool lost = self->closing || feed_byte (self->feed) % 8 == 7;
    self->answering++;
    self->reply = lost ? NULL : reply_read (self->feed, 0);
    call->reply (call->owner, self->reply);
    self->answering--;
}

void link_replicate (struct link *self, link_replicated_fn *reply, void *owner)
{
    reply (owner, feed_byte (self->feed) % 2);
}

void link_before_flush (struct link *self, void (*gather) (void *owner), void *owner)
{
    self->gather = gather;
    self->gather_owner = owner;
}

void link_flush (struct link *self)
{
    self->gather (self->gather_owner);
}

enum link_state link_state (const struct link *self)
{
    (void)self;
    return LINK_UP;
}

size_t link_pending (const struct link *self)
{
    return self->answering;
}

bool link_busy (const struct link *self)
{
    return self->answering > 0;
}

bool link_idle (const struct link *self)
{
    return !link_busy (self);
}

const struct link_facts *link_facts (const struct link *self)
{
    static const struct link_facts facts = {0};
    (void)self;
    return &facts;
}

// -- who asks; each is answered once

enum { PLANS = 6 };

struct asker {
    size_t index, answers;
};

static bool is_number (const redisReply *reply, int64_t number)
{
    return reply->type == REDIS_REPLY_INTEGER && reply->integer == number;
}

static bool is_array (const redisReply *reply, size_t elements)
{
    return reply && reply->type == REDIS_REPLY_ARRAY && reply->elements >= elements;
}

// Nothing is acknowledged but by the script's own word.
static void on_submitted (void *owner, const struct store_submitted *answer)
{
    struct asker *self = owner;
    const redisReply *all = fuzz_link.reply;
    bool stored = answer->result == STORE_DONE || answer->result == STORE_UNSURE;
    self->answers++;
    HOLDS (answer->error && strlen (answer->error) < 70000);
    HOLDS ((answer->result == STORE_LOST) == !all);
    HOLDS (answer->result != STORE_FULL || strlen (answer->error) > 0);
    HOLDS (answer->result != STORE_HELD || answer->message.data);
    HOLDS (!stored || is_number (all, 1) ||
           (is_array (all, 0) && (!all->elements || (self->index < all->elements &&
                                                     is_number (all->element[self->index], 1)))));
}

static void on_committed (void *owner, const struct store_committed *answer)
{
    struct asker *self = owner;
    const redisReply *all = fuzz_link.reply;
    self->answers++;
    if (!fuzz_link.answering) { // another write has taken its place
        HOLDS (answer->result == STORE_DONE && answer->seq == 0);
        return;
    }
    HOLDS (answer->seq >= 0 && strlen (answer->epoch) < 70000);
    HOLDS (answer->result != STORE_LOST || !all);
    HOLDS (answer->result != STORE_CHANGED || answer->message.data);
    HOLDS (answer->result != STORE_DONE || !all || is_array (all, 3));
    HOLDS (answer->result != STORE_ERROR || strlen (answer->error) < 70000);
    if (answer->result == STORE_DONE && answer->votes)
        free (store_votes_json (answer->votes));
}

static void on_claimed (void *owner, const struct store_claim *answer)
{
    struct asker *self = owner;
    self->answers++;
    HOLDS (answer->now_us >= 0 && answer->lease_end_us >= answer->now_us && answer->next_us >= 0);
    struct store_claimed claimed;
    struct claim_aside aside;
    for (size_t i = 0; i < answer->count; i++)
        if (store_claim_at (answer, i, &claimed))
            HOLDS (station_name_valid (claimed.station));
    for (size_t i = 0; store_claim_aside (answer, i, &aside); i++)
        HOLDS (station_name_valid (aside.target));
}

static struct plan *some_plan (size_t index)
{
    static const char *const stations[] = {"jobs", "job", "a.b"};
    struct plan *plan = plan_new (0);
    plan->id = index + 1;
    plan->revision = 5;
    plan->station = span_text (stations[index % 3]);
    plan->caller = span_text (index % 2 ? "alice" : "bob");
    return plan;
}

// What may be written of a run; the bits of `how` say which.
static void commit_one (struct store *store, struct plan *plan, uint8_t how, struct asker *asker)
{
    static const enum commit modes[] = {COMMIT_END, COMMIT_END, COMMIT_LEASE, COMMIT_NEXT};
    struct decision decision = {.commit = modes[how % 4],
                                .broadcast = how & 4 ? BROADCAST_RESULT : BROADCAST_NONE,
                                .close_poll = (how & 24) == 24};
    struct store_commit commit = {.plan = plan,
                                  .revision = how & 32 ? REVISION_ANY : 5,
                                  .key_station = plan->station,
                                  .exec_id = 1795227362000000 + plan->id,
                                  .decision = &decision,
                                  .record = span_text (how & 128 ? "" : "record")};
    store_commit (store, &commit, on_committed, asker);
}

static void check_calls (struct feed *feed)
{
    struct link_config config = {.window = 100};
    struct store_bounds bounds = {.history_count = 100};
    struct asker askers[4 * PLANS] = {{0}};
    fuzz_link = (struct link){.feed = feed};
    struct reactor *reactor =
        reactor_new (); // for the timer of what may wait, which never fires here
    struct store *store = store_new (&config, &bounds, reactor, NULL, NULL);
    size_t asked = 0, plans = feed_byte (feed) % PLANS + 1;
    for (size_t i = 0; i < plans; i++, asked++) {
        struct plan *plan = some_plan (i);
        askers[asked].index = i;
        uint8_t how = feed_byte (feed);
        plan->state = how & 8 ? PLAN_PAUSE : PLAN_QUEUE;
        store_submit (store,
                      &(struct store_submission){.plan = plan,
                                                 .made_here = how % 2,
                                                 .missed = span_text (how & 4 ? "missed" : "")},
                      on_submitted, &askers[asked]);
        plan_destroy (&plan);
    }
    fuzz_link.gather (fuzz_link.gather_owner);
    struct claim_wish wish = {.limit = 10, .lease_s = 300};
    store_claim (store, &wish, on_claimed, &askers[asked++]);
    for (size_t i = 0; i < 2 * plans; i++, asked++) {
        struct plan *plan = some_plan (i % plans);
        commit_one (store, plan, feed_byte (feed), &askers[asked]);
        plan_destroy (&plan);
    }
    fuzz_link.gather (fuzz_link.gather_owner);
    HOLDS (store_now_us (store) > 0);
    fuzz_link.closing = true;
    store_destroy (&store);
    reactor_destroy (&reactor);
    for (size_t i = 0; i < asked; i++)
        HOLDS (askers[i].answers == 1);
}

// A record is written without a tree: it is what one would be packed to.
static void check_packed (const struct outcome_record *record, struct span bytes)
{
    const struct {
        const char *name;
        struct span frame;
    } frames[] = {{"title", record->title}, {"worker", record->worker}, {"reason", record->reason}};
    struct reason reason;
    size_t size;
    json_t *object = pack_read_object (bytes, &reason);
    HOLDS (object && json_object_size (object) == 8);
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        json_t *want = json_from_frame (frames[i].frame);
        HOLDS (json_equal (json_object_get (object, frames[i].name), want));
        json_decref (want);
    }
    char *again = pack_write (object, &size);
    HOLDS (span_equal (span_of (again, size), bytes));
    free (again);
    json_decref (object);
}

static void check_record (const struct span *frames, size_t count)
{
    if (count < 4)
        return;
    struct outcome_record record = {.title = frames[0],
                                    .nominal = (int64_t)(feed_hash (frames[0], 0) >> 20),
                                    .status = (uint8_t)frames[1].size,
                                    .exec_id = feed_hash (frames[1], 1) >> 1,
                                    .worker = frames[1],
                                    .size = frames[2].size,
                                    .reason = frames[2]};
    size_t size;
    char *bytes = store_record (&record, &size);
    check_packed (&record, span_of (bytes, size));
    struct feed feed = {0};
    size_t output_size;
    char *output = output_make (span_text ("jobs"), 0x2a, record.exec_id, frames[2], frames[3].size,
                                &output_size);
    struct span columns[] = {span_text ("7-0"),     span_text ("2a"),
                             span_text ("jobs"),    span_text ("1795227362000"),
                             span_of (bytes, size), span_of (output, output_size)};
    struct answered answer;
    fill_all (&answer, &feed, columns, 6);
    enum { HEAD = 5 };
    redisReply *elements[HEAD + 1] = {NULL, NULL, NULL, NULL, NULL, &answer.row};
    redisReply all = {.type = REDIS_REPLY_ARRAY, .elements = HEAD + 1, .element = elements};
    json_t *run = store_history_at (&(struct store_history){.count = 1, .reply = &all}, 0);
    HOLDS (run && json_integer_value (json_object_get (run, "seq")) == 7);
    HOLDS ((uint64_t)json_integer_value (json_object_get (run, "exec_id")) == record.exec_id);
    HOLDS (json_integer_value (json_object_get (json_object_get (run, "output"), "size")) ==
           (json_int_t)frames[2].size);
    json_decref (output_json (frames[3], record.exec_id));
    json_decref (run);
    free (output);
    feed_free (&feed);
    free (bytes);
}

static void check_page (const struct answered *answer)
{
    enum { HEAD = 1 };
    if (answer->all.elements < HEAD)
        return;
    struct store_page page = {.reply = &answer->all, .count = (answer->all.elements - HEAD) / 2};
    struct store_swept swept = {.reply = &answer->all,
                                .count =
                                    answer->all.elements < 2 ? 0 : (answer->all.elements - 2) / 3};
    struct store_stations stations = {.reply = &answer->all};
    struct store_outside outside;
    struct span message, name;
    uint64_t id;
    for (size_t i = 0; i < page.count; i++)
        if (store_page_at (&page, i, &id, &name, &message))
            HOLDS (id > 0 && id <= INT64_MAX);
    for (size_t i = 0; i < swept.count; i++)
        if (store_swept_at (&swept, i, &outside))
            HOLDS (outside.plan_id > 0 && outside.plan_id <= INT64_MAX);
    for (size_t i = 0; i < FRAMES; i++)
        HOLDS (store_station_at (&stations, i, &name, &message) ==
               (2 * i + 1 < answer->all.elements));
}

static void check_key (struct span key)
{
    struct span station;
    uint64_t id;
    char text[200], hex[IDENT_SIZE];
    if (!message_key_parse (key, &station, &id))
        return;
    HOLDS (station_name_valid (station) && id > 0 && id <= INT64_MAX);
    char member[MEMBER_MAX];
    member_make (member, station, id);
    snprintf (text, sizeof text, "plan:msg:%.*s:%s", (int)station.size, (const char *)station.data,
              ident_text (id, hex));
    HOLDS (strcmp (member, text) == 0);
}

static void check_votes (const struct answered *answer)
{
    struct reason reason;
    char *text = store_votes_json (&answer->all);
    if (!text)
        return;
    json_t *object = json_read_object (span_text (text), &reason);
    HOLDS (object || strstr (reason.text, "nested"));
    json_decref (object);
    free (text);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    struct answered answer;
    struct span frames[FRAMES];
    struct reason reason = {""};
    uint8_t kind = feed_byte (&feed);
    if (kind % 5 == 4) {
        check_calls (&feed);
        feed_free (&feed);
        return 0;
    }
    size_t count = feed_frames (&feed, frames, FRAMES);
    fill_all (&answer, &feed, frames, count);
    if (kind % 5 == 0) {
        check_outcome (&answer);
        check_record (frames, count);
    } else if (kind % 5 == 1) {
        check_page (&answer);
    } else if (kind % 5 == 2) {
        check_votes (&answer);
    } else if (count) {
        uint64_t exec_id;
        bool again;
        check_entry (frames[0]);
        check_key (frames[0]);
        run_parse (answer.strings[0].type == REDIS_REPLY_STRING
                       ? span_of (answer.strings[0].str, answer.strings[0].len)
                       : (struct span){0},
                   &exec_id, &again);
        enum info_verdict verdict = redis_info_check (frames[0], LOSS_REFUSED, &reason);
        if (verdict != INFO_GOOD)
            check_reason (&reason);
        HOLDS (verdict != INFO_GOOD ||
               redis_info_check (frames[0], LOSS_ACCEPTED, &reason) == INFO_GOOD);
    }
    feed_free (&feed);
    return 0;
}
