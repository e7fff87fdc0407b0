// Reads and trims the history of outcomes, removes outcomes, and restores archived ones. Trims
// their outputs, too.
#include <inttypes.h>
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
    // A NUL within the text makes it invalid.
    return end == copy + text.size && (*ret_seq || *ret_sub) && *ret_seq < INT64_MAX &&
           *ret_sub < INT64_MAX;
}

// An answer of history.lua: elements before the outcomes; elements of each outcome.
enum { HISTORY_HEAD = 5, ENTRY_FIELDS = 6 };

// Set when the run began and ended. Its exec_id is the microsecond in which it began, or the next
// free number after that.
static void set_run_times (json_t *run, int64_t ended_ms)
{
    int64_t started_ms = json_integer_value (json_object_get (run, "exec_id")) / 1000;
    if (started_ms > ended_ms)
        started_ms = ended_ms;
    json_object_set_new (run, "fired", json_real ((double)started_ms / 1000));
    json_object_set_new (run, "ended", json_real ((double)ended_ms / 1000));
}

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
    uint64_t exec_id = (uint64_t)json_integer_value (json_object_get (run, "exec_id"));
    json_t *output = output_json (reply_text (row->element[5]), exec_id);
    if (output)
        json_object_set_new (run, "output", output);
    json_object_set_new (run, "entry", json_from_frame (reply_text (row->element[0])));
    json_object_set_new (run, "seq", json_integer (sub == 0 ? (json_int_t)seq : 0));
    json_object_set_new (run, "plan", json_from_frame (reply_text (row->element[1])));
    json_object_set_new (run, "station", json_from_frame (reply_text (row->element[2])));
    set_run_times (run, reply_number (row->element[3]));
    return run;
}

// -- the last failures of a plan: a list of "ENDED_MS RECORD", the latest first

enum { FAILURES_MAX = 5 };

json_t *store_failures_json (const struct store_loaded *answer)
{
    json_t *failures = json_array ();
    size_t count =
        answer->failures && reply_is_array (answer->failures, 0) ? answer->failures->elements : 0;
    for (size_t i = 0; i < count; i++) {
        struct span text = reply_text (answer->failures->element[i]);
        const uint8_t *blank = text.size ? memchr (text.data, ' ', text.size) : NULL;
        if (!blank)
            continue;
        struct span record = span_of (blank + 1, (size_t)(text.data + text.size - blank - 1));
        struct reason reason;
        json_t *run = pack_read_object (record, &reason);
        if (!run)
            continue;
        set_run_times (run, strtoll ((const char *)text.data, NULL, 10));
        json_array_append_new (failures, run);
    }
    return failures;
}

void store_add_failure (struct store *self, struct span station, uint64_t plan_id, int64_t ended_ms,
                        struct span record)
{
    struct span key = PLAN_KEY (KEY_FAILED, station, plan_id);
    enum { TIME_SIZE = 32 };
    char *text = memory_new (record.size + TIME_SIZE);
    size_t size = (size_t)snprintf (text, TIME_SIZE, "%" PRId64 " ", ended_ms);
    memcpy (text + size, record.data, record.size);
    store_put (self, WORDS (TEXT ("LPUSH"), key, span_of (text, size + record.size)));
    store_put (self, WORDS (TEXT ("LTRIM"), key, TEXT ("0"), NUMBER (FAILURES_MAX - 1)));
    free (text);
}

// -- reading

static void on_history (void *owner, const redisReply *reply)
{
    struct store_caller *caller = owner;
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
    ((store_history_fn *)caller->reply) (caller->owner, &answer);
    free (caller);
}

void store_history (struct store *self, const struct history_filter *filter,
                    store_history_fn *reply, void *owner)
{
    char from[48] = "", plan[IDENT_SIZE] = "";
    if (!filter->from_end)
        snprintf (from, sizeof from, "%" PRIu64 "-%" PRIu64, filter->seq, filter->sub);
    if (filter->plan_id)
        ident_text (filter->plan_id, plan);
    store_run_script (self, SCRIPT_HISTORY, 3,
                      WORDS (TEXT (filter->callbacks ? KEY_HISTORY_CALLBACKS : KEY_HISTORY),
                             TEXT (KEY_META), TEXT (KEY_OUTPUT), TEXT (from),
                             NUMBER (filter->limit), TEXT (filter->newest ? "1" : "0"), TEXT (plan),
                             TEXT (filter->station), TEXT (filter->output ? "1" : ""),
                             NUMBER_OR_EMPTY ((int64_t)filter->flow_run), TEXT (filter->statuses),
                             NUMBER_OR_EMPTY (filter->from_ms), NUMBER_OR_EMPTY (filter->to_ms)),
                      on_history, store_caller_new (self, (void (*) (void))reply, owner));
}

// -- forgetting

enum { FORGOT_FIELDS = 2 };

// Answer with the number of outcomes removed, or with the current epoch if it differs.
static void on_forgot (void *owner, const redisReply *reply)
{
    struct store_caller *caller = owner;
    struct store_forgot answer = {0};
    answer.result = reply_result (reply, &answer.error);
    if (answer.result == STORE_DONE && reply_is_array (reply, FORGOT_FIELDS)) {
        bool same = reply_number (reply->element[0]) == 1;
        answer.result = same ? STORE_DONE : STORE_CHANGED;
        answer.count = same ? reply_number (reply->element[1]) : 0;
        answer.epoch = reply_text (reply->element[1]);
    }
    ((store_forgot_fn *)caller->reply) (caller->owner, &answer);
    free (caller);
}

void store_forget (struct store *self, const char *epoch, const char *station, struct span entries,
                   store_forgot_fn *reply, void *owner)
{
    store_run_script (self, SCRIPT_FORGET, 3,
                      WORDS (TEXT (KEY_HISTORY), TEXT (KEY_META), TEXT (KEY_OUTPUT), TEXT (epoch),
                             TEXT (station), entries),
                      on_forgot, store_caller_new (self, (void (*) (void))reply, owner));
}

// -- restoring

void store_restore (struct store *self, const struct store_restored_outcome *outcomes, size_t count,
                    store_done_fn *reply, void *owner)
{
    for (size_t i = 0; i < count; i++) {
        const struct store_restored_outcome *outcome = &outcomes[i];
        core_outcome (self->core, span_text (outcome->station), outcome->plan_id, outcome->ended_ms,
                      outcome->record, outcome->output);
        store_count_output (self, outcome->output.size);
    }
    store_reply_when_written (self, WAITER_CLIENT, reply, owner);
}

// -- deletion of outcomes that are too old, from the oldest on

enum { DELETED_AT_ONCE = 10 }; // outcomes that are deleted in one step

static void on_old_deleted (void *owner, enum store_result result, const char *error);

// Delete those of the oldest outcomes that are too old. If all are, continue with the next ones.
static void on_oldest_outcomes (void *owner, const redisReply *reply)
{
    struct store *self = owner;
    int64_t oldest_ms = store_now_us (self) / 1000 - self->bounds.history_age_s * 1000;
    size_t old = 0;
    for (size_t i = 0; reply_is_array (reply, 0) && i < reply->elements; i++) {
        const redisReply *entry = reply->element[i];
        struct span ended = {0};
        if (reply_is_array (entry, 2))
            ended = reply_text (reply_field (entry->element[1], "t"));
        if (!ended.size || strtoll ((const char *)ended.data, NULL, 10) >= oldest_ms)
            break;
        store_put (self, WORDS (TEXT ("XDEL"), TEXT (KEY_HISTORY), reply_text (entry->element[0])));
        old++;
    }
    if (old == DELETED_AT_ONCE)
        store_reply_when_written (self, WAITER_SURE, on_old_deleted, self);
}

static void on_old_deleted (void *owner, enum store_result result, const char *error)
{
    (void)error;
    if (result == STORE_DONE)
        store_history_trim (owner);
}

// Trim the history of callbacks, where an entry's id is its time, so one command can trim by age.
static void on_oldest_callback (void *owner, const redisReply *reply)
{
    struct store *self = owner;
    int64_t oldest_ms = store_now_us (self) / 1000 - self->bounds.history_age_s * 1000;
    bool any = reply_is_array (reply, 1) && reply_is_array (reply->element[0], 1);
    if (!any || reply_number (reply->element[0]->element[0]) >= oldest_ms)
        return;
    store_put (self, WORDS (TEXT ("XTRIM"), TEXT (KEY_HISTORY_CALLBACKS), TEXT ("MINID"),
                            NUMBER (oldest_ms)));
}

void store_history_trim (struct store *self)
{
    store_get (self,
               WORDS (TEXT ("XRANGE"), TEXT (KEY_HISTORY), TEXT ("-"), TEXT ("+"), TEXT ("COUNT"),
                      NUMBER (DELETED_AT_ONCE)),
               on_oldest_outcomes, self);
    store_get (self,
               WORDS (TEXT ("XRANGE"), TEXT (KEY_HISTORY_CALLBACKS), TEXT ("-"), TEXT ("+"),
                      TEXT ("COUNT"), TEXT ("1")),
               on_oldest_callback, self);
}

// -- the outputs of all runs

void store_outputs_trim (struct store *self)
{
    self->output_written = 0;
    store_run_script (self, SCRIPT_OUTPUTS, 1,
                      WORDS (TEXT (KEY_OUTPUT), NUMBER (self->bounds.output_bytes),
                             NUMBER (self->bounds.output_age_s)),
                      store_ignore_reply, self); // after an error, the next sweep trims again
}

// Only Redis knows how much memory the outputs use, and a check costs more than a write. So it is
// checked after each eighth (TRIM_SHARE) of the limit that is written.
void store_count_output (struct store *self, size_t size)
{
    enum { TRIM_SHARE = 8 };
    self->output_written += (int64_t)size;
    if (self->output_written > self->bounds.output_bytes / TRIM_SHARE)
        store_outputs_trim (self);
}
