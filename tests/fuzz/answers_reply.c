#include <inttypes.h>

#include "answers_private.h"
#include "clock.h"

struct database the_database;

// -- clocks

int64_t clock_mono_us (void)
{
    return 1000000 + the_database.passed_us;
}

int64_t clock_boot_us (void)
{
    return clock_mono_us ();
}

int64_t clock_wall_us (void)
{
    return INT64_C (1700000000000000) + the_database.passed_us;
}

void answers_pass (int64_t us)
{
    the_database.passed_us += us;
}

// -- answers

static redisReply *reply_new (int type)
{
    redisReply empty = {.type = type};
    return (redisReply *)feed_keep (the_database.feed, span_of (&empty, sizeof empty)).data;
}

static redisReply *text_reply (int type, const char *text)
{
    redisReply *self = reply_new (type);
    self->str = (char *)feed_string (the_database.feed, span_text (text));
    self->len = strlen (text);
    return self;
}

static redisReply *number_reply (int64_t number)
{
    redisReply *self = reply_new (REDIS_REPLY_INTEGER);
    self->integer = number;
    return self;
}

static redisReply *array_reply (redisReply **elements, size_t count)
{
    redisReply *self = reply_new (REDIS_REPLY_ARRAY);
    self->elements = count;
    self->element =
        (redisReply **)feed_keep (the_database.feed, span_of (elements, count * sizeof *elements))
            .data;
    return self;
}

// Texts in replies, besides those of the input and of answers_word.
static const char *const usual[] = {"",
                                    "plan:msg:jobs:1",
                                    "plan:msg:job:2",
                                    "plan:msg:a.b:3",
                                    "plan:msg:jobs:4",
                                    "0000000000000001:jobs",
                                    "0000000000000002:job",
                                    "0000000000000003:a.b",
                                    "1700000000",
                                    "1699999999.5",
                                    "1700000300.000001",
                                    "inf",
                                    "1700000000000001",
                                    "1700000000000001+",
                                    "1700000000000001?",
                                    "1700000000000001!",
                                    "1",
                                    "2",
                                    "1>2",
                                    "s:jobs",
                                    "g:g",
                                    "1 2 3",
                                    "n",
                                    "t",
                                    "7-0",
                                    "0-1",
                                    "jobs",
                                    "1:g",
                                    "nan",
                                    "-9223372036854775808",
                                    "9223372036854775807",
                                    "[\"a\"]",
                                    "c:tbob",
                                    "exec_id"};
enum { USUAL = sizeof usual / sizeof *usual };

// A text of these lists, nil, or a text of the input.
static redisReply *some_text (void)
{
    uint8_t byte = feed_byte (the_database.feed);
    if (byte == 0)
        return reply_new (REDIS_REPLY_NIL);
    if (byte <= USUAL)
        return text_reply (REDIS_REPLY_STRING, usual[byte - 1]);
    if (byte <= USUAL + the_database.word_count)
        return text_reply (REDIS_REPLY_STRING, the_database.words[byte - 1 - USUAL]);
    struct span text = feed_frame (the_database.feed);
    redisReply *self = reply_new (REDIS_REPLY_STRING);
    self->str = (char *)feed_string (the_database.feed, text);
    self->len = text.size;
    return self;
}

// Any reply that hiredis can return: no element is NULL, every text ends with a NUL.
static redisReply *any_reply (int depth)
{
    enum { ELEMENTS_MAX = 24, DEPTH_MAX = 4 };
    static const char *const errors[] = {"WRONGTYPE", "OOM",     "READONLY x", "ERR",
                                         "NOSCRIPT",  "LOADING", "MASTERDOWN"};
    redisReply *elements[ELEMENTS_MAX];
    uint8_t byte = feed_byte (the_database.feed);
    size_t count = depth < DEPTH_MAX ? byte / 8 % ELEMENTS_MAX : 0;
    switch (byte % 8) {
    case 0:
        return reply_new (REDIS_REPLY_NIL);
    case 1:
        return number_reply ((int64_t)feed_number (the_database.feed));
    case 2:
        return number_reply (byte / 8 - 1);
    case 3:
        return text_reply (REDIS_REPLY_STATUS, "OK");
    case 4:
        return text_reply (REDIS_REPLY_ERROR, errors[byte / 8 % (sizeof errors / sizeof *errors)]);
    case 5:
        return some_text ();
    default:
        for (size_t i = 0; i < count; i++)
            elements[i] = any_reply (depth + 1);
        return array_reply (elements, count);
    }
}

static redisReply *row_of (size_t count)
{
    redisReply *elements[16];
    for (size_t i = 0; i < count && i < 16; i++)
        elements[i] = some_text ();
    return array_reply (elements, count < 16 ? count : 16);
}

static redisReply *array_of (const struct form *form)
{
    enum { ROWS_MAX = 6, ELEMENTS_MAX = 600 };
    redisReply *elements[ELEMENTS_MAX];
    size_t rows = form->exact ? 0 : feed_byte (the_database.feed) % ROWS_MAX, count = 0;
    for (; count < form->head && count < ELEMENTS_MAX; count++)
        elements[count] = some_text ();
    for (size_t i = 0; i < rows * (form->rows ? 1 : form->unit) && count < ELEMENTS_MAX; i++)
        elements[count++] = form->rows ? row_of (form->unit) : some_text ();
    return array_reply (elements, count);
}

// Entries of a stream, each a name and fields.
static redisReply *some_entries (void)
{
    redisReply *entries[4];
    size_t count = feed_byte (the_database.feed) % 4;
    for (size_t i = 0; i < count; i++) {
        redisReply *entry[] = {some_text (), row_of (feed_byte (the_database.feed) % 9)};
        entries[i] = array_reply (entry, 2);
    }
    return array_reply (entries, count);
}

// -- the owner

static void apply (const struct effect *effect)
{
    if (*effect->token)
        memcpy (the_database.token, effect->token, OWNER_TEXT_SIZE);
    if (effect->has_batch)
        the_database.batch = effect->batch;
    the_database.version++;
}

// The reply to a batch: the result of each row, that of the owner's key, and the time.
static redisReply *batch_applied (size_t commands)
{
    redisReply **elements = malloc ((commands + 2) * sizeof *elements), *time[2];
    uint8_t byte = feed_byte (the_database.feed);
    char text[32];
    int64_t now_us = clock_wall_us () + the_database.skew_us;
    size_t count = commands;
    for (size_t i = 0; i < commands; i++)
        elements[i] = byte & 1 ? any_reply (2) : number_reply (1);
    snprintf (text, sizeof text, "%" PRId64, now_us / 1000000);
    time[0] = text_reply (REDIS_REPLY_STRING, text);
    snprintf (text, sizeof text, "%" PRId64, now_us % 1000000);
    time[1] = text_reply (REDIS_REPLY_STRING, text);
    if (count && (byte & 6) != 6)
        elements[count - 1] = array_reply (time, 2);
    redisReply *reply = array_reply (elements, byte == 254 ? count / 2 : count);
    free (elements);
    return reply;
}

static redisReply *batch_reply (const struct effect *effect)
{
    static const char *const errors[] = {"OOM", "READONLY", "MASTERDOWN", "MISCONF", "NOREPLICAS"};
    const char *refusal = the_database.refusal;
    uint8_t byte = feed_byte (the_database.feed);
    bool current = effect->is_script
                       ? strcmp (the_database.token, effect->found) == 0 &&
                             (!*the_database.token || the_database.batch == effect->found_batch)
                       : the_database.watched == the_database.version;
    the_database.refusal = NULL;
    if (refusal)
        return text_reply (REDIS_REPLY_ERROR, "EXECABORT");
    if (byte % 8 == 7 || !current)
        return reply_new (REDIS_REPLY_NIL);
    if (byte % 8 == 6)
        return text_reply (REDIS_REPLY_ERROR, errors[byte / 8 % (sizeof errors / sizeof *errors)]);
    apply (effect);
    return byte % 8 == 5 ? any_reply (0) : batch_applied (effect->commands);
}

static redisReply *look_reply (void)
{
    uint8_t byte = feed_byte (the_database.feed);
    char batch[24];
    redisReply *elements[] = {reply_new (REDIS_REPLY_NIL), reply_new (REDIS_REPLY_NIL)};
    if (byte % 16 == 15)
        return text_reply (REDIS_REPLY_ERROR, byte & 64 ? "LOADING" : "READONLY");
    if (byte % 16 == 14)
        return byte & 64 ? number_reply (1) : array_reply (elements, byte / 32 % 2);
    if (*the_database.token) {
        snprintf (batch, sizeof batch, "%" PRId64, the_database.batch);
        elements[0] = text_reply (REDIS_REPLY_STRING, the_database.token);
        elements[1] =
            byte % 16 == 13 ? reply_new (REDIS_REPLY_NIL) : text_reply (REDIS_REPLY_STRING, batch);
    }
    return array_reply (elements, 2);
}

// Change the owner, the last batch or the clock of Redis. No other owner ever has this station's
// token, as tokens are unique.
void answers_befall (uint8_t how)
{
    struct database *self = &the_database;
    self->version++;
    switch (how % 8) {
    case 0:
    case 1:
        snprintf (self->token, sizeof self->token, "%d.other", how / 8);
        self->batch = how;
        break;
    case 2:
        snprintf (self->token, sizeof self->token, "%d.free", how / 8);
        break;
    case 3:
        self->token[0] = '\0';
        self->batch = 0;
        break;
    case 4:
        self->batch = self->batch > how ? self->batch - how : 0;
        break;
    case 5:
        the_database.skew_us = (int64_t)(how - 128) * 3600 * 1000000;
        break;
    default:
        answers_pass (how * INT64_C (100000));
    }
}

// A reply to a command about the owner, or to a batch.
static redisReply *owner_reply (enum form_type type, const struct effect *effect)
{
    switch (type) {
    case FORM_WATCH:
        the_database.watched = the_database.version;
        return text_reply (REDIS_REPLY_STATUS, "OK");
    case FORM_LOOK:
        return look_reply ();
    case FORM_MULTI:
        the_database.refusal =
            feed_byte (the_database.feed) % 16 == 15 ? "OOM command not allowed" : NULL;
        return text_reply (REDIS_REPLY_STATUS, "OK");
    case FORM_BATCH:
        return batch_reply (effect);
    default:
        return the_database.refusal ? text_reply (REDIS_REPLY_ERROR, the_database.refusal)
                                    : text_reply (REDIS_REPLY_STATUS, "QUEUED");
    }
}

const redisReply *answer_read (const struct form *form, const struct effect *effect)
{
    if (form->type >= FORM_OK)
        return owner_reply (form->type, effect);
    uint8_t byte = feed_byte (the_database.feed);
    if (byte % 16 == 15)
        return any_reply (0);
    if (form->type == FORM_NUMBER)
        return number_reply (byte % 16 == 14 ? (int64_t)feed_number (the_database.feed)
                                             : byte / 16);
    if (form->type == FORM_ENTRIES)
        return some_entries ();
    return form->type == FORM_VALUE ? some_text () : array_of (form);
}

void answers_word (const char *text)
{
    HOLDS (the_database.word_count < ANSWER_WORDS_MAX);
    the_database.words[the_database.word_count++] = text;
}
