#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "policy.h"
#include "resp.h"
#include "store_private.h"

enum { LIMITS_MAX = 1000 };

void class_make (char out[CLASS_MAX], const struct plan *plan)
{
    const struct policy *policy = plan->policy;
    out[0] = '\0';
    if (policy && (policy->priority || policy->group[0]))
        snprintf (out, CLASS_MAX, "%d:%s", (int)policy->priority, policy->group);
}

void limit_write (const struct limit *limit, char out[LIMIT_TEXT_MAX])
{
    char concurrency[24] = "", rate[32] = "", burst[24] = "";
    if (limit->concurrency)
        snprintf (concurrency, sizeof concurrency, "%" PRId64, limit->concurrency);
    if (limit->rate > 0)
        snprintf (rate, sizeof rate, "%.9f", limit->rate);
    if (limit->burst)
        snprintf (burst, sizeof burst, "%" PRId64, limit->burst);
    snprintf (out, LIMIT_TEXT_MAX, "%s %s %s", concurrency, rate, burst);
}

// The number before the next space.
static double next_number (struct span *text)
{
    char digits[32] = "";
    const uint8_t *space = memchr (text->data, ' ', text->size);
    size_t size = space ? (size_t)(space - text->data) : text->size;
    if (size && size < sizeof digits)
        memcpy (digits, text->data, size);
    size_t passed = space ? size + 1 : size;
    *text = span_of (text->data + passed, text->size - passed);
    double number = strtod (digits, NULL);
    return isfinite (number) && number > 0 && number < 1e9 ? number : 0;
}

struct limit limit_read (struct span text)
{
    struct limit limit = {0};
    if (!text.size)
        return limit;
    limit.concurrency = (int64_t)next_number (&text);
    limit.rate = next_number (&text);
    limit.burst = (int64_t)next_number (&text);
    return limit;
}

static void on_limits (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_limits answer = {.reply = reply};
    answer.result = reply_result (reply, &answer.error);
    if (answer.result == STORE_DONE && reply->type == REDIS_REPLY_ARRAY) {
        answer.done = reply->elements > 0;
        answer.count = reply->elements / 2;
    }
    ((store_limits_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_limits (struct store *self, enum limit_word word, const char *name,
                   const struct limit *limit, store_limits_fn *reply, void *owner)
{
    static const char *const words[] = {
        [LIMIT_LIST] = "list", [LIMIT_SET] = "set", [LIMIT_REMOVE] = "remove"};
    char text[LIMIT_TEXT_MAX] = "", most[16];
    if (limit)
        limit_write (limit, text);
    snprintf (most, sizeof most, "%d", LIMITS_MAX);
    const struct span args[] = {span_text (KEY_LIMITS), span_text (words[word]),
                                span_text (name ? name : ""), span_text (text), span_text (most)};
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_LIMITS,
                               .repeat = LINK_ONCE,
                               .keys = 1,
                               .args = args,
                               .count = sizeof args / sizeof *args,
                               .reply = on_limits,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
}

bool store_limit_at (const struct store_limits *answer, size_t index, struct span *ret_name,
                     struct limit *ret)
{
    if (index >= answer->count)
        return false;
    *ret_name = reply_text (answer->reply->element[2 * index]);
    *ret = limit_read (reply_text (answer->reply->element[2 * index + 1]));
    return true;
}
