// What a new owner reads, and the pages of the queue: as store_load.c and store_queue.c do.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "whole.h"

#define TEXT(text) span_text (text)

struct span text_of (const redisReply *reply)
{
    bool text = reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS;
    return text ? span_of (reply->str, reply->len) : (struct span){0};
}

static int64_t number_of (const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        return reply->integer;
    return text_of (reply).size ? strtoll (reply->str, NULL, 10) : 0;
}

int64_t score_us_of (const redisReply *reply)
{
    if (!text_of (reply).size)
        return -1;
    const char *point = strchr (reply->str, '.');
    return strtoll (reply->str, NULL, 10) * SECOND + (point ? strtoll (point + 1, NULL, 10) : 0);
}

// -- loading

struct load {
    uint64_t number;
};

static struct load *load_new (struct station *station)
{
    struct load *load = memory_new (sizeof *load);
    load->number = station->loads;
    return load;
}

static void loaded (struct station *station)
{
    station->loaded = true;
    station->state = SERVING;
    station->look_us = 0;
    for (int i = 0; i < JUDGE_TARGETS; i++)
        station_wake (station, i);
}

static void take_numbers (struct station *station, redisReply *const *replies)
{
    struct core_numbers numbers = {.plans = number_of (replies[1]),
                                   .classes = number_of (replies[5]) == 1};
    redisReply *const *meta = replies[0]->element;
    bool has_meta = replies[0]->type == REDIS_REPLY_ARRAY;
    int64_t history = 0;
    bool newest = replies[3]->type == REDIS_REPLY_ARRAY && replies[3]->elements;
    if (newest) {
        const char *id = replies[3]->element[0]->element[0]->str;
        history = strtoll (id, NULL, 10);
        numbers.sub = strchr (id, '-') ? strtoll (strchr (id, '-') + 1, NULL, 10) : 0;
    }
    if (has_meta) {
        struct span epoch = text_of (meta[2]);
        numbers.exec_id = (uint64_t)number_of (meta[0]);
        numbers.seq = number_of (meta[1]);
        if (epoch.size && epoch.size < sizeof numbers.epoch)
            memcpy (numbers.epoch, epoch.data, epoch.size);
        numbers.plan_id = (uint64_t)number_of (meta[3]);
    }
    if (!has_meta || !text_of (meta[1]).size)
        numbers.seq = history;
    if (numbers.seq != history)
        numbers.sub = 0;
    core_load_numbers (station->core, &numbers);
}

static void take_limits (struct station *station, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY)
        return;
    core_begin_limits (station->core);
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const struct limit limit = {.concurrency = number_of (reply->element[i + 1])};
        core_set_limit (station->core, text_of (reply->element[i]), &limit);
    }
    core_end_limits (station->core);
}

// What passes: all is read again. A key of another type is replaced.
static bool is_refused (redisReply *const *replies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (replies[i]->type == REDIS_REPLY_ERROR && strncmp (replies[i]->str, "WRONGTYPE", 9) != 0)
            return true;
    return false;
}

static void on_classes (struct station *station, void *owner, redisReply *const *replies,
                        size_t count)
{
    struct load *load = owner;
    if (count && load->number == station->loads && is_refused (replies, count)) {
        station_closed (station);
    } else if (count && load->number == station->loads) {
        for (size_t i = 0; i + 1 < replies[0]->elements; i += 2) {
            int target;
            uint64_t id;
            if (member_read (text_of (replies[0]->element[i]), &target, &id))
                core_load_class (station->core, TEXT (target_name (target)), id,
                                 text_of (replies[0]->element[i + 1]));
        }
        loaded (station);
    }
    free (load);
}

static void take_runs (struct station *station, const redisReply *reply)
{
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        int target;
        uint64_t id;
        if (member_read (text_of (reply->element[i]), &target, &id))
            core_load_run (station->core, TEXT (target_name (target)), id,
                           text_of (reply->element[i + 1]));
    }
}

static void on_loaded (struct station *station, void *owner, redisReply *const *replies,
                       size_t count)
{
    static const char *const keys[] = {"plan:meta",  "plan:ids",   "plan:time:set", "plan:history",
                                       "plan:count", "plan:class", "plan:limits",   "plan:run"};
    struct load *load = owner;
    bool mine = count && load->number == station->loads;
    free (load);
    if (!mine)
        return;
    if (is_refused (replies, count)) {
        station_closed (station);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (replies[i]->type == REDIS_REPLY_ERROR)
            core_add_command (station->core, (const struct span[]){TEXT ("DEL"), TEXT (keys[i])},
                              2);
    const redisReply *counts = replies[4];
    for (size_t i = 0; counts->type == REDIS_REPLY_ARRAY && i + 1 < counts->elements; i += 2) {
        struct span field = text_of (counts->element[i]);
        if (field.size > 2 && field.data[0] == 's')
            core_load_count (station->core, span_of (field.data + 2, field.size - 2),
                             number_of (counts->element[i + 1]));
    }
    take_numbers (station, replies);
    take_limits (station, replies[6]);
    take_runs (station, replies[7]);
    if (core_has_classes (station->core))
        ask (station, (const struct span[]){TEXT ("HGETALL"), TEXT ("plan:class")},
             (const size_t[]){2}, 1, on_classes, load_new (station));
    else
        loaded (station);
}

void load_begin (struct station *station)
{
    const struct span words[] = {TEXT ("HMGET"),     TEXT ("plan:meta"),
                                 TEXT ("exec"),      TEXT ("seq"),
                                 TEXT ("epoch"),     TEXT ("id"),
                                 TEXT ("ZCARD"),     TEXT ("plan:ids"),
                                 TEXT ("ZCARD"),     TEXT ("plan:time:set"),
                                 TEXT ("XREVRANGE"), TEXT ("plan:history"),
                                 TEXT ("+"),         TEXT ("-"),
                                 TEXT ("COUNT"),     TEXT ("1"),
                                 TEXT ("HGETALL"),   TEXT ("plan:count"),
                                 TEXT ("EXISTS"),    TEXT ("plan:class"),
                                 TEXT ("HGETALL"),   TEXT ("plan:limits"),
                                 TEXT ("HGETALL"),   TEXT ("plan:run")};
    const size_t sizes[] = {6, 2, 2, 6, 2, 2, 2, 2};
    station->loads++;
    ask (station, words, sizes, sizeof sizes / sizeof *sizes, on_loaded, load_new (station));
}

// -- pages

struct asked {
    uint64_t resets;
    int64_t expected, plans;
    uint64_t limit_writes;
};

static struct asked *asked_new (struct station *station)
{
    struct asked *asked = memory_new (sizeof *asked);
    *asked = (struct asked){.resets = core_resets (station->core),
                            .limit_writes = station->limit_writes};
    return asked;
}

static void on_page (struct station *station, void *owner, redisReply *const *replies, size_t count)
{
    struct asked *asked = owner;
    bool current = station->alive && asked->resets == core_resets (station->core);
    free (asked);
    if (!current)
        return;
    if (!count || replies[0]->type != REDIS_REPLY_ARRAY) {
        core_page_lost (station->core);
        return;
    }
    struct core_member *members = memory_new (CORE_PAGE * sizeof *members);
    size_t used = 0, all = replies[0]->elements / 3;
    for (size_t i = 0; i < all; i++) {
        redisReply *const *row = &replies[0]->element[3 * i];
        int target;
        struct core_member *member = &members[used];
        *member = (struct core_member){.score_us = score_us_of (row[1]), .class = text_of (row[2])};
        if (member_read (text_of (row[0]), &target, &member->id)) {
            member->target = TEXT (target_name (target));
            used++;
        } else {
            core_add_command (
                station->core,
                (const struct span[]){TEXT ("ZREM"), TEXT ("plan:time:set"), text_of (row[0])}, 3);
        }
    }
    core_load_page (station->core, members, used, all, station_redis (station));
    station->world->events += used / 8;
    free (members);
}

static void read_page (struct station *station, const struct core_cursor *cursor)
{
    char score[24] = "", member[64] = "";
    if (cursor->score_us != INT64_MIN)
        snprintf (score, sizeof score, "%" PRId64, cursor->score_us);
    if (cursor->score_us != INT64_MIN && !cursor->all)
        member_text (member, "msg", target_of (TEXT (cursor->target)), cursor->id);
    ask (station,
         (const struct span[]){TEXT ("PAGE"), TEXT ("plan:time:set"), TEXT ("plan:class"),
                               TEXT (score), TEXT (member), TEXT ("1000")},
         (const size_t[]){6}, 1, on_page, asked_new (station));
}

// -- edits by hand

static void on_limits (struct station *station, void *owner, redisReply *const *replies,
                       size_t count)
{
    struct asked *asked = owner;
    bool current = station->alive && count && asked->resets == core_resets (station->core);
    if (current && asked->limit_writes == station->limit_writes)
        take_limits (station, replies[0]);
    free (asked);
}

static void on_look (struct station *station, void *owner, redisReply *const *replies, size_t count)
{
    struct asked *asked = owner;
    bool current = station->alive && count && asked->resets == core_resets (station->core);
    if (current && replies[0]->type == REDIS_REPLY_INTEGER &&
        replies[0]->integer != asked->expected) {
        station->world->rereads++;
        core_reread (station->core);
    }
    if (current && replies[1]->type == REDIS_REPLY_INTEGER)
        core_correct_plan_count (station->core, asked->plans, replies[1]->integer);
    free (asked);
}

static void look_for_edits (struct station *station)
{
    char until[48];
    int64_t until_us;
    int64_t expected = core_expected_due (station->core, station_redis (station), &until_us);
    if (expected < 0)
        return;
    struct asked *asked = asked_new (station);
    asked->expected = expected;
    asked->plans = core_plan_count (station->core);
    snprintf (until, sizeof until, "%" PRId64 ".%06" PRId64, until_us / SECOND, until_us % SECOND);
    const struct span words[] = {TEXT ("ZCOUNT"), TEXT ("plan:time:set"), TEXT ("-inf"),
                                 TEXT (until),    TEXT ("ZCARD"),         TEXT ("plan:ids")};
    ask (station, words, (const size_t[]){4, 2}, 2, on_look, asked);
}

void queue_turn (struct station *station)
{
    struct core_cursor cursor;
    int64_t mono_us = station_mono (station);
    if (core_wants_page (station->core, station_redis (station), &cursor))
        read_page (station, &cursor);
    if (station->look_wanted && core_is_quiet (station->core)) {
        station->look_wanted = false;
        look_for_edits (station);
    }
    if (mono_us < station->look_us)
        return;
    station->look_wanted = true;
    station->look_us = mono_us + SECOND;
    if (!station->limits_unwritten)
        ask (station, (const struct span[]){TEXT ("HGETALL"), TEXT ("plan:limits")},
             (const size_t[]){2}, 1, on_limits, asked_new (station));
}
