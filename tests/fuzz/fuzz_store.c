// What Redis answers, as an operator may have made it: input is a kind and frames. Histories,
// claims, pages of plans, message keys, marks of runs, votes, INFO.
#include "fuzz.h"
#include "ident.h"
#include "json.h"
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
    enum { HEAD = 4 };
    redisReply *elements[HEAD + 1] = {NULL, NULL, NULL, NULL, &answer->row};
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

// A claimed plan; the frames are its columns.
static void check_claim (struct answered *answer)
{
    enum { HEAD = 3 };
    redisReply *elements[HEAD + 1] = {NULL, NULL, NULL, &answer->row};
    redisReply all = {.type = REDIS_REPLY_ARRAY, .elements = HEAD + 1, .element = elements};
    struct store_claim claim = {.result = STORE_DONE, .count = 1, .reply = &all};
    struct store_claimed claimed;
    if (store_claim_at (&claim, 0, &claimed))
        HOLDS (station_name_valid (claimed.station) && claimed.plan_id > 0 &&
               claimed.plan_id <= INT64_MAX);
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
    struct span columns[] = {span_text ("7-0"), span_text ("2a"), span_text ("jobs"),
                             span_text ("1795227362000"), span_of (bytes, size)};
    struct answered answer;
    fill_all (&answer, &feed, columns, 5);
    enum { HEAD = 4 };
    redisReply *elements[HEAD + 1] = {NULL, NULL, NULL, NULL, &answer.row};
    redisReply all = {.type = REDIS_REPLY_ARRAY, .elements = HEAD + 1, .element = elements};
    json_t *run = store_history_at (&(struct store_history){.count = 1, .reply = &all}, 0);
    HOLDS (run && json_integer_value (json_object_get (run, "seq")) == 7);
    HOLDS ((uint64_t)json_integer_value (json_object_get (run, "exec_id")) == record.exec_id);
    json_decref (run);
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
                                    answer->all.elements < 2 ? 0 : (answer->all.elements - 2) / 2};
    struct store_stations stations = {.reply = &answer->all};
    struct span message, name;
    uint64_t id;
    for (size_t i = 0; i < page.count; i++)
        if (store_page_at (&page, i, &id, &name, &message))
            HOLDS (id > 0 && id <= INT64_MAX);
    for (size_t i = 0; i < swept.count; i++)
        if (store_swept_at (&swept, i, &id, &message))
            HOLDS (id > 0 && id <= INT64_MAX);
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
    struct names names;
    names_make (&names, station, id);
    snprintf (text, sizeof text, "plan:msg:%.*s:%s", (int)station.size, (const char *)station.data,
              ident_text (id, hex));
    HOLDS (strcmp (names.member, text) == 0);
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
    size_t count = feed_frames (&feed, frames, FRAMES);
    fill_all (&answer, &feed, frames, count);
    if (kind % 4 == 0) {
        check_outcome (&answer);
        check_record (frames, count);
    } else if (kind % 4 == 1) {
        check_page (&answer);
        check_claim (&answer);
    } else if (kind % 4 == 2) {
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
