// A job: what the user sees of it, and the calls that answer it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "codes.h"
#include "decimal.h"
#include "ident.h"
#include "json.h"
#include "settings.h"
#include "utf8.h"
#include "worker_private.h"

enum { PLAN_FRAME_MAX = 64 << 10 }; // a larger PLAN frame is not parsed

// -- reading

static const struct zplan_frame *find_frame (const struct zplan_job *job, uint8_t type)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->frames[i].type == type)
            return &job->frames[i];
    return NULL;
}

// The decimal Unix seconds in the text; -1: there are none.
static int64_t read_seconds (struct span text)
{
    char digits[24];
    int64_t seconds;
    if (text.size == 0 || text.size >= sizeof digits)
        return -1;
    memcpy (digits, text.data, text.size);
    digits[text.size] = '\0';
    return strlen (digits) == text.size && number_parse (digits, &seconds) ? seconds : -1;
}

static const char *member_text (const json_t *object, const char *field)
{
    const char *text = json_string_value (json_object_get (object, field));
    return text ? text : "";
}

static void write_idempotency_key (struct client_job *self)
{
    const struct zplan_job *job = &self->shown;
    char item[DECIMAL_SIZE + 1] = "", plan[IDENT_SIZE], *out = self->idempotency_key;
    if (job->item >= 0)
        snprintf (item, sizeof item, ".%" PRId64, job->item);
    int size = 0;
    if (*job->run)
        size = snprintf (out, IDEMPOTENCY_KEY_SIZE, "%s/%s%s:%" PRId64 "%s", job->run, job->step,
                         item, job->generation, job->undo ? ":undo" : "");
    else if (job->plan_id)
        size = snprintf (out, IDEMPOTENCY_KEY_SIZE, "%s@%" PRId64, ident_text (job->plan_id, plan),
                         job->plan_time_s);
    if (size <= 0 || size >= IDEMPOTENCY_KEY_SIZE) // a station sends no names that long
        *out = '\0';
    self->shown.idempotency_key = out;
}

void job_read_plan (struct client_job *self)
{
    struct zplan_job *job = &self->shown;
    // In an ordinary call the PLAN frame comes from the requester, not from a station.
    const json_t *call = job->plan_id ? json_object_get (self->plan, "flow") : NULL;
    job->title = member_text (self->plan, "description");
    job->traceparent = member_text (self->plan, "traceparent");
    job->run = member_text (call, "run");
    job->step = member_text (call, "step");
    job->item = -1;
    job->generation = 0;
    json_get_integer (call, "item", 0, INT64_MAX, &job->item);
    json_get_integer (call, "generation", 0, INT64_MAX, &job->generation);
    job->undo = json_is_true (json_object_get (call, "undo"));
    write_idempotency_key (self);
}

static void read_plan_frame (struct client_job *self)
{
    struct reason reason;
    struct span plan = message_frame (&self->message, ZERO_FRAME_PLAN, NULL);
    if (plan.size && plan.size <= PLAN_FRAME_MAX)
        self->plan = json_read_object (plan, &reason);
    job_read_plan (self);
    json_get_integer (self->plan, "deadline", 1, INT64_MAX, &self->shown.deadline_s);
}

void job_read (struct client_job *self)
{
    const struct message *message = &self->message;
    struct zplan_job *job = &self->shown;
    *job = (struct zplan_job){.count = message->desc.count};
    for (size_t i = 0; i < job->count; i++)
        job->frames[i] = (struct zplan_frame){message->desc.types[i], message->frames[i].data,
                                              message->frames[i].size};
    // The station appends its frames: the last one is its own.
    mailbox_parse (message->sender, &job->plan_id);
    ident_parse (message_last_frame (message, ZERO_FRAME_LOCAL_ID, NULL), &job->exec_id);
    job->plan_time_s = read_seconds (message_last_frame (message, ZERO_FRAME_PLAN_TIME, NULL));
    job->command = find_frame (job, ZERO_FRAME_COMMAND);
    job->context = find_frame (job, ZERO_FRAME_CONTEXT);
    job->argument = find_frame (job, ZERO_FRAME_ARG);
    if (!job->argument)
        job->argument = find_frame (job, ZERO_FRAME_CONTENT);
    job->json = find_frame (job, ZERO_FRAME_JSON);
    read_plan_frame (self);
}

// -- messages about the job

// Address a message with the job's mailbox and the run's id.
static void add_address (const struct client_job *self, struct message *message)
{
    bool given;
    struct span exec_id = message_last_frame (&self->message, ZERO_FRAME_LOCAL_ID, &given);
    if (given)
        message_add (message, ZERO_FRAME_LOCAL_ID, exec_id);
    message->envelope = self->message.envelope;
    message->sender = self->message.sender;
}

void job_build_answer (const struct client_job *self, struct message *ret)
{
    message_start (ret, self->status);
    if (*self->reason)
        message_add (ret, ZERO_FRAME_STATUS, span_text (self->reason));
    if (self->content_type)
        message_add (ret, self->content_type, span_of (self->content, self->content_size));
    add_address (self, ret);
}

void job_build_heartbeat (const struct client_job *self, struct message *ret)
{
    message_start (ret, ZERO_STATUS_WAITING_ID);
    if (*self->progress)
        message_add (ret, ZERO_FRAME_STATUS, span_text (self->progress));
    add_address (self, ret);
}

void job_set_answer (struct client_job *self, uint8_t status, const char *words)
{
    struct reason reason;
    self->state = JOB_ANSWERED;
    self->status = status;
    if (!words)
        return;
    reason_set (&reason, "%s", words); // cut at a character boundary
    snprintf (self->reason, sizeof self->reason, "%s: %s", status_word (status), reason.text);
}

void job_clear (struct client_job *self)
{
    json_decref (self->plan);
    packet_clear (&self->packet);
    free (self->content);
    free (self->fetch.bytes);
    free (self->fetch.report);
    self->shown = (struct zplan_job){0};
    memset ((char *)self + offsetof (struct client_job, state), 0,
            sizeof *self - offsetof (struct client_job, state));
}

// -- the user's calls

static struct client_job *job_of_user (struct zplan_job *job)
{
    return (struct client_job *)job;
}

// Lock the worker of a job that the user has. False, and not locked: the job is not in progress.
static bool lock_job (struct client_job *job)
{
    if (!job)
        return false;
    pthread_mutex_lock (&job->worker->lock);
    if (job->state == JOB_TAKEN)
        return true;
    pthread_mutex_unlock (&job->worker->lock);
    return false;
}

static void unlock_job (struct client_job *job)
{
    pthread_mutex_unlock (&job->worker->lock);
}

static bool is_final_status (uint8_t status)
{
    return status != 0 && status != ZERO_STATUS_WAITING_ID && status != ZERO_STATUS_RUNING_ID &&
           status != ZERO_STATUS_VOTE_START_ID && status != ZERO_STATUS_VOTE_SENDED_ID;
}

static bool is_valid_answer (const struct zplan_answer *answer)
{
    return answer && is_final_status (answer->status) && answer->content_size <= FRAME_BYTES_MAX &&
           (answer->content_size == 0 || (answer->content && answer->content_type));
}

int zplan_job_answer (struct zplan_job *shown, const struct zplan_answer *answer)
{
    struct client_job *job = job_of_user (shown);
    if (!job || !is_valid_answer (answer) ||
        (job->worker->pull && !fetch_result_fits (answer->content_type,
                                                  span_of (answer->content, answer->content_size))))
        return ZPLAN_ERROR_ARGUMENT;
    void *content = NULL;
    if (answer->content_size) {
        content = malloc (answer->content_size);
        if (!content)
            return ZPLAN_ERROR_MEMORY;
        memcpy (content, answer->content, answer->content_size);
    }
    if (!lock_job (job)) {
        free (content);
        return ZPLAN_ERROR_ARGUMENT;
    }
    job_set_answer (job, answer->status, answer->reason);
    job->content_type = answer->content_type;
    job->content = content;
    job->content_size = answer->content_size;
    unlock_job (job);
    worker_wake (job->worker);
    if (answer->release)
        answer->release ((void *)(uintptr_t)answer->content);
    return ZPLAN_OK;
}

int zplan_job_fail (struct zplan_job *shown, const char *words)
{
    const struct zplan_answer answer = {.status = ZERO_STATUS_FAILED_ID, .reason = words};
    return zplan_job_answer (shown, &answer); // without content it needs no memory
}

// Write the percentage and as much of the text as fits, in whole characters. False: invalid UTF-8.
static bool write_progress_text (char out[ZPLAN_PROGRESS_MAX + 1], int percent, const char *words)
{
    size_t size = 0;
    if (!utf8_is_text (span_text (words)))
        return false;
    if (percent >= 0)
        size = (size_t)snprintf (out, ZPLAN_PROGRESS_MAX, "%d %%%s", percent, *words ? " " : "");
    struct span text = utf8_cut (span_text (words), ZPLAN_PROGRESS_MAX - size);
    out[span_put (out, size, text)] = '\0';
    return true;
}

int zplan_job_progress (struct zplan_job *shown, int percent, const char *words)
{
    struct client_job *job = job_of_user (shown);
    char text[ZPLAN_PROGRESS_MAX + 1];
    bool empty = percent < 0 && (!words || !*words);
    if (!job || percent < -1 || percent > 100 || empty ||
        !write_progress_text (text, percent, words ? words : "") || !lock_job (job))
        return ZPLAN_ERROR_ARGUMENT;
    bool wake = !job->progress_new;
    memcpy (job->progress, text, sizeof text);
    job->progress_new = true;
    unlock_job (job);
    if (wake)
        worker_wake (job->worker);
    return ZPLAN_OK;
}

bool zplan_job_cancelled (struct zplan_job *shown)
{
    struct client_job *job = job_of_user (shown);
    if (!lock_job (job))
        return false;
    bool cancelled = job->cancelled;
    unlock_job (job);
    return cancelled;
}

int zplan_job_cancel_words (struct zplan_job *shown, char *out, size_t size)
{
    struct client_job *job = job_of_user (shown);
    if (!out || size == 0 || !lock_job (job))
        return ZPLAN_ERROR_ARGUMENT;
    snprintf (out, size, "%s", job->cancel_words.text);
    unlock_job (job);
    return ZPLAN_OK;
}

bool zplan_job_lost (struct zplan_job *shown)
{
    struct client_job *job = job_of_user (shown);
    if (!lock_job (job))
        return false;
    bool lost = job->lost;
    unlock_job (job);
    return lost;
}
