// Due plans are taken.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "store_private.h"

enum { CLAIM_HEAD = 6, ROW = 3 }; // answers before the claimed plans; of each

// "1763...[ again lost]" of a claimed plan.
static void read_run (struct span text, struct store_claimed *ret)
{
    char *end;
    ret->exec_id = text.size ? strtoull ((const char *)text.data, &end, 10) : 0;
    ret->again = text.size && *end == ' ' && strtoull (end + 1, &end, 10) >= 1;
    ret->lost = ret->again && *end == ' ' ? strtoull (end + 1, NULL, 10) : 0;
}

// The newest run is the last one.
static void remember_exec (struct store *self, const struct store_claim *answer)
{
    struct store_claimed claimed;
    if (answer->count && store_claim_at (answer, answer->count - 1, &claimed) &&
        claimed.exec_id > self->exec_id)
        self->exec_id = claimed.exec_id;
}

static void on_claimed (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_claim answer = {0};
    answer.result = reply_result (reply, &answer.error);
    if (answer.result == STORE_DONE && reply_is_array (reply, CLAIM_HEAD)) {
        const redisReply *broken = reply->element[2];
        answer.broken = broken->elements;
        answer.first_broken =
            broken->elements ? reply_text (broken->element[0]) : answer.first_broken;
        answer.now_us = reply_time_us (reply->element[0]);
        struct span next = reply_text (reply->element[1]);
        store_learn_time (ask->store, ask->asked_us, answer.now_us);
        answer.has_next = next.size > 0;
        // An operator's score may be anything: bound it before it is an integer.
        double score = answer.has_next ? strtod ((const char *)next.data, NULL) : 0;
        answer.next_us = (int64_t)(fmin (fmax (score, 0), (double)SCHEDULE_TIME_MAX) * 1e6);
        answer.lease_end_us = answer.now_us + ask->lease_us;
        struct span looked = reply_text (reply->element[3]);
        snprintf (ask->store->looked, sizeof ask->store->looked, "%.*s", (int)looked.size,
                  looked.size ? (const char *)looked.data : "");
        answer.more = reply_number (reply->element[4]) == 1;
        answer.count = (reply->elements - CLAIM_HEAD) / ROW;
        answer.reply = reply;
        remember_exec (ask->store, &answer);
    } else if (answer.result == STORE_DONE) {
        answer.result = STORE_ERROR;
        answer.error = ODD_ANSWER;
    }
    ((store_claim_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_claim (struct store *self, const struct claim_wish *wish, store_claim_fn *reply,
                  void *owner)
{
    enum { FIXED = 10, EACH = 4 };
    char count[24], lease[24], number[24], outcomes[24], (*rooms)[24];
    snprintf (count, sizeof count, "%" PRId64, wish->limit);
    snprintf (lease, sizeof lease, "%" PRId64, wish->lease_s);
    snprintf (outcomes, sizeof outcomes, "%" PRId64, self->bounds.history_count);
    snprintf (number, sizeof number, "%" PRIu64, ++self->claims);
    const struct span fixed[FIXED] = {
        span_text (KEY_TIME_SET), span_text (KEY_RUNS),         span_text (KEY_META),
        span_text (KEY_INDEX),    span_text (self->claims_key), span_text (count),
        span_text (lease),        span_text (number),           span_text (outcomes),
        span_text (self->looked),
    };
    size_t arguments = FIXED + EACH * wish->target_count;
    struct span *args = memory_new (arguments * sizeof *args);
    rooms = memory_new ((wish->target_count + 1) * sizeof *rooms);
    memcpy (args, fixed, sizeof fixed);
    for (size_t i = 0; i < wish->target_count; i++) {
        const struct claim_target *target = &wish->targets[i];
        struct span *at = args + FIXED + EACH * i;
        snprintf (rooms[i], sizeof *rooms, "%" PRId64, target->room > 0 ? target->room : 0);
        at[0] = span_text (target->name);
        at[1] = span_text (rooms[i]);
        at[2] = span_text (target->puts_aside ? "held" : "next");
        at[3] = span_text (target->has_aside ? "1" : "0");
    }
    struct ask *ask = ask_new (self, (void (*) (void))reply, owner);
    ask->lease_us = wish->lease_s * 1000000;
    link_call (self->link, &(struct link_call){.script = SCRIPT_CLAIM,
                                               .repeat = LINK_REPEAT,
                                               .keys = 5,
                                               .args = args,
                                               .count = arguments,
                                               .reply = on_claimed,
                                               .owner = ask});
    free (rooms);
    free (args);
}

bool store_claim_at (const struct store_claim *answer, size_t index, struct store_claimed *ret)
{
    redisReply *const *row = answer->reply->element + CLAIM_HEAD + ROW * index;
    ret->message = reply_text (row[1]);
    read_run (reply_text (row[2]), ret);
    return message_key_parse (reply_text (row[0]), &ret->station, &ret->plan_id);
}

bool store_claim_aside (const struct store_claim *answer, size_t index, struct span *ret_target)
{
    const redisReply *targets = answer->reply ? answer->reply->element[5] : NULL;
    if (!targets || index >= targets->elements)
        return false;
    *ret_target = reply_text (targets->element[index]);
    return true;
}
