// Sends commands to Redis, and parses its replies.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "store_private.h"

void store_send_command (struct store *self, enum link_repeat repeat, const struct span *words,
                         size_t count, link_reply_fn *reply, void *owner)
{
    char command[24];
    copy_text (command, sizeof command, words[0]);
    link_call (self->link, &(struct link_call){.command = command,
                                               .repeat = repeat,
                                               .args = words + 1,
                                               .count = count - 1,
                                               .reply = reply,
                                               .owner = owner});
}

void store_get_texts (struct store *self, const char *const *words, link_reply_fn *reply,
                      void *owner)
{
    struct span spans[8];
    size_t count = 0;
    for (; words[count]; count++)
        spans[count] = TEXT (words[count]);
    store_get (self, spans, count, reply, owner);
}

void store_run_script (struct store *self, enum script script, size_t keys, const struct span *args,
                       size_t count, link_reply_fn *reply, void *owner)
{
    link_call (self->link, &(struct link_call){.script = script,
                                               .repeat = LINK_ONCE,
                                               .keys = keys,
                                               .args = args,
                                               .count = count,
                                               .reply = reply,
                                               .owner = owner});
}

void store_ignore_reply (void *owner, const redisReply *reply)
{
    (void)owner, (void)reply;
}

struct store_caller *store_caller_new (struct store *self, void (*reply) (void), void *owner)
{
    struct store_caller *caller = memory_new (sizeof *caller);
    *caller = (struct store_caller){.store = self, .reply = reply, .owner = owner};
    return caller;
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

enum store_result reply_key_result (const redisReply *reply, const char **ret_error)
{
    enum store_result result = reply_result (reply, ret_error);
    return link_is_wrong_type (reply) ? STORE_DONE : result;
}

struct span reply_text (const redisReply *reply)
{
    bool text = reply && (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS);
    return text ? span_of (reply->str, reply->len) : (struct span){0};
}

struct span *reply_texts (const redisReply *reply, size_t *ret_count)
{
    size_t count = reply_is_array (reply, 0) ? reply->elements : 0;
    struct span *texts = memory_new ((count + 1) * sizeof *texts);
    for (size_t i = 0; i < count; i++)
        texts[i] = reply_text (reply->element[i]);
    *ret_count = count;
    return texts;
}

const redisReply *reply_field (const redisReply *reply, const char *name)
{
    for (size_t i = 0; reply_is_array (reply, i + 2); i += 2)
        if (span_is (reply_text (reply->element[i]), name))
            return reply->element[i + 1];
    return NULL;
}

int64_t reply_number (const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        return reply->integer;
    return reply_text (reply).size ? strtoll (reply->str, NULL, 10) : 0;
}

// Negative and very large numbers count as 0: only an edit by hand can leave them.
int64_t reply_counter (const redisReply *reply)
{
    int64_t number = reply_number (reply);
    return number > 0 && number < INT64_MAX / 4 ? number : 0;
}

// Parse a score in seconds as Redis writes it for any valid time of a plan: digits, with or without
// a fraction. False: it has another form, such as an exponent, or is too large.
static bool score_parse (struct span text, int64_t *ret_us)
{
    enum { WHOLE_MAX = 12, SCALE = 7 };
    size_t at = 0, digits = 0;
    int64_t value = 0;
    for (; at < text.size && isdigit (text.data[at]) && at < WHOLE_MAX; at++)
        value = 10 * value + text.data[at] - '0';
    if (!at || (at < text.size && text.data[at++] != '.'))
        return false;
    for (; at < text.size && isdigit (text.data[at]); at++)
        if (digits < SCALE && ++digits)
            value = 10 * value + text.data[at] - '0';
    for (; digits < SCALE; digits++)
        value *= 10;
    *ret_us = (value + 5) / 10;
    return at == text.size && *ret_us <= SCHEDULE_TIME_MAX * 1000000;
}

int64_t reply_score_us (const redisReply *reply)
{
    struct span text = reply_text (reply);
    int64_t us;
    if (!text.size)
        return -1;
    if (score_parse (text, &us))
        return us;
    // An operator may have written any number: clamp it before converting it to an integer.
    double seconds = strtod ((const char *)text.data, NULL);
    return llround (fmin (fmax (seconds, 0), (double)SCHEDULE_TIME_MAX) * 1e6);
}

void run_parse (struct span text, uint64_t *ret_exec_id, bool *ret_earlier)
{
    *ret_exec_id = text.size ? strtoull ((const char *)text.data, NULL, 10) : 0;
    *ret_earlier = text.size && memchr (text.data, '+', text.size);
}

bool store_replace_wrong_key (struct store *self, const char *key, const redisReply *reply)
{
    if (!link_is_wrong_type (reply))
        return false;
    store_put (self, WORDS (TEXT ("DEL"), TEXT (key)));
    snprintf (self->wrong_key, sizeof self->wrong_key, "%s", key);
    return true;
}
