// Commands of clients at a station: submissions, changes, removals, limits; as store_submit.c and
// store_change.c do. And the texts that all of them share.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ident.h"
#include "memory.h"
#include "whole.h"

#define TEXT(text) span_text (text)

// -- texts

static const char *const targets[JUDGE_TARGETS] = {"ann", "bob", "cat", "dan", "eve", "fay"};

const char *target_name (int target)
{
    return targets[target];
}

int target_of (struct span name)
{
    for (int i = 0; i < JUDGE_TARGETS; i++)
        if (span_is (name, targets[i]))
            return i;
    abort ();
}

size_t member_text (char out[64], const char *kind, int target, uint64_t id)
{
    char digits[IDENT_SIZE];
    return (size_t)snprintf (out, 64, "plan:%s:%s:%s", kind, targets[target],
                             ident_text (id, digits));
}

bool member_read (struct span member, int *ret_target, uint64_t *ret_id)
{
    if (member.size < 14 || memcmp (member.data, "plan:msg:", 9) != 0)
        return false;
    *ret_target = target_of (span_of (member.data + 9, 3));
    return ident_parse (span_of (member.data + 13, member.size - 13), ret_id);
}

size_t record_write (const struct record *record, bool runs, char out[400])
{
    unsigned long long exec_id = record->exec_id;
    return (size_t)snprintf (
        out, 400,
        "{\"exec_id\":%016llu,\"exec_time\":%-10llu,\"plan_state\":%d,\"revision\":%" PRId64
        ",\"version\":%" PRId64 ",\"changes\":%" PRId64 ",\"runs\":%" PRId64 ",\"fails\":%" PRId64
        ",\"every\":%" PRId64 ",\"paused\":%" PRId64 ",\"caller\":%" PRId64 ",\"priority\":%" PRId64
        ",\"group\":\"%s\"}",
        exec_id, exec_id / 1000000, runs ? 2 : 1, record->revision, record->version,
        record->changes, record->runs, record->fails, record->every_ms, record->paused,
        record->caller, record->priority, record->group);
}

// The fields stand in their order.
bool record_read (struct span message, struct record *ret)
{
    static const char *const names[] = {
        "\"revision\":", "\"version\":", "\"changes\":", "\"runs\":",    "\"fails\":",
        "\"every\":",    "\"paused\":",  "\"caller\":",  "\"priority\":"};
    struct record record = {0};
    int64_t *const numbers[] = {&record.revision, &record.version, &record.changes,
                                &record.runs,     &record.fails,   &record.every_ms,
                                &record.paused,   &record.caller,  &record.priority};
    const char *at = (const char *)message.data, *end = at + message.size;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        at = message.size ? memmem (at, (size_t)(end - at), names[i], strlen (names[i])) : NULL;
        if (!at)
            return false;
        at += strlen (names[i]);
        *numbers[i] = strtoll (at, NULL, 10);
    }
    at = memmem (at, (size_t)(end - at), "\"group\":\"", 9);
    for (size_t i = 0; at && i < sizeof record.group - 1 && at[9 + i] != '"'; i++)
        record.group[i] = at[9 + i];
    *ret = record;
    return true;
}

// -- submissions

struct submitting {
    int target;
    uint64_t id;
    bool made_here;
    struct record record;
    int64_t due_us;
};

static void on_submitted (struct done *done, enum written how)
{
    if (how == WRITTEN && done->station->alive)
        judge_submitted (done->station->world->judge, done->id);
    free (done);
}

static void place (struct station *station, const struct submitting *submitting)
{
    struct world *world = station->world;
    const struct record *record = &submitting->record;
    struct core_refusal refusal;
    char message[400], caller[16];
    snprintf (caller, sizeof caller, "c:%" PRId64, record->caller);
    struct core_submission submission = {
        .target = TEXT (target_name (submitting->target)),
        .id = submitting->id,
        .message = span_of (message, record_write (record, false, message)),
        .revision = record->revision,
        .queued = true,
        .due_us = submitting->due_us,
        .priority = (int)record->priority,
        .group = TEXT (record->group),
        .caller = TEXT (caller),
        .made_here = submitting->made_here};
    judge_requested (world->judge, submitting->id, submitting->target);
    if (core_submit (station->core, &submission, station_redis (station), &refusal) != CORE_DONE)
        return;
    world->recent[world->recent_count++ % RECENT] =
        (struct plan_name){submitting->id, submitting->target};
    struct done *done = done_new (station, on_submitted);
    done->id = submitting->id;
    done_wait (done, WAITER_SUBMISSION);
}

static void on_looked_up (struct station *station, void *owner, redisReply *const *replies,
                          size_t count)
{
    struct submitting *submitting = owner;
    if (count && station->state == SERVING && replies[0]->type == REDIS_REPLY_NIL)
        place (station, submitting);
    free (submitting);
}

void station_submit (struct station *station)
{
    struct world *world = station->world;
    int64_t now_us = station_redis (station);
    uint64_t last = core_last_id (station->core);
    bool made_here = !chance (world, 3000);
    struct submitting *submitting = memory_new (sizeof *submitting);
    *submitting = (struct submitting){
        .target = (int)draw (world, JUDGE_TARGETS),
        .id = !made_here                    ? 1 + draw (world, CLIENT_IDS - 1)
              : last + 1 > (uint64_t)now_us ? last + 1
                                            : (uint64_t)now_us,
        .made_here = made_here,
        .due_us = now_us + (chance (world, 3000) ? 0 : between (world, 0, 30 * SECOND)),
        .record = {.revision = ++world->revisions,
                   .version = ++world->versions,
                   .every_ms = chance (world, 3000) ? 0 : between (world, 2000, 60000),
                   .caller = between (world, 0, 3),
                   .priority = chance (world, 2000) ? between (world, 0, 9) : 0}};
    if (chance (world, 2000))
        snprintf (submitting->record.group, sizeof submitting->record.group, "g%d",
                  (int)draw (world, 3));
    world->events++;
    if (made_here) {
        place (station, submitting);
        free (submitting);
        return;
    }
    char member[64];
    submitting->target = (int)(submitting->id % JUDGE_TARGETS); // an id is of one target
    member_text (member, "msg", submitting->target, submitting->id);
    ask (station, (const struct span[]){TEXT ("GET"), TEXT (member)}, (const size_t[]){2}, 1,
         on_looked_up, submitting);
}

// -- changes: what is read is changed, if it is still that

enum change { PAUSE, RESUME, UPDATE, SHOW, CHANGES };

struct changing {
    uint64_t id;
    int target;
    enum change change;
};

static void on_changed (struct done *done, enum written how)
{
    if (how == WRITTEN && done->station->alive)
        judge_changed (done->station->world->judge, done->id, done->version);
    free (done);
}

static void change (struct station *station, const struct changing *changing, struct record *record,
                    uint64_t exec_id)
{
    struct world *world = station->world;
    char message[400], caller[16];
    struct core_change change = {.target = TEXT (target_name (changing->target)),
                                 .id = changing->id,
                                 .was_revision = record->revision,
                                 .exec_id = exec_id,
                                 .due_us = station_redis (station) + SECOND};
    snprintf (caller, sizeof caller, "c:%" PRId64, record->caller);
    record->changes++;
    record->version = ++world->versions;
    record->revision = change.revision = ++world->revisions;
    record->exec_id = exec_id;
    bool resumes = changing->change == RESUME && record->paused;
    if (changing->change != UPDATE)
        record->paused = changing->change == PAUSE;
    if (changing->change == UPDATE && chance (world, 3000))
        record->priority = between (world, 0, 9);
    if (changing->change == UPDATE && chance (world, 3000))
        snprintf (record->group, sizeof record->group, "g%d", (int)draw (world, 3));
    change.place = exec_id                     ? CORE_KEEP
                   : changing->change == PAUSE ? CORE_OUT
                   : resumes                   ? CORE_AT
                                               : CORE_KEEP;
    change.message = span_of (message, record_write (record, exec_id != 0, message));
    change.priority = (int)record->priority;
    change.group = TEXT (record->group);
    change.caller = change.caller_before = TEXT (caller);
    if (core_change (station->core, &change, station_redis (station)) != CORE_DONE)
        return;
    struct done *done = done_new (station, on_changed);
    done->id = changing->id;
    done->version = record->version;
    done_wait (done, WAITER_CLIENT);
}

// What the core knows is newer than what was read.
static void on_read (struct station *station, void *owner, redisReply *const *replies, size_t count)
{
    struct changing *changing = owner;
    struct core_view view;
    struct record record;
    if (count && station->state == SERVING) {
        bool known = core_view (station->core, changing->id, &view);
        struct span run = text_of (replies[1]);
        struct span message = known && view.message.data ? view.message : text_of (replies[0]);
        uint64_t exec_id = known      ? view.exec_id
                           : run.size ? strtoull ((const char *)run.data, NULL, 10)
                                      : 0;
        bool gone = known && view.gone;
        if (!gone && record_read (message, &record)) {
            if (changing->change != SHOW)
                change (station, changing, &record, exec_id);
            else if (owner_is_leased (writer_owner (station->writer), station_boot (station)))
                judge_shown (station->world->judge, station->process, changing->id, record.version);
        }
    }
    free (changing);
}

void station_change (struct station *station, const struct plan_name *plan)
{
    char member[64];
    struct changing *changing = memory_new (sizeof *changing);
    *changing =
        (struct changing){plan->id, plan->target, (enum change)draw (station->world, CHANGES)};
    station->world->events++;
    member_text (member, "msg", plan->target, plan->id);
    ask (station,
         (const struct span[]){TEXT ("GET"), TEXT (member), TEXT ("HGET"), TEXT ("plan:run"),
                               TEXT (member)},
         (const size_t[]){2, 3}, 2, on_read, changing);
}

// -- removals

struct removing {
    uint64_t id;
    int target;
};

static void on_removed (struct done *done, enum written how)
{
    if (how == WRITTEN && done->station->alive)
        judge_removed (done->station->world->judge, done->id);
    free (done);
}

static void on_found (struct station *station, void *owner, redisReply *const *replies,
                      size_t count)
{
    struct removing *removing = owner;
    struct core_view view;
    struct record record;
    char caller[16];
    if (count && station->state == SERVING) {
        bool known = core_view (station->core, removing->id, &view);
        struct span message = known && view.message.data ? view.message : text_of (replies[0]);
        if (!(known && view.gone) && record_read (message, &record)) {
            snprintf (caller, sizeof caller, "c:%" PRId64, record.caller);
            judge_removing (station->world->judge, removing->id);
            core_remove (station->core,
                         &(struct core_removal){TEXT (target_name (removing->target)), removing->id,
                                                TEXT (caller)},
                         station_redis (station));
            struct done *done = done_new (station, on_removed);
            done->id = removing->id;
            done_wait (done, WAITER_CLIENT);
        }
    }
    free (removing);
}

void station_remove (struct station *station, const struct plan_name *plan)
{
    char member[64];
    struct removing *removing = memory_new (sizeof *removing);
    *removing = (struct removing){plan->id, plan->target};
    station->world->events++;
    member_text (member, "msg", plan->target, plan->id);
    ask (station, (const struct span[]){TEXT ("GET"), TEXT (member)}, (const size_t[]){2}, 1,
         on_found, removing);
}

// -- limits of groups

static void on_limited (struct done *done, enum written how)
{
    struct station *station = done->station;
    (void)how;
    if (station->process == done->process && station->alive)
        station->limits_unwritten--;
    free (done);
}

void station_limit (struct station *station)
{
    char name[8], value[8];
    struct world *world = station->world;
    const struct limit limit = {.concurrency = between (world, 2, 30)};
    snprintf (name, sizeof name, "g:g%d", (int)draw (world, 2)); // the third has none
    snprintf (value, sizeof value, "%" PRId64, limit.concurrency);
    core_set_limit (station->core, TEXT (name), &limit);
    core_add_command (
        station->core,
        (const struct span[]){TEXT ("HSET"), TEXT ("plan:limits"), TEXT (name), TEXT (value)}, 4);
    judge_limit (world->judge, name, limit.concurrency);
    station->limits_unwritten++;
    station->limit_writes++;
    done_wait (done_new (station, on_limited), WAITER_CLIENT);
}

// -- plans that wait for a target

struct waking {
    int target;
    size_t count;
    uint64_t ids[100];
    uint64_t number;
};

static void on_scores (struct station *station, void *owner, redisReply *const *replies,
                       size_t count)
{
    struct waking *waking = owner;
    if (count && station->state == SERVING && replies[0]->type == REDIS_REPLY_ARRAY)
        for (size_t i = 0; i < waking->count; i++) {
            bool classes = replies[1]->type == REDIS_REPLY_ARRAY;
            core_wake (station->core,
                       &(struct core_member){.target = TEXT (target_name (waking->target)),
                                             .id = waking->ids[i],
                                             .score_us = score_us_of (replies[0]->element[i]),
                                             .class = classes ? text_of (replies[1]->element[i])
                                                              : TEXT ("")},
                       station_redis (station));
        }
    if (waking->count == 100 && station->state == SERVING)
        station_wake (station, waking->target);
    free (waking);
}

static void on_waiting (struct station *station, void *owner, redisReply *const *replies,
                        size_t count)
{
    struct waking *waking = owner;
    struct span words[204] = {TEXT ("ZMSCORE"), TEXT ("plan:time:set")};
    int target;
    if (!count || station->state != SERVING || replies[0]->type != REDIS_REPLY_ARRAY) {
        free (waking);
        return;
    }
    for (size_t i = 0; i < replies[0]->elements; i++) {
        words[2 + waking->count] = text_of (replies[0]->element[i]);
        if (member_read (words[2 + waking->count], &target, &waking->ids[waking->count]))
            waking->count++;
    }
    if (!waking->count) {
        core_clear_waiting (station->core, TEXT (target_name (waking->target)), waking->number);
        free (waking);
        return;
    }
    size_t size = waking->count + 2;
    memcpy (words + size, words, size * sizeof *words);
    words[size] = TEXT ("HMGET");
    words[size + 1] = TEXT ("plan:class");
    ask (station, words, (const size_t[]){size, size}, 2, on_scores, waking);
}

void station_wake (struct station *station, int target)
{
    char key[24];
    uint64_t number;
    if (!station->world->targets[target].up ||
        !core_has_waiting (station->core, TEXT (target_name (target)), &number))
        return;
    struct waking *waking = memory_new (sizeof *waking);
    waking->target = target;
    waking->number = number;
    snprintf (key, sizeof key, "plan:wait:%s", target_name (target));
    ask (station, (const struct span[]){TEXT ("ZRANGE"), TEXT (key), TEXT ("0"), TEXT ("99")},
         (const size_t[]){4}, 1, on_waiting, waking);
}
