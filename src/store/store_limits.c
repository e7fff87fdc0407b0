#include <inttypes.h>
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
