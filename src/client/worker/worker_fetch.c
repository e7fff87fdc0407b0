// A worker's dialog with a station whose pull target's plans it fetches (proto/pull.md):
// `take` requests as many jobs as there are free slots, and waits at the station; `alive` follows
// for each job in progress, and `report` when it is answered.
//
// A job has one request in flight at a time. An unanswered request is resent, reports before the
// next take. The station counts a repeated report once, so a job is over for both sides before the
// station can give it out, even if the answer to its report was lost. While the station is away,
// the jobs continue, and their reports wait.
//
// A worker that leaves ends its waiting take with a take of no jobs, or the station could still
// give it a job. A job that still arrives is released, as it was not begun.
#include <stdio.h>
#include <stdlib.h>

#include "client_private.h"
#include "clock.h"
#include "codes.h"
#include "json.h"
#include "worker_private.h"

enum {
    TAKE_WAIT_S = 5,
    ANSWER_MS = 5000,
    ALIVE_US = 5000000,       // between two heartbeats of a job; replies report cancellation
    PROGRESS_US = 1000000,    // between two reports of a job's progress
    RETRY_US = 1000000,       // until a request that was rejected for now is retried
    LAST_ANSWER_US = 1000000, // for the answer to the take of a worker that leaves
    TURN_US = 60000000
};

// -- sending

// Whether the request was rejected only for now (BUSY, NET_ERROR) and may be resent.
static bool is_temporary_rejection (uint8_t status)
{
    return status == ZERO_STATUS_BUSY_ID || status == ZERO_STATUS_NET_ERROR_ID;
}

static json_t *read_reply_json (const struct zplan_reply *reply)
{
    size_t size = 0;
    struct reason ignored;
    const void *text = zplan_reply_frame (reply, ZERO_FRAME_JSON, &size);
    return text ? json_read_object (span_of (text, size), &ignored) : NULL;
}

// Send a command with this JSON text. False: it cannot be sent now.
static bool send_command (struct zplan_worker *self, const char *command, const char *text,
                          zplan_reply_fn *fn, void *context)
{
    const struct zplan_frame frames[] = {{ZERO_FRAME_COMMAND, command, strlen (command)},
                                         {ZERO_FRAME_ARG, text, strlen (text)}};
    return zplan_client_send (self->client, ZERO_BYTE_COMMAND_NONE, frames, 2, fn, context) ==
           ZPLAN_OK;
}

// Send a command with these fields as JSON; takes their reference. False: it cannot be sent now.
static bool send_json_command (struct zplan_worker *self, const char *word, json_t *fields,
                               zplan_reply_fn *fn, void *context)
{
    char *text = json_write (fields);
    json_decref (fields);
    bool sent = send_command (self, word, text, fn, context);
    free (text);
    return sent;
}

// -- received jobs

// Decode the frames into the job's own bytes: mailbox, description, frames. False: they are
// invalid, or there is no memory.
static bool read_job_frames (struct client_job *self, const json_t *frames, uint64_t plan_id)
{
    char mailbox[MAILBOX_SIZE];
    size_t i, size, used = 0, room = MAILBOX_SIZE;
    const json_t *frame;
    struct span spans[MESSAGE_FRAMES_MAX];
    struct reason ignored;
    size_t count = json_array_size (frames);
    if (count == 0 || count >= MESSAGE_FRAMES_MAX)
        return false;
    json_array_foreach (frames, i, frame) room += json_frame_size (frame);
    uint8_t *bytes = self->fetch.bytes = malloc (room);
    if (!bytes)
        return false;
    mailbox_text (plan_id, mailbox);
    spans[0] = span_of (bytes, strlen (mailbox));
    memcpy (bytes, mailbox, strlen (mailbox));
    used = strlen (mailbox);
    json_array_foreach (frames, i, frame)
    {
        if (!json_to_frame (frame, bytes + used, &size))
            return false;
        spans[i + 1] = span_of (bytes + used, size);
        used += size;
    }
    return message_read (spans, count + 1, &self->message, &ignored) == 0;
}

// The seconds in this field, limited to 1 s..366 days, in microseconds.
static int64_t read_duration_us (const json_t *taken, const char *field)
{
    enum { SECONDS_MAX = 366 * 86400 };
    int64_t seconds = json_integer_value (json_object_get (taken, field));
    return (seconds < 1 ? 1 : seconds > SECONDS_MAX ? SECONDS_MAX : seconds) * 1000000;
}

static int64_t next_alive_us (int64_t now_us, int64_t ping_us)
{
    return now_us + (ping_us < ALIVE_US ? ping_us : ALIVE_US);
}

static bool has_job (const struct zplan_worker *self, const char *plan, const char *exec)
{
    for (size_t i = 0; i < self->job_count; i++) {
        const struct client_job *job = &self->jobs[i];
        if (job->state != JOB_FREE && strcmp (job->fetch.plan, plan) == 0 &&
            strcmp (job->fetch.exec, exec) == 0)
            return true;
    }
    return false;
}

static void read_fetched_job (struct client_job *job, const json_t *taken, uint64_t plan_id,
                              uint64_t exec_id)
{
    json_t *plan = json_object_get (taken, "plan");
    if (!read_job_frames (job, json_object_get (taken, "frames"), plan_id)) {
        job_set_answer (job, ZERO_STATUS_FAILED_ID, "the worker cannot read the job");
        return;
    }
    job_read (job);
    json_decref (job->plan);
    job->plan = json_incref (plan);
    job->shown.exec_id = exec_id;
    job->shown.deadline_s = 0;
    job->shown.plan_time_s = -1;
    json_get_integer (taken, "plan_time", 0, INT64_MAX, &job->shown.plan_time_s);
    job_read_plan (job);
}

static void accept_fetched_job (struct zplan_worker *self, const json_t *taken)
{
    uint64_t plan_id = 0, exec_id = 0;
    const char *plan = json_string_value (json_object_get (taken, "plan_id"));
    const char *exec = json_string_value (json_object_get (taken, "exec_id"));
    bool named = plan && exec && ident_parse (span_text (plan), &plan_id) &&
                 ident_parse (span_text (exec), &exec_id);
    struct client_job *job = worker_first (self, JOB_FREE);
    // Ignore an invalid job, one beyond the credit, and one that the worker has already.
    if (!named || worker_used_jobs (self) >= self->credit || has_job (self, plan, exec))
        return;
    int64_t now_us = clock_mono_us ();
    struct fetch_state *fetch = &job->fetch;
    snprintf (fetch->plan, sizeof fetch->plan, "%s", plan);
    snprintf (fetch->exec, sizeof fetch->exec, "%s", exec);
    fetch->timeout_us = read_duration_us (taken, "worker_timeout");
    fetch->accepted_us = now_us;
    fetch->due_us = next_alive_us (now_us, read_duration_us (taken, "ping_interval"));
    job->turn = ++self->turn;
    job->state = JOB_WAITING;
    if (atomic_load (&self->leave))
        job_set_answer (job, ZERO_STATUS_NOT_WORKER_ID, "the worker leaves");
    else
        read_fetched_job (job, taken, plan_id, exec_id);
}

// -- requesting jobs

static void on_taken (void *context, int error, const struct zplan_reply *reply)
{
    struct zplan_worker *self = context;
    int64_t now_us = clock_mono_us ();
    json_t *answer = error == ZPLAN_OK && reply->status < ZERO_STATUS_ERROR_FLAG
                         ? read_reply_json (reply)
                         : NULL;
    const json_t *jobs = json_object_get (answer, "jobs");
    self->taking = false;
    if (!json_is_array (jobs)) {
        char words[REASON_MAX];
        if (error == ZPLAN_OK && !self->leaving)
            worker_store_refusal (self, span_text (zplan_reply_words (reply, words, sizeof words)));
        self->unseen_change = self->unseen_change || self->joined;
        self->joined = false;
        self->take_us = error == ZPLAN_OK ? now_us + RETRY_US : now_us;
    } else {
        size_t i;
        const json_t *job;
        if (!self->joined) {
            self->joined = self->unseen_change = true;
            self->joins++;
            self->refusal.text[0] = '\0';
            self->take_us = now_us;
        }
        json_array_foreach (jobs, i, job) accept_fetched_job (self, job);
        if (json_array_size (jobs))
            self->take_us = now_us;
    }
    json_decref (answer);
}

static json_t *take_fields (const struct zplan_worker *self, size_t limit, int wait_s)
{
    return json_pack ("{s:s, s:s, s:I, s:i}", "station", self->pull, "worker", self->name, "limit",
                      (json_int_t)limit, "wait", wait_s);
}

// The first take of a connection does not wait: its reply shows that the station answers.
static void request_jobs (struct zplan_worker *self, int64_t now_us)
{
    size_t in_progress = worker_used_jobs (self);
    if (self->taking || self->leaving || in_progress >= self->credit || now_us < self->take_us)
        return;
    int wait_s = self->joined ? TAKE_WAIT_S : 0;
    zplan_client_set_timeout (self->client, ANSWER_MS + wait_s * 1000);
    self->taking = send_json_command (
        self, "take", take_fields (self, self->credit - in_progress, wait_s), on_taken, self);
    zplan_client_set_timeout (self->client, ANSWER_MS);
    self->take_us = now_us + RETRY_US; // unless jobs arrive; avoids a tight loop of requests
}

static void end_waiting_take (struct zplan_worker *self, int64_t now_us)
{
    if (worker_start_leaving (self) && self->taking) {
        self->leave_us = now_us + LAST_ANSWER_US;
        send_json_command (self, "take", take_fields (self, 0, 0), NULL, NULL);
    } else if (self->leave_us && now_us >= self->leave_us) {
        self->taking = false;
    }
}

// -- messages about jobs

static json_t *job_fields (const struct client_job *job)
{
    return json_pack ("{s:s, s:s, s:s}", "plan", job->fetch.plan, "worker", job->worker->name,
                      "exec_id", job->fetch.exec);
}

// Write a message about the job with more fields, whose reference is taken.
static char *write_job_message (const struct client_job *job, json_t *more)
{
    json_t *fields = job_fields (job);
    json_object_update (fields, more);
    char *text = json_write (fields);
    json_decref (fields);
    json_decref (more);
    return text;
}

static void on_alive (void *context, int error, const struct zplan_reply *reply)
{
    struct client_job *job = context;
    struct fetch_state *fetch = &job->fetch;
    int64_t now_us = clock_mono_us ();
    char words[REASON_MAX];
    fetch->in_flight = false;
    fetch->due_us = now_us + RETRY_US;
    if (error != ZPLAN_OK || is_temporary_rejection (reply->status))
        return;
    json_t *answer = reply->status < ZERO_STATUS_ERROR_FLAG ? read_reply_json (reply) : NULL;
    const char *stop = json_string_value (json_object_get (answer, "stop"));
    if (reply->status == ZERO_STATUS_NOT_FIND_ID)
        stop = zplan_reply_words (reply, words, sizeof words);
    if (stop) {
        fetch->over = true;
        worker_cancel (job->worker, job, span_text (stop));
        if (job->state == JOB_WAITING)
            job_clear (job);
    } else if (answer) {
        fetch->accepted_us = now_us;
        fetch->due_us = next_alive_us (now_us, read_duration_us (answer, "ping_interval"));
        fetch->timeout_us = read_duration_us (answer, "worker_timeout");
    }
    json_decref (answer);
}

static void send_alive (struct zplan_worker *self, struct client_job *job, int64_t now_us)
{
    json_t *fields = job_fields (job);
    if (job->progress_new) {
        json_object_set_new (fields, "progress", json_string (job->progress));
        job->reported_us = now_us;
        job->progress_new = false;
    }
    job->fetch.in_flight = send_json_command (self, "alive", fields, on_alive, job);
    job->fetch.due_us = now_us + RETRY_US; // the retry if it could not be sent
}

// Replace a rejected report by one of a failure. If the run is over the station rejects this one
// too; otherwise the content of the answer was the cause.
static void replace_report (struct client_job *job, const struct zplan_reply *reply)
{
    char words[REASON_MAX];
    struct reason reason; // cuts at a character boundary
    reason_set (&reason, "the station rejects the report: %s",
                zplan_reply_words (reply, words, sizeof words));
    free (job->fetch.report);
    job->fetch.report = write_job_message (
        job, json_pack ("{s:s, s:o*}", "state", "fail", "reason", json_string (reason.text)));
    job->fetch.replaced = true;
}

// The job is over when its report is accepted or rejected permanently. A denied report is retried,
// since the key may be allowed later.
static void on_reported (void *context, int error, const struct zplan_reply *reply)
{
    struct client_job *job = context;
    struct fetch_state *fetch = &job->fetch;
    int64_t now_us = clock_mono_us ();
    bool answered = error == ZPLAN_OK;
    bool temporary = answered && (is_temporary_rejection (reply->status) ||
                                  reply->status == ZERO_STATUS_DENY_ID);
    bool replace = answered && reply->status == ZERO_STATUS_MANAGE_ARG_ERROR_ID &&
                   !fetch->replaced && job->status != ZERO_STATUS_NOT_WORKER_ID;
    if (replace)
        replace_report (job, reply);
    fetch->in_flight = false;
    fetch->over = answered && !temporary && !replace;
    fetch->due_us = temporary ? now_us + RETRY_US : now_us;
}

// The content as JSON, a new reference: JSON unchanged, anything else as a string or {"b64": text}.
// NULL: no content.
static json_t *content_as_json (uint8_t type, struct span content)
{
    json_t *value = NULL;
    if (type == ZERO_FRAME_JSON && content.size)
        value = json_loadb ((const char *)content.data, content.size, JSON_DECODE_ANY, NULL);
    return value || content.size == 0 ? value : json_from_frame (content);
}

bool fetch_result_fits (uint8_t type, struct span content)
{
    enum { WORST = 6 }; // bytes of JSON for one byte of the content
    if (type != ZERO_FRAME_JSON && content.size <= RESULT_MAX / WORST - 2)
        return true;
    json_t *value = content_as_json (type, content);
    size_t size = json_dumpb (value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
    bool fits = !value || (size > 0 && size <= RESULT_MAX && json_depth (value) < JSON_DEPTH_MAX);
    json_decref (value);
    return fits;
}

// A success or FAILED is reported by `state`, so its status word is cut from the reason; any other
// status word is kept as the reason, or at its start.
static char *write_report (const struct client_job *job)
{
    bool success = job->status < ZERO_STATUS_ERROR_FLAG;
    bool plain = success || job->status == ZERO_STATUS_FAILED_ID;
    const char *reason = job->reason;
    if (*reason && plain)
        reason += strlen (status_word (job->status)) + strlen (": ");
    else if (!plain && !*reason)
        reason = status_word (job->status);
    return write_job_message (
        job,
        json_pack ("{s:s, s:o*, s:o*}", "state", success ? "success" : "fail", "reason",
                   *reason ? json_string (reason) : NULL, "result",
                   content_as_json (job->content_type, span_of (job->content, job->content_size))));
}

static void report_job (struct zplan_worker *self, struct client_job *job, int64_t now_us)
{
    struct fetch_state *fetch = &job->fetch;
    bool release = job->status == ZERO_STATUS_NOT_WORKER_ID;
    if (!fetch->report)
        fetch->report = release ? write_job_message (job, json_pack ("{s:b}", "release", 1))
                                : write_report (job);
    fetch->in_flight =
        send_command (self, release ? "alive" : "report", fetch->report, on_reported, job);
    fetch->due_us = now_us + RETRY_US;
}

// When the next message about the job is due. For an answered job: at once, then the retry of its
// report.
static int64_t message_due_us (const struct client_job *job)
{
    const struct fetch_state *fetch = &job->fetch;
    int64_t progress_us = job->reported_us + PROGRESS_US;
    if (job->state == JOB_ANSWERED)
        return fetch->report && !fetch->over ? fetch->due_us : 0;
    if (fetch->over)
        return INT64_MAX;
    return job->progress_new && progress_us < fetch->due_us ? progress_us : fetch->due_us;
}

// Whether a leaving worker drops the unacknowledged report: the job's timeout has passed, so the
// station has given it to another worker.
static bool is_report_obsolete (const struct zplan_worker *self, const struct client_job *job,
                                int64_t now_us)
{
    const struct fetch_state *fetch = &job->fetch;
    return self->leaving && fetch->report && now_us - fetch->accepted_us > fetch->timeout_us;
}

static void send_job_messages (struct zplan_worker *self, int64_t now_us)
{
    for (size_t i = 0; i < self->job_count; i++) {
        struct client_job *job = &self->jobs[i];
        if (job->state == JOB_FREE || job->fetch.in_flight || now_us < message_due_us (job))
            continue;
        if (job->state != JOB_ANSWERED)
            send_alive (self, job, now_us);
        else if (job->fetch.over || is_report_obsolete (self, job, now_us))
            job_clear (job);
        else
            report_job (self, job, now_us);
    }
}

// -- the dialog

static int fetch_open (struct zplan_worker *self)
{
    self->client = client_new (self->endpoint, &self->keys);
    return self->client ? 0 : -1;
}

static void fetch_turn (struct zplan_worker *self)
{
    zplan_client_process (self->client);
    int64_t now_us = clock_mono_us ();
    end_waiting_take (self, now_us);
    send_job_messages (self, now_us);
    request_jobs (self, now_us);
}

static int64_t fetch_due_us (const struct zplan_worker *self)
{
    int64_t due_us = clock_mono_us () + TURN_US;
    if (!self->taking && !self->leaving && worker_used_jobs (self) < self->credit &&
        self->take_us < due_us)
        due_us = self->take_us;
    if (self->taking && self->leave_us && self->leave_us < due_us)
        due_us = self->leave_us;
    for (size_t i = 0; i < self->job_count; i++) {
        const struct client_job *job = &self->jobs[i];
        if (job->state != JOB_FREE && !job->fetch.in_flight && message_due_us (job) < due_us)
            due_us = message_due_us (job);
    }
    return due_us;
}

static bool fetch_poll_item (const struct zplan_worker *self, zmq_pollitem_t *item)
{
    *item = (zmq_pollitem_t){NULL, zplan_client_fd (self->client), ZMQ_POLLIN, 0};
    return true;
}

// Send the last messages: jobs that were not taken are reported as not begun, the others as failed.
// Nothing else uses the worker any more.
static void fetch_end (struct zplan_worker *self)
{
    int64_t end_us = clock_mono_us () + LAST_ANSWER_US, now_us;
    for (size_t i = 0; i < self->job_count; i++) {
        struct client_job *job = &self->jobs[i];
        if (job->state == JOB_WAITING)
            job_set_answer (job, ZERO_STATUS_NOT_WORKER_ID, "the worker has left");
        else if (job->state == JOB_TAKEN)
            job_set_answer (job, ZERO_STATUS_FAILED_ID, "the worker has left");
    }
    while ((now_us = clock_mono_us ()) < end_us) {
        zplan_client_process (self->client);
        end_waiting_take (self, now_us);
        send_job_messages (self, now_us);
        if (!self->taking && worker_used_jobs (self) == 0)
            break;
        zmq_pollitem_t item;
        fetch_poll_item (self, &item);
        zmq_poll (&item, 1, (long)((end_us - now_us + 999) / 1000));
    }
    zplan_client_destroy (&self->client);
}

const struct dialog dialog_fetch = {fetch_open, fetch_turn, fetch_due_us, fetch_poll_item,
                                    fetch_end};
