// The store's calls that look plans up, list, remove, wake and sweep them.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "ident.h"
#include "json_text.h"
#include "store_private.h"

// -- one plan by its id

// Whether a run in flight gave no status in time; an offered one ('!') waits for workers instead.
static bool run_without_status (struct span run)
{
    return run.size && memchr (run.data, '?', run.size) && !memchr (run.data, '!', run.size);
}

static void on_loaded (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_loaded answer = {0};
    answer.result = reply_result (reply, &answer.error);
    if (answer.result == STORE_DONE) {
        uint64_t plan_id;
        answer.result = STORE_NONE;
        if (reply_is_array (reply, 4) &&
            message_key_parse (reply_text (reply->element[0]), &answer.station, &plan_id)) {
            struct span run = reply_text (reply->element[2]);
            answer.result = STORE_DONE;
            answer.message = reply_text (reply->element[1]);
            run_parse (run, &answer.exec_id, &answer.again);
            answer.running = answer.exec_id != 0;
            answer.given_up = run_without_status (run);
            answer.work = reply->element[3];
        }
    }
    ((store_loaded_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

static void load (struct store *self, uint64_t plan_id, const char *more, enum link_repeat repeat,
                  store_loaded_fn *reply, void *owner)
{
    char id[IDENT_SIZE];
    id_digits (plan_id, id);
    const struct span args[] = {span_text (KEY_RUNS), span_text (KEY_INDEX), span_text (id),
                                span_text (more)};
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_LOAD,
                               .repeat = repeat,
                               .keys = 2,
                               .args = args,
                               .count = sizeof args / sizeof *args,
                               .reply = on_loaded,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
}

void store_load (struct store *self, uint64_t plan_id, enum link_repeat repeat,
                 store_loaded_fn *reply, void *owner)
{
    load (self, plan_id, repeat == LINK_REPEAT ? "votes" : "", repeat, reply, owner);
}

void store_load_results (struct store *self, uint64_t plan_id, store_loaded_fn *reply, void *owner)
{
    load (self, plan_id, "work", LINK_ONCE, reply, owner);
}

// The stored frames are not parsed for that: they may be large. `[]` is of a voter that has not
// answered, and what is no array was not written by a station.
static bool is_answer (struct span frames)
{
    return frames.size > 2 && frames.data[0] == '[' && frames.data[frames.size - 1] == ']';
}

char *store_results_json (const struct store_loaded *answer, uint64_t plan_id)
{
    static const struct json_name plan_name = JSON_NAME ("plan_id"),
                                  results_name = JSON_NAME ("results"),
                                  worker_name = JSON_NAME ("worker"),
                                  frames_name = JSON_NAME ("frames");
    const redisReply *work = answer->work;
    struct json_text json;
    size_t size;
    json_text_start (&json, 1024);
    json_text_raw (&json, span_text ("{"));
    json_text_number (&json, &plan_name, (int64_t)plan_id, 0);
    json_text_name (&json, &results_name);
    json_text_raw (&json, span_text ("["));
    for (size_t i = 0; i + 1 < work->elements; i += 2) {
        struct span frames = reply_text (work->element[i + 1]);
        if (!is_answer (frames))
            continue;
        json_text_item (&json);
        json_text_raw (&json, span_text ("{"));
        json_text_name (&json, &worker_name);
        json_text_frame (&json, reply_text (work->element[i]));
        json_text_name (&json, &frames_name);
        json_text_raw (&json, frames);
        json_text_raw (&json, span_text ("}"));
    }
    json_text_raw (&json, span_text ("]}"));
    return json_text_end (&json, &size);
}

void store_load_place (struct store *self, uint64_t plan_id, store_loaded_fn *reply, void *owner)
{
    load (self, plan_id, "place", LINK_ONCE, reply, owner);
}

static struct limit_use use_of (const redisReply *const *at)
{
    struct span text = reply_text (at[0]), used = reply_text (at[2]);
    double used_us = used.size ? strtod ((const char *)used.data, NULL) : 0;
    return (struct limit_use){
        .set = text.size > 0,
        .limit = limit_read (text),
        .busy = reply_number (at[1]),
        .used_us = (int64_t)fmin (fmax (used_us, 0), (double)SCHEDULE_TIME_MAX * 1e6)};
}

struct store_place store_place_of (const struct store_loaded *answer)
{
    enum { STATION = 4, GROUP = 7, COUNTED = 10, WHOLE = 11 };
    struct store_place place = {0};
    if (!reply_is_array (answer->work, WHOLE))
        return place;
    const redisReply *const *at = (const redisReply *const *)answer->work->element;
    struct span score = reply_text (answer->work->element[0]);
    place.queued = score.size > 0;
    double seconds = place.queued ? strtod ((const char *)score.data, NULL) : 0;
    place.score_us = (int64_t)(fmin (fmax (seconds, 0), (double)SCHEDULE_TIME_MAX) * 1000000);
    place.aside = reply_text (answer->work->element[1]).size > 0;
    place.waits = reply_text (answer->work->element[2]).size > 0;
    place.in_lane = at[3]->type == REDIS_REPLY_INTEGER;
    place.before = place.in_lane ? reply_number (at[3]) : 0;
    place.station = use_of (at + STATION);
    place.group = use_of (at + GROUP);
    place.counted = reply_text (at[COUNTED]).size > 0;
    return place;
}

static void on_removal_safe (void *owner, bool enough)
{
    struct ask *ask = owner;
    struct store_removed answer = {.result = enough ? STORE_DONE : STORE_UNSURE,
                                   .station = span_text (ask->station),
                                   .error = ""};
    ((store_removed_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

static void on_removed (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_removed answer = {0};
    answer.result = reply_result (reply, &answer.error);
    struct span station = answer.result == STORE_DONE ? reply_text (reply) : (struct span){0};
    if (station.size && station.size < sizeof ask->station) {
        memcpy (ask->station, station.data, station.size);
        link_replicate (ask->store->link, on_removal_safe, ask);
        return;
    }
    if (answer.result == STORE_DONE)
        answer.result = STORE_NONE;
    ((store_removed_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_remove (struct store *self, uint64_t plan_id, const char *station,
                   store_removed_fn *reply, void *owner)
{
    char id[IDENT_SIZE];
    id_digits (plan_id, id);
    const struct span args[] = {span_text (KEY_TIME_SET), span_text (KEY_INDEX), span_text (id),
                                span_text (station)};
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_REMOVE,
                               .repeat = LINK_ONCE,
                               .keys = 2,
                               .args = args,
                               .count = sizeof args / sizeof *args,
                               .reply = on_removed,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
}

// -- pages

enum { PAGE_HEAD = 1 };      // answers before the plans
enum { ENTRY_STATION = 17 }; // where it begins in an entry of the index

static void on_page (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_page answer = {.reply = reply};
    answer.result = reply_result (reply, &answer.error);
    if (answer.result == STORE_DONE && reply_is_array (reply, PAGE_HEAD)) {
        answer.count = (reply->elements - PAGE_HEAD) / 2;
        ident_parse (reply_text (reply->element[0]), &answer.last);
    }
    ((store_page_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

enum { LIST_ARGS = 6 };

void store_list (struct store *self, const struct store_filter *filter, store_page_fn *reply,
                 void *owner)
{
    char id[IDENT_SIZE] = "", count[24], state[16] = "", type[16] = "";
    if (filter->after)
        id_digits (filter->after, id);
    snprintf (count, sizeof count, "%" PRId64, filter->limit);
    if (filter->state >= 0)
        snprintf (state, sizeof state, "%d", filter->state);
    if (filter->type >= 0)
        snprintf (type, sizeof type, "%d", filter->type);
    struct span args[LIST_ARGS + STORE_MEMBERS_MAX] = {
        span_text (KEY_INDEX),       span_text (id),    span_text (count),
        span_text (filter->station), span_text (state), span_text (type)};
    size_t args_count = LIST_ARGS;
    for (size_t i = 0; i < filter->member_count && i < STORE_MEMBERS_MAX; i++)
        args[args_count++] = filter->members[i];
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_LIST,
                               .repeat = LINK_ONCE,
                               .keys = 1,
                               .args = args,
                               .count = args_count,
                               .reply = on_page,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
}

bool store_page_at (const struct store_page *page, size_t index, uint64_t *ret_id,
                    struct span *ret_station, struct span *ret_message)
{
    struct span entry = reply_text (page->reply->element[PAGE_HEAD + 2 * index]);
    *ret_message = reply_text (page->reply->element[PAGE_HEAD + 2 * index + 1]);
    if (entry.size <= ENTRY_STATION)
        return false;
    *ret_station = span_of (entry.data + ENTRY_STATION, entry.size - ENTRY_STATION);
    return ident_parse (span_of (entry.data, 16), ret_id);
}

// -- upkeep

static void on_woken (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    const char *error;
    enum store_result result = reply_result (reply, &error);
    if (result == STORE_DONE && reply_number (reply) >= ask->limit)
        result = STORE_HELD;
    ((store_done_fn *)ask->reply) (ask->owner, result, error);
    free (ask);
}

void store_wake (struct store *self, const char *station, enum wake which, int64_t limit,
                 store_done_fn *reply, void *owner)
{
    char wait[16 + STATION_NAME_MAX], count[24];
    snprintf (wait, sizeof wait, "plan:wait:%s", station);
    snprintf (count, sizeof count, "%" PRId64, limit);
    const struct span args[] = {span_text (KEY_TIME_SET), span_text (wait), span_text (count),
                                span_text (which == WAKE_NOT_SENT ? "1" : "0")};
    struct ask *ask = ask_new (self, (void (*) (void))reply, owner);
    ask->limit = limit;
    link_call (self->link, &(struct link_call){.script = SCRIPT_WAKE,
                                               .repeat = LINK_REPEAT,
                                               .keys = 2,
                                               .args = args,
                                               .count = sizeof args / sizeof *args,
                                               .reply = on_woken,
                                               .owner = ask});
}

enum { SWEEP_HEAD = 2, SWEEP_FIELDS = 3 }; // answers before the plans outside the queue; of each

static void on_swept (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_swept answer = {.reply = reply};
    const char *error;
    answer.result = reply_result (reply, &error);
    if (answer.result == STORE_DONE && reply_is_array (reply, SWEEP_HEAD)) {
        ident_parse (reply_text (reply->element[0]), &answer.last);
        answer.repaired = reply_number (reply->element[1]);
        answer.count = (reply->elements - SWEEP_HEAD) / SWEEP_FIELDS;
    }
    ((store_swept_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_sweep (struct store *self, uint64_t after, int64_t limit, store_swept_fn *reply,
                  void *owner)
{
    char id[IDENT_SIZE] = "", count[24], age[24];
    if (after)
        id_digits (after, id);
    snprintf (count, sizeof count, "%" PRId64, limit);
    snprintf (age, sizeof age, "%" PRId64, self->bounds.history_age_s);
    const struct span args[] = {span_text (KEY_TIME_SET), span_text (KEY_INDEX),
                                span_text (KEY_HISTORY),  span_text (KEY_RUNS),
                                span_text (id),           span_text (count),
                                span_text (age)};
    if (!after)
        store_outputs_trim (self);
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_SWEEP,
                               .repeat = LINK_ONCE,
                               .keys = 4,
                               .args = args,
                               .count = sizeof args / sizeof *args,
                               .reply = on_swept,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
}

bool store_swept_at (const struct store_swept *swept, size_t index, struct store_outside *ret)
{
    redisReply *const *row = swept->reply->element + SWEEP_HEAD + SWEEP_FIELDS * index;
    struct span run = reply_text (row[2]);
    bool again;
    *ret = (struct store_outside){.message = reply_text (row[1])};
    run_parse (run, &ret->exec_id, &again);
    ret->given_up = run_without_status (run);
    return message_key_parse (reply_text (row[0]), &ret->station, &ret->plan_id);
}

// -- attending

static void on_attended (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store *self = ask->store;
    struct store_attended answer = {0};
    answer.result = reply_result (reply, &answer.error);
    if (answer.result == STORE_DONE && reply_is_array (reply, 5)) {
        struct span data = reply_text (reply->element[0]);
        answer.replaced = self->data[0] && !span_is (data, self->data);
        answer.lost = reply_number (reply->element[1]) == 1;
        answer.attending = reply_number (reply->element[2]);
        answer.stations = reply_number (reply->element[3]);
        answer.wrong = reply_text (reply->element[4]);
        snprintf (self->data, sizeof self->data, "%.*s", (int)data.size,
                  data.size ? (const char *)data.data : "");
        if (answer.replaced) // what was known is of other data
            self->seq = 0, self->epoch[0] = '\0', self->exec_id = 0;
    }
    ((store_attended_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_attend (struct store *self, store_attended_fn *reply, void *owner)
{
    char schema[8], seq[24], exec_id[24];
    snprintf (schema, sizeof schema, "%d", STORE_SCHEMA);
    snprintf (seq, sizeof seq, "%" PRId64, self->seq);
    snprintf (exec_id, sizeof exec_id, "%" PRIu64, self->exec_id);
    const struct span args[] = {
        span_text (KEY_META), span_text (KEY_ATTENDING), span_text (self->instance),
        span_text (schema),   span_text (self->data),    span_text (self->epoch),
        span_text (seq),      span_text (exec_id)};
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_ATTEND,
                               .repeat = LINK_ONCE,
                               .keys = 2,
                               .args = args,
                               .count = sizeof args / sizeof *args,
                               .reply = on_attended,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
}

// -- identities

static void on_identity (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_identity answer = {0};
    answer.result = reply_result (reply, &answer.error);
    if (answer.result == STORE_DONE && reply_is_array (reply, 2)) {
        answer.identity = reply_text (reply->element[0]);
        answer.used = reply_number (reply->element[1]) == 1;
    } else if (answer.result == STORE_DONE) {
        answer.result = STORE_ERROR;
        answer.error = ODD_ANSWER;
    }
    ((store_identity_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_identity (struct store *self, const struct store_identity_wish *wish,
                     store_identity_fn *reply, void *owner)
{
    const struct span args[] = {span_text (KEY_IDENTITIES), span_text (KEY_ATTENDING),
                                span_text (self->instance), span_text (wish->home),
                                span_text (wish->target),   span_text (wish->fresh),
                                span_text (wish->replaces)};
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_IDENTITY,
                               .repeat = LINK_REPEAT,
                               .keys = 2,
                               .args = args,
                               .count = sizeof args / sizeof *args,
                               .reply = on_identity,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
}
