// What Redis holds, as an operator may have made it: input is a kind and frames. Outcomes of the
// history, results of workers, teams, limits, texts of plans, names of keys, marks of runs, INFO.
#include "fuzz.h"
#include "ident.h"
#include "json.h"
#include "output.h"
#include "pack.h"
#include "redis_info.h"
#include "store_private.h"
#include "team.h"

#include "../unit/pack_write.h"

enum { FRAMES = 16 };

struct answered {
    redisReply all, *elements[FRAMES], strings[FRAMES], row, *columns[FRAMES];
};

// Make a reply of a frame: a single byte 0 is nil, all else a string.
static void fill (redisReply *reply, struct span frame)
{
    bool nil = frame.size == 1 && frame.data[0] == 0;
    *reply = (redisReply){.type = nil ? REDIS_REPLY_NIL : REDIS_REPLY_STRING,
                          .str = nil ? NULL : (char *)frame.data,
                          .len = nil ? 0 : frame.size};
}

// Make a reply of each frame. As hiredis does, each string ends with a NUL.
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

// Check an outcome, whose columns are the frames.
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

// A record that is packed without a tree must be the same as a packed tree.
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

static void check_key (struct span key)
{
    struct span station;
    uint64_t id;
    char text[200], hex[IDENT_SIZE];
    if (!message_key_parse (key, &station, &id))
        return;
    HOLDS (station_name_valid (station) && id > 0 && id <= INT64_MAX);
    char member[PLAN_KEY_SIZE];
    plan_key_make (member, KEY_MESSAGE, station, id);
    snprintf (text, sizeof text, "plan:msg:%.*s:%s", (int)station.size, (const char *)station.data,
              ident_text (id, hex));
    HOLDS (strcmp (member, text) == 0);
}

// Write the results of workers as JSON. Their frames are stored as JSON, and copied unparsed.
static void check_results (const struct answered *answer)
{
    struct store_loaded loaded = {.result = STORE_DONE, .work = &answer->all};
    char *text = store_results_json (&loaded, 0x2a);
    HOLDS (strncmp (text, "{\"plan_id\":42,\"results\":[", 25) == 0);
    free (text);
    free (store_results_json (&(struct store_loaded){.result = STORE_DONE}, 1));
}

// Read a team from its fields; written and read again, it must be the same.
static void check_team (const struct span *frames, size_t count)
{
    struct team *team = team_new (), *again = team_new ();
    for (size_t i = 0; i + 1 < count; i += 2)
        team_load (team, frames[i], frames[i + 1]);
    struct pack_text packed = {0};
    team_pack_head (team, &packed);
    team_load (again, span_text ("team"), span_of (packed.data, packed.size));
    HOLDS (strcmp (team->round, again->round) == 0 && team->try == again->try);
    HOLDS (team->since == again->since);
    for (size_t i = 0; i < team->count; i++) {
        struct team_worker worker = {0};
        HOLDS (i == 0 || strcmp (team->workers[i - 1]->name, team->workers[i]->name) < 0);
        packed.size = 0;
        team_pack_worker (team->workers[i], &packed);
        HOLDS (team_unpack_worker (span_of (packed.data, packed.size), &worker));
        HOLDS (worker.state == team->workers[i]->state && worker.state < WORKER_STATES);
        HOLDS (span_equal (worker.result, team->workers[i]->result));
        worker_set_text (&worker.reason, (struct span){0});
        worker_set_text (&worker.result, (struct span){0});
        worker_set_text (&worker.progress, (struct span){0});
    }
    team_count_workers (team);
    free (packed.data);
    team_destroy (&again);
    team_destroy (&team);
}

static void check_limit (struct span text)
{
    char written[LIMIT_TEXT_MAX];
    struct limit limit = limit_read (text);
    HOLDS (limit.concurrency >= 0 && limit.rate >= 0 && limit.burst >= 0);
    limit_write (&limit, written);
    struct limit again = limit_read (span_text (written));
    HOLDS (again.concurrency == limit.concurrency && again.burst == limit.burst);
    HOLDS ((again.rate > 0) == (limit.rate > 0));
}

// Search a stored message for members; `name` is the name of one.
static void check_message (struct span message, struct span value, const char *name)
{
    size_t size, from = 0;
    struct team_rule rule = {0};
    const uint8_t *end = message.data + message.size;
    for (const uint8_t *at; (at = message_value (message, name, &from));)
        HOLDS (at > message.data && at <= end && from <= message.size);
    if (message_has (message, name, value))
        HOLDS (value.size < message.size);
    message_number (message, name);
    message_number (message, "revision");
    uint64_t exec_id = feed_hash (message, 1) >> 1;
    uint8_t *running = message_as_running (message, exec_id, &size);
    HOLDS (running[size] == 0);
    HOLDS (size < message.size + 64);
    // A message that has the field shows the run as in progress.
    if (message_exec_id (message) && message_number (message, "exec_id") > 0)
        HOLDS (message_exec_id (span_of (running, size)) == exec_id ||
               message_exec_id (message) == message_exec_id (span_of (running, size)));
    free (running);
    running = message_as_running (message, 0, &size);
    HOLDS (size == message.size && (!size || memcmp (running, message.data, size) == 0));
    free (running);
    team_rule_read (&rule, message);
    HOLDS (rule.count >= 0 && rule.ping_s >= 0 && rule.timeout_s >= 0);
    team_rule_allows (&rule, value);
    team_rule_free (&rule);
}

static void check_names (struct span text, const redisReply *reply)
{
    uint64_t exec_id;
    bool again;
    struct reason reason = {""};
    check_entry (text);
    check_key (text);
    run_parse (reply_text (reply), &exec_id, &again);
    HOLDS (!again || memchr (text.data, '+', text.size));
    HOLDS (reply_score_us (reply) >= -1);
    reply_number (reply);
    enum info_verdict verdict = redis_info_check (text, LOSS_REFUSED, &reason);
    if (verdict != INFO_GOOD)
        check_reason (&reason);
    HOLDS (verdict != INFO_GOOD || redis_info_check (text, LOSS_ACCEPTED, &reason) == INFO_GOOD);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    struct answered answer;
    struct span frames[FRAMES] = {{0}};
    uint8_t kind = feed_byte (&feed);
    size_t count = feed_frames (&feed, frames, FRAMES);
    fill_all (&answer, &feed, frames, count);
    if (kind % 5 == 0) {
        check_outcome (&answer);
        check_record (frames, count);
    } else if (kind % 5 == 1) {
        check_results (&answer);
    } else if (kind % 5 == 2) {
        check_team (frames, count);
        check_limit (frames[0]);
    } else if (kind % 5 == 3 && count) {
        check_names (frames[0], answer.elements[0]);
    } else if (kind % 5 == 4 && count) {
        bool named =
            frames[2].size && frames[2].size < 60 && !memchr (frames[2].data, 0, frames[2].size);
        check_message (frames[0], count > 1 ? frames[1] : span_text (""),
                       named ? feed_string (&feed, frames[2]) : "exec_id");
    }
    feed_free (&feed);
    return 0;
}
