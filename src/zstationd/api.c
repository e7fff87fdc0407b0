// Invariant: an accepted job is answered exactly once, whatever happens to its worker; only a
// queued run that is cancelled, or whose deadline passes, has no further answer. No job waits while
// a worker that takes it is ready, so a new job never overtakes an older one of its command.
#include "answer.h"
#include "cancel.h"
#include "codes.h"
#include "frontend.h"
#include "backend.h"

// -- jobs

static struct span command_of (const struct job *job)
{
    return message_frame (&job->message, ZERO_FRAME_COMMAND, NULL);
}

// A worker takes no more jobs: fail the queued jobs that no other worker takes, which would wait
// forever. While the queue is being served, serve_queue does this at its end.
static void fail_stranded (struct target_server *station, const char *reason)
{
    if (workers_serving (&station->workers) && !station->workers.limited)
        return;
    station->has_stranded = station->serving;
    if (station->serving)
        return;
    for (struct job *job = TAILQ_FIRST (&station->queue.jobs), *next; job; job = next) {
        next = TAILQ_NEXT (job, place);
        if (workers_any_takes (&station->workers, command_of (job)))
            continue;
        job_queue_remove (&station->queue, job);
        answer_failed (station, &job, ZERO_STATUS_NOT_WORKER_ID, reason);
    }
}

// Give the job to the least recently used worker that takes it. A worker that cannot be reached is
// removed, and the next is tried. False: no such worker is ready; the job is still the caller's.
static bool give_to_worker (struct target_server *station, struct job *job)
{
    for (struct worker *worker; (worker = workers_next_for (&station->workers, command_of (job)));)
        if (backend_give_job (station, worker, job))
            return true;
    return false;
}

// Give queued jobs to workers that are ready. A job stays in the queue until a worker has it.
static void serve_queue (struct target_server *station)
{
    station->serving = true;
    struct job *job = TAILQ_FIRST (&station->queue.jobs);
    for (struct job *next; job && workers_next (&station->workers); job = next) {
        next = TAILQ_NEXT (job, place);
        if (deadline_past (job->deadline_s)) {
            job_queue_remove (&station->queue, job);
            frontend_drop_late_run (station, job);
        } else if (give_to_worker (station, job)) {
            job_queue_remove (&station->queue, job);
        }
    }
    station->serving = false;
    if (station->has_stranded)
        fail_stranded (station, "the last worker is gone");
}

// Why the job cannot be queued; NULL: it can.
static const char *find_reject_reason (const struct target_server *station, const struct job *job)
{
    if (station->workers.count == 0)
        return "no worker has joined";
    if (workers_serving (&station->workers) == 0)
        return "all workers are drained";
    if (!workers_any_takes (&station->workers, command_of (job)))
        return "no worker has joined for this command";
    if (station->queue.count >= (size_t)station->options.queue ||
        station->queue.bytes + job->size > STATION_BYTES_MAX)
        return "all workers are busy";
    return NULL;
}

// Handle a duplicate of a run, as after a takeover or a lease expiry: its job is not started twice.
// True: answered. False: it is not a duplicate, or its deadline is past; the caller handles it like
// a new run.
static bool renew_job (struct target_server *station, const struct target_request *request)
{
    struct job *job = job_find_duplicate (&station->runs, request->identity, &request->message);
    if (!job || deadline_past (run_deadline_s (&request->message)))
        return false;
    job_update_delivery (job, request->identity, &request->message);
    station->counts[COUNT_RENEWED]++;
    log_event (LEVEL_INFO, "job.renewed", "mailbox=%s", quoted (job->mailbox));
    answer_job (station, job, ZERO_STATUS_RUNING_ID, NULL);
    return true;
}

static void start_job (struct target_server *station, const struct target_request *request)
{
    bool is_run = request->message.desc.code == ZERO_BYTE_COMMAND_PROXY;
    if (is_run && renew_job (station, request))
        return;
    struct job *job = frontend_make_job (station, request);
    if (!job)
        return;
    if (is_run && job->message.envelope == ENVELOPE_MAILBOX)
        job_add_to_runs (job, &station->runs);
    if (!give_to_worker (station, job)) {
        const char *reason = find_reject_reason (station, job);
        if (reason) {
            answer_failed (station, &job, ZERO_STATUS_NOT_WORKER_ID, reason);
            return;
        }
        job_queue_push (&station->queue, job);
    }
    // The worker's answer is read in a later turn of the loop, so RUNING is sent first.
    if (is_run)
        answer_job (station, job, ZERO_STATUS_RUNING_ID, NULL);
}

// -- cancelling

// Cancel a queued job, which was not begun. zpland expects no answer to a cancelled run; the
// requester of a call does.
static void cancel_queued_job (struct target_server *station, const struct target_request *request,
                               struct job *job)
{
    struct reason reason;
    cancel_begin (station, request, job);
    job_queue_remove (&station->queue, job);
    if (job->is_run) {
        job_destroy (&job);
        return;
    }
    struct span words = message_frame (&request->message, ZERO_FRAME_STATUS, NULL);
    reason_set (&reason, "cancelled%s%.*s", words.size ? ": " : "", (int)words.size,
                words.size ? (const char *)words.data : "");
    answer_failed (station, &job, ZERO_STATUS_FAILED_ID, reason.text);
}

// Jobs in progress are tried first, as they are older than queued ones.
static void cancel_job (struct target_server *station, const struct target_request *request)
{
    struct worker *worker;
    struct job *job = cancel_find_in_progress (station, request, &worker);
    if (job) {
        if (cancel_begin (station, request, job))
            cancel_notify_worker (station, request, worker, job);
        return;
    }
    job = TAILQ_FIRST (&station->queue.jobs);
    while (job && !cancel_matches (request, job))
        job = TAILQ_NEXT (job, place);
    if (job)
        cancel_queued_job (station, request, job);
    else
        cancel_drop_stray (station, request);
}

// -- workers

static void worker_ready (struct target_server *station, struct worker *worker)
{
    (void)worker;
    serve_queue (station);
}

static void worker_answer (struct target_server *station, struct worker *worker, struct job *job,
                           struct message *answer)
{
    // A caller waits for one answer; only a plan's run has a lease to prolong.
    if (is_heartbeat (answer->desc.code)) {
        if (job->message.envelope == ENVELOPE_MAILBOX)
            answer_pass (station, job, answer, NULL);
        return;
    }
    workers_release_job (&station->workers, worker, job);
    station->counts[COUNT_ANSWERS]++;
    log_event (LEVEL_DEBUG, "job.done", "worker=%s mailbox=%s status=%02x", worker->name,
               quoted (job->mailbox), answer->desc.code);
    answer_pass (station, job, answer, NULL);
    job_destroy (&job);
    serve_queue (station);
}

// Report to the requester what happened to the worker that had its job.
static void fail_job (struct target_server *station, struct worker *worker, struct job *job,
                      const char *what)
{
    struct reason reason;
    reason_set (&reason, "worker %s %s", worker->name, what);
    answer_failed (station, &job, ZERO_STATUS_FAILED_ID, reason.text);
}

static void worker_broken (struct target_server *station, struct worker *worker, struct job *job)
{
    workers_release_job (&station->workers, worker, job);
    fail_job (station, worker, job, "sent a malformed answer");
    serve_queue (station);
}

static void worker_lost (struct target_server *station, struct worker *worker, struct job **jobs,
                         size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        fail_job (station, worker, jobs[i], what);
    fail_stranded (station, "the last worker is gone");
}

static void worker_drained (struct target_server *station, struct worker *worker)
{
    (void)worker;
    fail_stranded (station, "the last worker is drained");
}

static void drain_queue (struct target_server *station)
{
    for (struct job *job; (job = job_queue_pop (&station->queue));)
        answer_failed (station, &job, ZERO_STATUS_NOT_WORKER_ID, "the station is stopped");
}

static bool api_busy (const struct target_server *station)
{
    return station->workers.jobs > 0;
}

const struct station_kind api_station = {
    .answers_max = 1000,
    .start = start_job,
    .cancel = cancel_job,
    .jobs_max = WORKER_JOBS_MAX,
    .by_command = true,
    .ready = worker_ready,
    .answer = worker_answer,
    .broken = worker_broken,
    .lost = worker_lost,
    .drained = worker_drained,
    .tick = backend_tick,
    .drain = drain_queue,
    .busy = api_busy,
    .stop = backend_stop,
};
