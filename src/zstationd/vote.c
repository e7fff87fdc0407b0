// Invariants: the answers to an opened ballot are VOTE_START, then one for each voter (its vote or
// VOTE_BYE), then VOTE_END; after a lost answer the rest is not sent. No ballot waits for a worker
// that is free.
#include <stdlib.h>

#include "answer.h"
#include "cancel.h"
#include "codes.h"
#include "frontend.h"
#include "json.h"
#include "backend.h"

// -- messages to the requester

// Forward a voter's message to the requester, unless an earlier answer was lost.
static void forward_answer (struct target_server *station, struct ballot_worker *voter,
                            struct message *answer)
{
    char name[VOTER_NAME_SIZE];
    struct worker_ballot *ballot = voter->ballot;
    if (!ballot->cut)
        ballot->cut = !answer_pass (station, ballot->job, answer, voter_name (voter, name));
}

static void forward_status (struct target_server *station, struct ballot_worker *voter,
                            uint8_t status, const char *what)
{
    char text[STATUS_TEXT_MAX];
    struct message answer;
    struct reason reason;
    reason_set (&reason, "worker %s %s", voter->worker->name, what);
    answer_start (&answer, status, reason.text, text);
    forward_answer (station, voter, &answer);
}

// Send VOTE_START, with the names of all voters.
static void send_vote_start (struct target_server *station, struct worker_ballot *ballot)
{
    char name[VOTER_NAME_SIZE];
    struct message answer;
    json_t *names = json_array ();
    for (size_t i = 0; i < ballot->count; i++)
        json_array_append_new (names, json_string (voter_name (&ballot->voters[i], name)));
    char *text = json_write (names);
    json_decref (names);
    message_start (&answer, ZERO_STATUS_VOTE_START_ID);
    message_add (&answer, ZERO_FRAME_JSON, span_text (text));
    ballot->cut = !answer_pass (station, ballot->job, &answer, NULL);
    free (text);
}

// Send VOTE_END, and close the ballot, which expects no more votes.
static void end_ballot (struct target_server *station, struct worker_ballot *ballot,
                        const char *reason)
{
    station->counts[COUNT_ANSWERS]++;
    if (!ballot->cut)
        answer_job (station, ballot->job, ZERO_STATUS_VOTE_END_ID, reason);
    log_event (LEVEL_DEBUG, "ballot.closed", "mailbox=%s voters=%zu", quoted (ballot->job->mailbox),
               ballot->count);
    ballots_close (&station->ballots, ballot);
}

static void end_ballot_if_complete (struct target_server *station, struct worker_ballot *ballot)
{
    if (ballot->expected == 0)
        end_ballot (station, ballot, NULL);
}

static void remove_voter (struct target_server *station, struct ballot_worker *voter)
{
    struct worker_ballot *ballot = voter->ballot;
    voter_remove (&station->ballots, voter);
    end_ballot_if_complete (station, ballot);
}

static void drop_voter (struct target_server *station, struct ballot_worker *voter,
                        const char *what)
{
    forward_status (station, voter, ZERO_STATUS_VOTE_BYE_ID, what);
    remove_voter (station, voter);
}

// -- ballots

// Give the worker, if it is free, the next ballot in its queue. A ballot whose requester has missed
// an answer needs no more votes. The deadline of a run is not checked again: votes and heartbeats
// have extended its lease since.
static void serve_worker (struct target_server *station, struct worker *worker)
{
    if (!worker_is_free (worker))
        return;
    struct ballot_worker *voter;
    while ((voter = TAILQ_FIRST (&worker->voters)) && voter->ballot->cut)
        remove_voter (station, voter);
    if (voter && backend_give_job (station, worker, voter->ballot->job))
        voter_restart_timeout (&station->ballots, voter);
}

// Withdraw a ballot that has lost its requester: voters that have not received it need not vote.
// May end the ballot.
static void withdraw_ballot (struct target_server *station, struct worker_ballot *ballot)
{
    ballot->expected++; // keeps it open during the loop
    for (size_t i = 0; i < ballot->count; i++)
        if (ballot->voters[i].worker && !voter_has_ballot (&ballot->voters[i]))
            voter_remove (&station->ballots, &ballot->voters[i]);
    ballot->expected--;
    end_ballot_if_complete (station, ballot);
}

// Withdraw the ballots of earlier deliveries of a run on the same connection.
static void withdraw_earlier_ballots (struct target_server *station, const struct job *job)
{
    struct worker_ballot *ballot = LIST_FIRST (&station->ballots.open);
    for (struct worker_ballot *next; ballot; ballot = next) {
        next = LIST_NEXT (ballot, place);
        if (ballot->job->is_run && span_equal (ballot->job->mailbox, job->mailbox) &&
            span_equal (ballot->job->identity, job->identity))
            withdraw_ballot (station, ballot);
    }
}

// Why no ballot can be opened on the job; NULL: it can.
static const char *find_ballot_obstacle (const struct target_server *station, const struct job *job)
{
    size_t voters = workers_serving (&station->workers);
    if (station->workers.count == 0)
        return "no worker has joined";
    if (voters == 0)
        return "all workers are drained";
    if (station->ballots.count > (size_t)station->options.queue ||
        station->ballots.bytes + ballot_size (job, voters) > STATION_BYTES_MAX)
        return "all workers are busy";
    return NULL;
}

static void open_ballot (struct target_server *station, struct job *job)
{
    struct worker_ballot *ballot = ballots_open (&station->ballots, &station->workers, job);
    station->counts[COUNT_BALLOTS]++;
    log_event (LEVEL_DEBUG, "ballot", "mailbox=%s voters=%zu", quoted (job->mailbox),
               ballot->count);
    send_vote_start (station, ballot);
    ballot->expected++; // keeps it open if workers turn out to be gone
    for (size_t i = 0; i < ballot->count; i++)
        if (ballot->voters[i].worker)
            serve_worker (station, ballot->voters[i].worker);
    ballot->expected--;
    end_ballot_if_complete (station, ballot);
}

// A REQ client cannot open a ballot: it would take later answers for the reply to its next request.
static void start_vote (struct target_server *station, const struct target_request *request)
{
    if (request->message.envelope == ENVELOPE_REQ &&
        request->message.desc.code == ZERO_BYTE_COMMAND_NONE) {
        answer_request (station, request, ZERO_STATUS_NOT_SUPPORT_ID,
                        "a vote has several answers: want a DEALER client");
        return;
    }
    struct job *job = frontend_make_job (station, request);
    if (!job)
        return;
    if (job->is_run)
        withdraw_earlier_ballots (station, job);
    const char *reason = find_ballot_obstacle (station, job);
    if (reason)
        answer_failed (station, &job, ZERO_STATUS_NOT_WORKER_ID, reason);
    else
        open_ballot (station, job);
}

// Cancel a ballot. Voters that have received it still vote; then it ends.
static void cancel_ballot (struct target_server *station, const struct target_request *request)
{
    struct worker_ballot *ballot = LIST_FIRST (&station->ballots.open), *oldest = NULL;
    for (; ballot; ballot = LIST_NEXT (ballot, place))
        if (cancel_matches (request, ballot->job))
            oldest = ballot;
    if (!oldest) {
        cancel_drop_stray (station, request);
        return;
    }
    if (!cancel_begin (station, request, oldest->job))
        return;
    for (size_t i = 0; i < oldest->count; i++) {
        struct ballot_worker *voter = &oldest->voters[i];
        if (voter->worker && voter_has_ballot (voter))
            cancel_notify_worker (station, request, voter->worker, oldest->job);
    }
    withdraw_ballot (station, oldest);
}

// -- votes

// Release the worker's finished ballot, and give the worker its next ballot.
static void finish_vote (struct target_server *station, struct worker *worker)
{
    workers_release_job (&station->workers, worker, worker->jobs[0]);
    remove_voter (station, TAILQ_FIRST (&worker->voters));
    serve_worker (station, worker);
}

// Send a FAILED vote in the worker's place, or the requester would wait forever.
static void spoil_vote (struct target_server *station, struct worker *worker, const char *what)
{
    forward_status (station, TAILQ_FIRST (&worker->voters), ZERO_STATUS_FAILED_ID, what);
    finish_vote (station, worker);
}

static void worker_broken (struct target_server *station, struct worker *worker, struct job *job)
{
    (void)job; // it is the job of the first voter in the worker's queue
    spoil_vote (station, worker, "sent a malformed answer");
}

// Whether the status is reserved for the station (VOTE_END, VOTE_CLOSED): as a vote it would end
// the ballot for all.
static bool is_reserved_status (uint8_t status)
{
    return status == ZERO_STATUS_VOTE_END_ID || status == ZERO_STATUS_VOTE_CLOSED_ID;
}

static bool fits_voter_name (const struct message *answer)
{
    bool named;
    message_frame (answer, ZERO_FRAME_RESPONSER, &named);
    return named || answer->desc.count < DESC_FRAMES_MAX;
}

static void forward_heartbeat (struct target_server *station, struct ballot_worker *voter,
                               struct message *answer)
{
    voter_restart_timeout (&station->ballots, voter);
    if (answer->desc.code == ZERO_STATUS_VOTE_START_ID)
        answer->desc.code = ZERO_STATUS_WAITING_ID;
    forward_answer (station, voter, answer);
}

static void worker_answer (struct target_server *station, struct worker *worker, struct job *job,
                           struct message *answer)
{
    (void)job;
    struct ballot_worker *voter = TAILQ_FIRST (&worker->voters);
    uint8_t status = answer->desc.code;
    if (!fits_voter_name (answer)) {
        spoil_vote (station, worker, "sent too many frames: want at most 31");
    } else if (is_reserved_status (status)) {
        spoil_vote (station, worker, "sent a status that is not a vote");
    } else if (is_heartbeat (status) || status == ZERO_STATUS_VOTE_SENDED_ID) {
        forward_heartbeat (station, voter, answer);
    } else {
        station->counts[COUNT_VOTES]++;
        log_event (LEVEL_DEBUG, "vote", "worker=%s mailbox=%s status=%02x", worker->name,
                   quoted (answer->sender), status);
        forward_answer (station, voter, answer);
        finish_vote (station, worker);
    }
}

// -- workers

static void worker_lost (struct target_server *station, struct worker *worker, struct job **jobs,
                         size_t count, const char *what)
{
    (void)jobs; // they are owned by the ballots
    (void)count;
    for (struct ballot_worker *voter; (voter = TAILQ_FIRST (&worker->voters));)
        drop_voter (station, voter, what);
}

// Drop a drained worker from its waiting ballots. It may still vote in the ballot that it has, the
// first one.
static void worker_drained (struct target_server *station, struct worker *worker)
{
    for (struct ballot_worker *voter = TAILQ_FIRST (&worker->voters), *next; voter; voter = next) {
        next = TAILQ_NEXT (voter, place);
        if (!voter_has_ballot (voter))
            drop_voter (station, voter, "is drained");
    }
}

static void vote_tick (struct target_server *station)
{
    backend_tick (station);
    for (struct ballot_worker *voter; (voter = voter_overdue (&station->ballots));) {
        if (!voter_has_ballot (voter)) {
            drop_voter (station, voter, "is busy for too long");
            continue;
        }
        // A worker cannot lose its ballot alone: it is removed, and may join again.
        station->counts[COUNT_WORKERS_GONE]++;
        backend_lose_worker (station, voter->worker, "has not voted in time");
    }
}

// The stop waits for open ballots, including voters that have not received them yet.
static bool vote_busy (const struct target_server *station)
{
    return station->ballots.count > 0;
}

// End all ballots with one answer each: a VOTE_BYE for each of its voters would be too many at
// once.
static void end_ballots (struct target_server *station)
{
    for (struct worker_ballot *ballot; (ballot = LIST_FIRST (&station->ballots.open));) {
        for (size_t i = 0; i < ballot->count; i++) {
            struct ballot_worker *voter = &ballot->voters[i];
            if (voter->worker && voter_has_ballot (voter))
                workers_release_job (&station->workers, voter->worker, ballot->job);
            if (voter->worker)
                voter_remove (&station->ballots, voter);
        }
        end_ballot (station, ballot, "the station is stopped");
    }
    backend_stop (station);
}

const struct station_kind vote_station = {
    .answers_max = 25000, // a requester gets a VOTE_BYE per ballot for each worker that leaves
    .start = start_vote,
    .cancel = cancel_ballot,
    .jobs_max = 1, // a worker votes in the order in which it received the ballots
    .ready = serve_worker,
    .answer = worker_answer,
    .broken = worker_broken,
    .lost = worker_lost,
    .drained = worker_drained,
    .tick = vote_tick,
    .busy = vote_busy,
    .stop = end_ballots,
};
