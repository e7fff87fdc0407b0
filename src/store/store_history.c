// The outcomes of runs, the stations that were added, the numbers.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "ident.h"
#include "json.h"
#include "memory.h"
#include "output.h"
#include "pack.h"
#include "store_private.h"

bool history_entry_parse (struct span text, uint64_t *ret_seq, uint64_t *ret_sub)
{
    char copy[48], *end;
    if (text.size < 3 || text.size >= sizeof copy || text.data[0] < '0' || text.data[0] > '9')
        return false;
    memcpy (copy, text.data, text.size);
    copy[text.size] = '\0';
    *ret_seq = strtoull (copy, &end, 10);
    if (*end != '-' || end[1] < '0' || end[1] > '9')
        return false;
    *ret_sub = strtoull (end + 1, &end, 10);
    // A NUL within the text is no end of it.
    return end == copy + text.size && (*ret_seq || *ret_sub) && *ret_seq < INT64_MAX &&
           *ret_sub < INT64_MAX;
}

enum { HISTORY_HEAD = 5, ENTRY_FIELDS = 6 }; // before the outcomes; of one

json_t *store_history_at (const struct store_history *answer, size_t index)
{
    const redisReply *row = answer->reply->element[HISTORY_HEAD + index];
    struct reason reason;
    uint64_t seq, sub;
    if (!reply_is_array (row, ENTRY_FIELDS) ||
        !history_entry_parse (reply_text (row->element[0]), &seq, &sub))
        return NULL;
    json_t *run = pack_read_object (reply_text (row->element[4]), &reason);
    if (!run)
        return NULL;
    // exec_id is the microsecond in which the run began, or a number that was free behind it.
    int64_t ended_ms = reply_number (row->element[3]);
    uint64_t exec_id = (uint64_t)json_integer_value (json_object_get (run, "exec_id"));
    int64_t fired_ms = (int64_t)(exec_id / 1000);
    if (fired_ms > ended_ms)
        fired_ms = ended_ms;
    json_t *output = output_json (reply_text (row->element[5]), exec_id);
    if (output)
        json_object_set_new (run, "output", output);
    json_object_set_new (run, "entry", json_from_frame (reply_text (row->element[0])));
    json_object_set_new (run, "seq", json_integer (sub == 0 ? (json_int_t)seq : 0));
    json_object_set_new (run, "plan", json_from_frame (reply_text (row->element[1])));
    json_object_set_new (run, "station", json_from_frame (reply_text (row->element[2])));
    json_object_set_new (run, "fired", json_real ((double)fired_ms / 1000));
    json_object_set_new (run, "ended", json_real ((double)ended_ms / 1000));
    return run;
}

// -- the question

static void on_history (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_history answer = {.reply = reply};
    answer.result = reply_result (reply, &answer.error);
    if (answer.result == STORE_DONE && reply_is_array (reply, HISTORY_HEAD)) {
        answer.seq = reply_number (reply->element[0]);
        answer.epoch = reply_text (reply->element[1]);
        if (!history_entry_parse (reply_text (reply->element[2]), &answer.first_seq,
                                  &answer.first_sub))
            answer.first_seq = answer.first_sub = 0;
        answer.next = reply_text (reply->element[3]);
        answer.forgot = reply_number (reply->element[4]);
        answer.count = reply->elements - HISTORY_HEAD;
    }
    ((store_history_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_history (struct store *self, const struct history_filter *filter,
                    store_history_fn *reply, void *owner)
{
    char from[48] = "", limit[24], plan[IDENT_SIZE] = "";
    if (!filter->from_end)
        snprintf (from, sizeof from, "%" PRIu64 "-%" PRIu64, filter->seq, filter->sub);
    snprintf (limit, sizeof limit, "%" PRId64, filter->limit);
    if (filter->plan_id)
        ident_text (filter->plan_id, plan);
    const struct span args[] = {
        span_text (KEY_HISTORY),
        span_text (KEY_META),
        span_text (from),
        span_text (limit),
        span_text (filter->newest ? "1" : "0"),
        span_text (plan),
        span_text (filter->station),
        span_text (filter->output ? "1" : ""),
    };
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_HISTORY,
                               .repeat = LINK_ONCE,
                               .keys = 2,
                               .args = args,
                               .count = sizeof args / sizeof *args,
                               .reply = on_history,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
}

// -- taking out

enum { FORGOT_FIELDS = 2 };

static void on_forgot (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_forgot answer = {0};
    answer.result = reply_result (reply, &answer.error);
    if (answer.result == STORE_DONE && reply_is_array (reply, FORGOT_FIELDS)) {
        bool same = reply_number (reply->element[0]) == 1;
        answer.result = same ? STORE_DONE : STORE_CHANGED;
        answer.count = same ? reply_number (reply->element[1]) : 0;
        answer.epoch = reply_text (reply->element[1]);
    }
    ((store_forgot_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_forget (struct store *self, const char *epoch, const char *station, struct span entries,
                   store_forgot_fn *reply, void *owner)
{
    const struct span args[] = {span_text (KEY_HISTORY), span_text (KEY_META), span_text (epoch),
                                span_text (station), entries};
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_FORGET,
                               .repeat = LINK_ONCE,
                               .keys = 2,
                               .args = args,
                               .count = sizeof args / sizeof *args,
                               .reply = on_forgot,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
}

// -- putting in

static void on_restored (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    const char *error;
    enum store_result result = reply_result (reply, &error);
    ((store_done_fn *)ask->reply) (ask->owner, result, error);
    free (ask);
}

void store_restore (struct store *self, const struct store_restored_outcome *outcomes, size_t count,
                    store_done_fn *reply, void *owner)
{
    enum { FIELDS = 5 };
    struct texts {
        char id[IDENT_SIZE], ended[24];
    } *texts = memory_new ((count + 1) * sizeof *texts);
    struct span *args = memory_new ((1 + FIELDS * count) * sizeof *args);
    size_t outputs = 0;
    char keep[24];
    snprintf (keep, sizeof keep, "%" PRId64, self->bounds.history_count);
    args[0] = span_text (keep);
    for (size_t i = 0; i < count; i++) {
        struct span *at = args + 1 + FIELDS * i;
        snprintf (texts[i].ended, sizeof texts[i].ended, "%" PRId64, outcomes[i].ended_ms);
        at[0] = span_text (outcomes[i].station);
        at[1] = span_text (ident_text (outcomes[i].plan_id, texts[i].id));
        at[2] = span_text (texts[i].ended);
        at[3] = outcomes[i].record;
        at[4] = outcomes[i].output;
        outputs += outcomes[i].output.size;
    }
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_RESTORE,
                               .repeat = LINK_ONCE,
                               .args = args,
                               .count = 1 + FIELDS * count,
                               .reply = on_restored,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
    store_outputs_written (self, outputs);
    free (args);
    free (texts);
}

// -- stations

static void on_stations (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_stations answer = {.reply = reply};
    answer.result = reply_result (reply, &answer.error);
    ((store_stations_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_stations (struct store *self, const char *name, const char *text,
                     enum link_repeat repeat, store_stations_fn *reply, void *owner)
{
    const struct span args[] = {span_text (KEY_STATIONS), span_text (name ? name : ""),
                                span_text (text ? text : "")};
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_STATIONS,
                               .repeat = repeat,
                               .keys = 1,
                               .args = args,
                               .count = 1 + (size_t)(name != NULL) + (size_t)(text != NULL),
                               .reply = on_stations,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
}

bool store_station_at (const struct store_stations *answer, size_t index, struct span *ret_name,
                       struct span *ret_text)
{
    const redisReply *reply = answer->reply;
    if (!reply || reply->type != REDIS_REPLY_ARRAY || 2 * index + 1 >= reply->elements)
        return false;
    *ret_name = reply_text (reply->element[2 * index]);
    *ret_text = reply_text (reply->element[2 * index + 1]);
    return true;
}

// -- numbers

enum { STATS_FIELDS = 9 };

static void on_stats (void *owner, const redisReply *reply)
{
    struct ask *ask = owner;
    struct store_stats answer = {0};
    answer.result = reply_result (reply, &answer.error);
    if (answer.result == STORE_DONE && reply_is_array (reply, STATS_FIELDS)) {
        int64_t *const numbers[] = {&answer.plans,   &answer.queued,   &answer.due,
                                    &answer.running, &answer.outcomes, &answer.seq};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            *numbers[i] = reply_number (reply->element[i]);
        answer.epoch = reply_text (reply->element[6]);
        struct span next = reply_text (reply->element[7]);
        answer.next = next.size ? strtod ((const char *)next.data, NULL) : 0;
        answer.next = fmin (fmax (answer.next, 0), (double)SCHEDULE_TIME_MAX);
        answer.memory = reply_number (reply->element[8]);
    }
    ((store_stats_fn *)ask->reply) (ask->owner, &answer);
    free (ask);
}

void store_stats (struct store *self, store_stats_fn *reply, void *owner)
{
    const struct span args[] = {span_text (KEY_TIME_SET), span_text (KEY_INDEX),
                                span_text (KEY_RUNS), span_text (KEY_HISTORY),
                                span_text (KEY_META)};
    link_call (self->link, &(struct link_call){
                               .script = SCRIPT_STATS,
                               .repeat = LINK_ONCE,
                               .keys = 5,
                               .args = args,
                               .count = sizeof args / sizeof *args,
                               .reply = on_stats,
                               .owner = ask_new (self, (void (*) (void))reply, owner),
                           });
}
