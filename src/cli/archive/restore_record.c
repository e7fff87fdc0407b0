// Each type of record is a row of a table. Existing objects are not changed, so importing a file
// may be repeated.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "everything.h"
#include "json.h"
#include "memory.h"
#include "plan.h"
#include "print.h"
#include "restore_private.h"

enum { PART = 560 * 1024 }; // bytes of a frame

const char *const restore_type_names[TYPES] = {"target", "kind",    "limit",
                                               "flow",   "outcome", "plan"};

void restore_refuse (struct restore_state *self, int64_t line, struct span words)
{
    progress_clear (&self->progress);
    complain_line (self->name, line, words);
    self->refused++;
    if (self->stop_on_error)
        self->stopped = true;
}

static void refuse_record (struct restore_state *self, const char *text)
{
    restore_refuse (self, self->line, span_text (text));
}

// A request in flight.
struct restore_call {
    int64_t line;
    enum { RESTORE_COMMAND, RESTORE_CHECK, RESTORE_PLAN } question;
    json_t **answer; // of RESTORE_COMMAND: where to put the answer, NULL if it failed
};

// Send a request; restore_on_answer gets a copy of `call`.
static void send_call (struct restore_state *self, struct restore_call call, const char *word,
                       const char *const *args, size_t count)
{
    struct restore_call *sent = memory_copy (&call, sizeof call);
    if (!pipeline_manage (self->pipeline, word, args, count, sent))
        free (sent);
}

json_t *restore_request (struct restore_state *self, const char *const *words)
{
    json_t *answer = NULL;
    send_call (self, (struct restore_call){self->line, RESTORE_COMMAND, &answer}, words[0],
               words + 1, words_count (words + 1));
    pipeline_drain (self->pipeline);
    return answer;
}

void restore_count (struct restore_state *self, enum restore_type type, bool existing)
{
    int64_t *counts = existing ? self->existing : self->added;
    counts[type]++;
}

// -- targets

// Whether the station's target is the default one, and unused: then the file's target replaces it.
static bool is_unused_default (struct restore_state *self, const json_t *known)
{
    if (!span_is (field_text (known, "text"), "jobs=pull"))
        return false;
    const char *const list[] = {"list", "{\"station\": \"jobs\", \"limit\": 1}", NULL};
    json_t *answer = restore_request (self, list);
    bool unused = answer && json_array_size (json_object_get (answer, "plans")) == 0;
    json_decref (answer);
    return unused;
}

// Restore a target. Only targets that were added at run time are added here; those of the settings
// or of a center must come from there.
static void restore_target (struct restore_state *self, const json_t *record)
{
    const char *name = json_string_value (json_object_get (record, "name"));
    const char *text = json_string_value (json_object_get (record, "text"));
    const char *origin = json_string_value (json_object_get (record, "origin"));
    if (!name || !text || !origin) {
        refuse_record (self, "target: want name, text and origin");
        return;
    }
    const json_t *known = json_object_get (self->known[TARGETS], name);
    bool same = json_equal (json_object_get (known, "text"), json_object_get (record, "text"));
    if (known && (same || strcmp (origin, "added") != 0)) {
        restore_count (self, TARGETS, true);
        return;
    }
    if (known && !is_unused_default (self, known)) {
        refuse_record (self, "target: there is another one with this name; remove it, or leave it");
        return;
    }
    if (strcmp (origin, "added") != 0) {
        json_object_set_new (self->missing, name, json_integer (0));
        return;
    }
    json_t *answer = self->dry_run
                         ? json_object ()
                         : restore_request (self, (const char *[]){"station", "add", text, NULL});
    if (!answer)
        return;
    json_decref (answer);
    json_object_set (self->known[TARGETS], name, (json_t *)(uintptr_t)record);
    restore_count (self, TARGETS, false);
    if (field_is_true (record, "key")) {
        char words[1400];
        progress_clear (&self->progress);
        snprintf (words, sizeof words,
                  "target %.64s: its key is a secret, and is not in the file; set it again: zplan "
                  "target add '%.1023s,key=KEY'",
                  name, text);
        complain (NULL, span_text (words));
    }
}

// -- kinds and limits

// Restore a kind or a limit: a name and an object.
static void restore_named (struct restore_state *self, const json_t *record)
{
    bool is_kind = span_is (field_text (record, "type"), "kind");
    enum restore_type type = is_kind ? KINDS : LIMITS;
    const char *field = is_kind ? "fields" : "limit";
    const char *name = json_string_value (json_object_get (record, "name"));
    json_t *object = json_object_get (record, field);
    char text[REASON_MAX];
    if (!name || !json_is_object (object)) {
        snprintf (text, sizeof text, "%s: want name and %s", restore_type_names[type], field);
        refuse_record (self, text);
        return;
    }
    const json_t *existing = json_object_get (self->known[type], name);
    if (existing && !json_equal (existing, object)) {
        snprintf (text, sizeof text,
                  "%s: there is another one named %.100s; remove it, or leave it",
                  restore_type_names[type], name);
        refuse_record (self, text);
        return;
    }
    char *json = json_write (object);
    const char *const words[] = {restore_type_names[type], is_kind ? "put" : "set", name, json,
                                 NULL};
    json_t *answer = existing || self->dry_run ? json_object () : restore_request (self, words);
    free (json);
    if (answer)
        restore_count (self, type, existing != NULL);
    json_decref (answer);
}

// -- plans

static void handle_plan_answer (struct restore_state *self, const struct restore_call *sent,
                                const struct verdict *verdict, const struct zplan_reply *reply)
{
    struct reason ignored;
    bool is_check = sent->question == RESTORE_CHECK;
    if (is_check && reply->status == ZERO_STATUS_NOT_FIND_ID) {
        restore_count (self, PLANS, false);
    } else if (verdict->code == EXIT_DONE) {
        json_t *answer = json_read_object (call_frame (reply, ZERO_FRAME_JSON), &ignored);
        restore_count (self, PLANS, is_check || field_number (answer, "restored") == 0);
        json_decref (answer);
    } else {
        restore_refuse (self, sent->line, verdict_text (verdict));
    }
}

void restore_on_answer (void *owner, void *item, int outcome, const struct zplan_reply *reply)
{
    struct restore_state *self = owner;
    struct restore_call *sent = item;
    struct reason ignored;
    struct verdict verdict = call_verdict (self->cli, outcome, reply);
    if (verdict.code == EXIT_NO_ANSWER) {
        self->failure = verdict;
        self->code = EXIT_NO_ANSWER;
    } else if (outcome != ZPLAN_OK ||
               (sent->question == RESTORE_COMMAND && verdict.code != EXIT_DONE)) {
        restore_refuse (self, sent->line, verdict_text (&verdict));
    } else if (sent->question == RESTORE_COMMAND) {
        struct span text = call_frame (reply, ZERO_FRAME_JSON);
        json_t *answer = text.size ? json_read_object (text, &ignored) : NULL;
        *sent->answer = answer ? answer : json_object ();
    } else {
        handle_plan_answer (self, sent, &verdict, reply);
    }
    self->stopped = self->stopped || verdict.code == EXIT_NO_ANSWER || verdict_is_common (&verdict);
    self->unknown = self->unknown || verdict.code == EXIT_NO_ANSWER ||
                    verdict.status == ZERO_STATUS_NET_ERROR_ID;
    free (sent);
}

// With --hold a plan is restored as paused. A plan that was not queued is not marked as held, as
// `reset --held` must not queue it.
static void pause_plan (json_t *plan)
{
    int64_t state = field_number (plan, "plan_state");
    if (state >= PLAN_PAUSE && state <= PLAN_CLOSE) {
        json_object_del (plan, "held");
        return;
    }
    json_object_set_new (plan, "plan_state", json_integer (PLAN_PAUSE));
    json_object_set_new (plan, "held", json_integer (1));
}

// Send a plan, in several frames if it is larger than one.
static void send_plan (struct restore_state *self, const char *text)
{
    const char *args[ZPLAN_MANAGE_ARGS_MAX] = {"plan"};
    size_t count = 1, size = strlen (text), at = 0;
    for (; at < size && count < ZPLAN_MANAGE_ARGS_MAX; at += PART)
        args[count++] = strndup (text + at, PART);
    if (at < size)
        refuse_record (self, "plan: is too large to be restored; submit it again");
    else
        send_call (self, (struct restore_call){self->line, RESTORE_PLAN, NULL}, "restore", args,
                   count);
    for (size_t i = 1; i < count; i++)
        free ((char *)(uintptr_t)args[i]);
}

static void restore_plan (struct restore_state *self, const json_t *record)
{
    json_t *plan = json_object_get (record, "plan");
    const char *target = json_string_value (json_object_get (plan, "station"));
    restore_send_outcomes (self); // before the plan can run
    if (!json_is_object (plan) || !target) {
        refuse_record (self, "plan: want an object with its station");
        return;
    }
    if (!json_object_get (self->known[TARGETS], target)) {
        json_int_t waits = field_number (self->missing, target);
        json_object_set_new (self->missing, target, json_integer (waits + 1));
        return;
    }
    if (self->dry_run) { // only check whether it exists
        char id[24];
        snprintf (id, sizeof id, "%" PRIx64, (uint64_t)field_number (plan, "plan_id"));
        send_call (self, (struct restore_call){self->line, RESTORE_CHECK, NULL}, "message",
                   (const char *[]){id}, 1);
        return;
    }
    if (self->hold)
        pause_plan (plan);
    char *text = json_write (plan);
    send_plan (self, text);
    free (text);
}

// -- a line

static void check_header (struct restore_state *self, const json_t *record)
{
    char text[REASON_MAX];
    int64_t format = field_number (record, "format");
    if (format == EVERYTHING_FORMAT)
        return;
    snprintf (text, sizeof text,
              "format: want %d, got %" PRId64 "; it was written by another zplan",
              EVERYTHING_FORMAT, format);
    refuse_record (self, text);
    self->stopped = true;
}

static void note_last_line (struct restore_state *self, const json_t *record)
{
    (void)record;
    self->ended = true;
}

void restore_line (struct restore_state *self, const char *text)
{
    static const struct {
        const char *type;
        void (*take) (struct restore_state *self, const json_t *record);
    } rows[] = {{"everything", check_header},   {"target", restore_target},
                {"kind", restore_named},        {"limit", restore_named},
                {"flow", restore_flow_version}, {"outcome", restore_outcome},
                {"plan", restore_plan},         {"end", note_last_line}};
    struct reason reason;
    self->text = text;
    json_t *record = json_read_object (span_text (text), &reason);
    const char *type = json_string_value (json_object_get (record, "type"));
    size_t i = 0;
    while (type && i < sizeof rows / sizeof *rows && strcmp (rows[i].type, type) != 0)
        i++;
    if (type && i < sizeof rows / sizeof *rows)
        rows[i].take (self, record);
    else
        refuse_record (self, record ? "type: want one of everything, target, kind, limit, flow, "
                                      "outcome, plan, end"
                                    : reason.text);
    json_decref (record);
    progress_step (&self->progress,
                   (size_t)(self->added[PLANS] + self->existing[PLANS] + self->added[OUTCOMES] +
                            self->existing[OUTCOMES]),
                   0);
}
