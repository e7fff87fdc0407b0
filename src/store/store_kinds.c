#include <stdlib.h>

#include "resp.h"
#include "store_private.h"

enum { KINDS_MAX = 1000 };

static void on_kinds (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_kinds answer = {.reply = reply};
    answer.result = reply_result (reply, &answer.error);
    if (answer.result == STORE_DONE && reply->type == REDIS_REPLY_ARRAY)
        answer.count = reply->elements / 2;
    ((store_kinds_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_kinds (struct store *self, enum kind_word word, struct span name, const char *json,
                  store_kinds_fn *reply, void *owner)
{
    static const char *const words[] = {
        [KIND_LIST] = "list", [KIND_GET] = "get", [KIND_PUT] = "put", [KIND_REMOVE] = "remove"};
    char most[16];
    snprintf (most, sizeof most, "%d", KINDS_MAX);
    const struct span args[] = {span_text (KEY_KINDS), span_text (words[word]), name,
                                span_text (json ? json : ""), span_text (most)};
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_KINDS,
                               .repeat = LINK_ONCE,
                               .keys = 1,
                               .args = args,
                               .count = sizeof args / sizeof *args,
                               .reply = on_kinds,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
}

bool store_kind_at (const struct store_kinds *answer, size_t index, struct span *ret_name,
                    struct span *ret_json)
{
    if (index >= answer->count)
        return false;
    *ret_name = reply_text (answer->reply->element[2 * index]);
    *ret_json = reply_text (answer->reply->element[2 * index + 1]);
    return true;
}
