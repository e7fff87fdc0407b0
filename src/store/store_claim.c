// Due plans are taken.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "clock.h"
#include "memory.h"
#include "store_private.h"

// A claim of few plans is answered with their messages; those of many are read by a second call, as
// the script would be slow with them. So the answer is kept until they are here.
enum { CLAIM_HEAD = 7, BROKEN_MAX = 128 }; // answers before the claimed plans; bytes that are told

struct claim_row {
    char member[MEMBER_MAX];
    size_t member_size;
    struct store_claimed claimed; // the message: of the answer that is being read
};

struct claim_kept {
    struct store *store;
    store_claim_fn *reply;
    void *owner;
    int64_t asked_us; // monotonic
    int64_t lease_us;
    struct store_claim answer;
    char first_broken[BROKEN_MAX];
    struct aside_kept {
        char target[STATION_NAME_MAX + 1];
        bool limited;
    } * aside;
    size_t aside_count;
    struct claim_row *rows;
};

static void finish (struct claim_kept *kept)
{
    kept->answer.kept = kept;
    kept->reply (kept->owner, &kept->answer);
    free (kept->aside);
    free (kept->rows);
    free (kept);
}

// A score as microseconds. An operator's may be anything: it is bounded before it is an integer.
static int64_t score_us (const char *score)
{
    return llround (fmin (fmax (strtod (score, NULL), 0), (double)SCHEDULE_TIME_MAX) * 1e6);
}

// "1763...[ again lost][@due]" of a claimed plan, or that number alone.
static void read_run (const redisReply *reply, struct store_claimed *ret)
{
    if (reply->type == REDIS_REPLY_INTEGER) {
        ret->exec_id = (uint64_t)reply->integer;
        return;
    }
    struct span text = reply_text (reply);
    const char *at = text.size ? memchr (text.data, '@', text.size) : NULL;
    ret->at_us = at ? strtoll (at + 1, NULL, 10) : 0;
    char *end;
    ret->exec_id = text.size ? strtoull ((const char *)text.data, &end, 10) : 0;
    ret->again = text.size && *end == ' ' && strtoull (end + 1, &end, 10) >= 1;
    ret->lost = ret->again && *end == ' ' ? strtoull (end + 1, NULL, 10) : 0;
}

// A member that is too long is none: the row is broken.
static void read_row (struct claim_row *row, struct span member, const redisReply *run)
{
    *row = (struct claim_row){.member_size = member.size < MEMBER_MAX ? member.size : 0};
    if (row->member_size)
        memcpy (row->member, member.data, row->member_size);
    read_run (run, &row->claimed);
}

// "TARGET", or "TARGET limit".
static void keep_aside (struct claim_kept *kept, const redisReply *targets)
{
    kept->aside = memory_new ((targets->elements + 1) * sizeof *kept->aside);
    for (size_t i = 0; i < targets->elements; i++) {
        struct aside_kept *aside = &kept->aside[kept->aside_count];
        struct span name = reply_text (targets->element[i]);
        const uint8_t *space = name.size ? memchr (name.data, ' ', name.size) : NULL;
        name.size = space ? (size_t)(space - name.data) : name.size;
        if (!station_name_valid (name))
            continue;
        memcpy (aside->target, name.data, name.size);
        aside->limited = space != NULL;
        kept->aside_count++;
    }
}

static void keep_broken (struct claim_kept *kept, const redisReply *broken)
{
    struct span first = broken->elements ? reply_text (broken->element[0]) : (struct span){0};
    size_t size = first.size < BROKEN_MAX ? first.size : BROKEN_MAX;
    if (size)
        memcpy (kept->first_broken, first.data, size);
    kept->answer.broken = broken->elements;
    kept->answer.first_broken = span_of (kept->first_broken, size);
}

static void keep_head (struct claim_kept *kept, const redisReply *reply)
{
    struct store *store = kept->store;
    struct store_claim *answer = &kept->answer;
    struct span next = reply_text (reply->element[1]), looked = reply_text (reply->element[3]);
    answer->now_us = reply_time_us (reply->element[0]);
    store_learn_time (store, kept->asked_us, answer->now_us);
    answer->has_next = next.size > 0;
    answer->next_us = answer->has_next ? score_us ((const char *)next.data) : 0;
    answer->lease_end_us = answer->now_us + kept->lease_us;
    keep_broken (kept, reply->element[2]);
    snprintf (store->looked, sizeof store->looked, "%.*s", (int)looked.size,
              looked.size ? (const char *)looked.data : "");
    int64_t left = reply_number (reply->element[4]);
    answer->more = left & 1;
    answer->sorted = left & 2;
    answer->full = left & 4;
    keep_aside (kept, reply->element[5]);
}

// `width`: values of each plan.
static void keep_rows (struct claim_kept *kept, const redisReply *reply, size_t width)
{
    struct store_claim *answer = &kept->answer;
    answer->count = (reply->elements - CLAIM_HEAD) / width;
    kept->rows = memory_new ((answer->count + 1) * sizeof *kept->rows);
    for (size_t i = 0; i < answer->count; i++) {
        redisReply *const *at = reply->element + CLAIM_HEAD + width * i;
        read_row (&kept->rows[i], reply_text (at[0]), at[1]);
        kept->rows[i].claimed.unwritten = width == 2;
        if (width > 2)
            kept->rows[i].claimed.message = reply_text (at[2]);
    }
    // The newest run is the last one.
    if (answer->count && kept->rows[answer->count - 1].claimed.exec_id > kept->store->exec_id)
        kept->store->exec_id = kept->rows[answer->count - 1].claimed.exec_id;
}

static void fail (struct claim_kept *kept, enum store_result result, const char *error)
{
    kept->answer.result = result;
    kept->answer.error = error;
    kept->answer.count = 0;
    finish (kept);
}

// Whether the answer has so many elements. False: that it has not is told.
static bool check_answer (struct claim_kept *kept, const redisReply *reply, size_t elements)
{
    const char *error;
    enum store_result result = reply_result (reply, &error);
    if (result != STORE_DONE)
        fail (kept, result, error);
    else if (!reply_is_array (reply, elements))
        fail (kept, STORE_ERROR, ODD_ANSWER);
    else
        return true;
    return false;
}

static void on_messages (void *owner, const redisReply *reply)
{
    struct claim_kept *kept = owner;
    if (!check_answer (kept, reply, kept->answer.count))
        return;
    // Of a plan that was removed meanwhile there is none.
    for (size_t i = 0; i < kept->answer.count; i++)
        kept->rows[i].claimed.message = reply_text (reply->element[i]);
    finish (kept);
}

static void read_messages (struct claim_kept *kept)
{
    struct span *members = memory_new ((kept->answer.count + 1) * sizeof *members);
    for (size_t i = 0; i < kept->answer.count; i++)
        members[i] = span_of (kept->rows[i].member, kept->rows[i].member_size);
    link_call (kept->store->link, &(struct link_call){.command = "MGET",
                                                      .repeat = LINK_REPEAT,
                                                      .args = members,
                                                      .count = kept->answer.count,
                                                      .reply = on_messages,
                                                      .owner = kept});
    free (members);
}

static void on_claimed (void *owner, const redisReply *reply)
{
    enum { WITHOUT = 2, WITH = 3 };
    struct claim_kept *kept = owner;
    if (!check_answer (kept, reply, CLAIM_HEAD))
        return;
    bool without = reply_number (reply->element[6]) == 1;
    keep_head (kept, reply);
    keep_rows (kept, reply, without ? WITHOUT : WITH);
    kept->answer.error = "";
    if (without && kept->answer.count)
        read_messages (kept);
    else
        finish (kept);
}

enum { PROBE_MAX = sizeof "held " + MEMBER_MAX };

// What the plans wait for that a target does not take: "next", "pull", "held" or "held MEMBER".
static const char *wait_word (const struct claim_target *target, char probe[PROBE_MAX])
{
    char member[MEMBER_MAX];
    if (!target->probe)
        return target->fetched ? "pull" : target->puts_aside ? "held" : "next";
    member_make (member, span_text (target->name), target->probe);
    snprintf (probe, PROBE_MAX, "held %s", member);
    return probe;
}

void store_claim (struct store *self, const struct claim_wish *wish, store_claim_fn *reply,
                  void *owner)
{
    enum { FIXED = 13, EACH = 5, LATE_US = 2000000 };
    char count[24], first[24], lease[24], number[24], outcomes[24], ahead[24], late[24] = "";
    char (*rooms)[24], (*probes)[PROBE_MAX];
    snprintf (count, sizeof count, "%" PRId64, wish->limit);
    snprintf (first, sizeof first, "%" PRId64, wish->first_lease_s);
    snprintf (lease, sizeof lease, "%" PRId64, wish->lease_s);
    snprintf (outcomes, sizeof outcomes, "%" PRId64, self->bounds.history_count);
    snprintf (ahead, sizeof ahead, "%" PRId64, wish->ahead_us);
    if (self->learned)
        snprintf (late, sizeof late, "%" PRId64, store_now_us (self) + LATE_US);
    snprintf (number, sizeof number, "%" PRIu64, ++self->claims);
    const struct span fixed[FIXED] = {
        span_text (KEY_TIME_SET),
        span_text (KEY_RUNS),
        span_text (KEY_META),
        span_text (KEY_INDEX),
        span_text (self->claims_key),
        span_text (count),
        span_text (first),
        span_text (number),
        span_text (outcomes),
        span_text (self->looked),
        span_text (ahead),
        span_text (lease),
        span_text (late),
    };
    size_t arguments = FIXED + EACH * wish->target_count;
    struct span *args = memory_new (arguments * sizeof *args);
    rooms = memory_new ((wish->target_count + 1) * sizeof *rooms);
    probes = memory_new ((wish->target_count + 1) * sizeof *probes);
    memcpy (args, fixed, sizeof fixed);
    for (size_t i = 0; i < wish->target_count; i++) {
        const struct claim_target *target = &wish->targets[i];
        struct span *at = args + FIXED + EACH * i;
        snprintf (rooms[i], sizeof *rooms, "%" PRId64, target->room > 0 ? target->room : 0);
        at[0] = span_text (target->name);
        at[1] = span_text (rooms[i]);
        at[2] = span_text (wait_word (target, probes[i]));
        at[3] = span_text (target->has_aside ? "1" : "0");
        at[4] = span_text (target->limit);
    }
    struct claim_kept *kept = memory_new (sizeof *kept);
    *kept = (struct claim_kept){.store = self,
                                .reply = reply,
                                .owner = owner,
                                .asked_us = clock_mono_us (),
                                .lease_us = wish->first_lease_s * 1000000};
    link_call (self->link, &(struct link_call){.script = SCRIPT_CLAIM,
                                               .repeat = LINK_REPEAT,
                                               .keys = 5,
                                               .args = args,
                                               .count = arguments,
                                               .reply = on_claimed,
                                               .owner = kept});
    free (probes);
    free (rooms);
    free (args);
}

bool store_claim_at (const struct store_claim *answer, size_t index, struct store_claimed *ret)
{
    const struct claim_row *row = &answer->kept->rows[index];
    *ret = row->claimed;
    ret->lease_end_us = answer->lease_end_us;
    if (ret->at_us < answer->now_us)
        ret->at_us = answer->now_us;
    return row->claimed.message.data && message_key_parse (span_of (row->member, row->member_size),
                                                           &ret->station, &ret->plan_id);
}

bool store_claim_aside (const struct store_claim *answer, size_t index, struct claim_aside *ret)
{
    if (index >= answer->kept->aside_count)
        return false;
    const struct aside_kept *aside = &answer->kept->aside[index];
    *ret = (struct claim_aside){span_text (aside->target), aside->limited};
    return true;
}
