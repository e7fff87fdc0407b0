// The path of a result: find the plan and the run (in flight, else looked up in Redis, as it may be
// from before a restart), then the engine decides and apply_outcome () writes.
#include "results.h"

#include <czmq.h>
#include <inttypes.h>
#include <stdlib.h>

#include "answer_text.h"
#include "cancel.h"
#include "clock.h"
#include "codes.h"
#include "dialect.h"
#include "failpoint.h"
#include "forward.h"
#include "late.h"
#include "log.h"
#include "memory.h"
#include "permit.h"
#include "plan_json.h"
#include "utf8.h"
#include "votes.h"

enum {
    KEPT_BYTES = 65536,          // largest plan that is kept with its run
    LOOKUP_BYTES = 1024,         // per answer whose plan is looked up, in addition to its frames
    LOOKUP_BYTES_MAX = 64 << 20, // for all such answers; more are dropped
};

// An answer whose plan is being looked up. The target is kept by name, as it may be removed.
struct answer_lookup {
    struct station *station;
    uint64_t plan_id;
    char target[STATION_NAME_MAX + 1]; // it sent the answer on its connection; "" = request socket
    uint64_t connection;
    char user[PACKET_USER_SIZE]; // who sent it to the request socket
    uint8_t status;              // in the station's own numbers
    struct frames *frames;       // description and frames
    size_t bytes;                // its share of lookup_bytes
};

// The run that a target by identity names with GLOBAL_ID, which holds the exec_id, or with
// REQUESTER, which holds the mailbox. NULL: unknown.
static const struct active_run *run_by_identity (struct station *self, const struct target *target,
                                                 const struct message *message, bool *ret_named)
{
    uint64_t exec_id = 0, plan_id;
    struct span requester = answer_trimmed (message_frame (message, ZERO_FRAME_REQUESTER, NULL));
    const struct active_run *named = NULL, *active = NULL;
    if (mailbox_parse (requester, &plan_id))
        named = runs_find (self, plan_id);
    // The exec_id wins. Usually both name the same run, and no search is needed.
    if (answer_number (message, ZERO_FRAME_GLOBAL_ID, &exec_id) &&
        !(named && named->run.exec_id == exec_id))
        active = runs_find_exec (self, exec_id);
    *ret_named = exec_id || requester.size;
    active = active ? active : named;
    return active && active->target == target ? active : NULL;
}

// Find the plan that an answer belongs to. False: unknown.
static bool find_answered_plan (struct station *self, const struct message *message,
                                const struct target *target, uint64_t *ret_id)
{
    if (message->envelope == ENVELOPE_MAILBOX)
        return answer_plan (message, ret_id);
    if (!target)
        return false;
    const struct active_run *run = NULL;
    bool named = false;
    if (target_dispatch_way (target)->by_identity)
        run = run_by_identity (self, target, message, &named);
    else if (answer_plan (message, ret_id))
        return true; // the target returns the plan's id instead of the mailbox
    // The named run is not known here: it is looked up by its mailbox.
    if (!run && named)
        return mailbox_parse (answer_trimmed (message_frame (message, ZERO_FRAME_REQUESTER, NULL)),
                              ret_id);
    // A target that returns neither answers in the order of the runs it was sent.
    if (!run && !named)
        run = runs_next_to_answer (self, target);
    if (run)
        *ret_id = run->plan_id;
    return run != NULL;
}

// Drop the run if the decision ends it, else keep it for its next message.
static void keep_or_drop_run (struct active_run *active, const struct decision *decision)
{
    struct station *self = active->station;
    if (commit_ends_run (decision->commit)) {
        runs_drop (&active);
        return;
    }
    // A large plan, or any above RUNS_WHOLE_MAX runs, is not kept while its target works, but
    // looked up again. It is kept if the run times out first, as the timeout needs it.
    bool ends = runs_forget_later (active);
    if (!ends && (active->plan->store_size > KEPT_BYTES || self->runs.count > RUNS_WHOLE_MAX))
        plan_destroy (&active->plan);
}

// The status of an answer. If the status byte is neither a result nor a heartbeat in the dialect,
// the run ends as an error and `out` describes the byte, followed by the answer's own text; else it
// stays empty.
static uint8_t answer_status (const struct station *self, const struct target *from,
                              enum target_type type, const struct message *message,
                              char out[REASON_MAX])
{
    enum { WORDS_MAX = 100 };
    enum dialect dialect = from ? target_settings (from)->dialect : self->dialect;
    uint8_t byte = message->desc_bytes.data[1], status = message->desc.code;
    // MicroZero's VOTE_START maps to a number that is a heartbeat for all but vote targets.
    bool stray = dialect == DIALECT_MICROZERO && byte != ZERO_BYTE_COMMAND_WAITING &&
                 status == ZERO_STATUS_VOTE_START_ID && type != TARGET_VOTE;
    if (!stray && (status < ZERO_STATUS_ERROR_FLAG || dialect_status_known (dialect, byte)))
        return status;
    struct span words =
        utf8_cut (answer_trimmed (message_frame (message, ZERO_FRAME_STATUS, NULL)), WORDS_MAX);
    snprintf (out, REASON_MAX,
              "status %02x is neither a result nor a heartbeat in dialect %s%s%.*s", byte,
              dialect_name (dialect), words.size ? ": " : "", (int)words.size,
              (const char *)words.data);
    return stray ? ZERO_STATUS_ERROR_ID : status;
}

// The run that an answer names; 0: it names none, or something that is not a number.
static uint64_t answer_exec_id (const struct message *message, const struct target *target,
                                bool *ret_named)
{
    bool by_identity = target_dispatch_way (target)->by_identity;
    uint8_t type = by_identity ? ZERO_FRAME_GLOBAL_ID : ZERO_FRAME_LOCAL_ID;
    uint64_t exec_id = 0;
    message_last_frame (message, type, ret_named);
    return *ret_named && answer_number (message, type, &exec_id) ? exec_id : 0;
}

// Note since when a target has no workers. `target` may be NULL.
static void note_no_worker (struct target *target, uint8_t status)
{
    if (!target)
        return;
    struct target_tally *tally = target_tally (target);
    if (status != ZERO_STATUS_NOT_WORKER_ID)
        tally->no_worker_s = 0;
    else if (!tally->no_worker_s)
        tally->no_worker_s = clock_wall_us () / 1000000;
}

// Handle an answer whose run and plan are known. `target` NULL: it came on the request socket.
static void handle_answer (struct active_run *active, const struct target *target,
                           uint64_t connection, const struct message *message)
{
    struct station *self = active->station;
    struct target *of_plan = station_target (self, span_text (active->key_station));
    char reason[REASON_MAX] = "";
    struct span voter = {0};
    if (target && target != of_plan) {
        self->counters.forged_answers++;
        log_event (LEVEL_WARN, "answer.forged", "plan=%" PRIx64 " from=%s", active->plan_id,
                   target_name (target));
        return;
    }
    FAILPOINT (message->desc.code == ZERO_STATUS_RUNING_ID ? "running_recv" : "result_recv");
    bool is_vote =
        active->plan->vote.need != VOTE_NONE; // for a removed target, whose type is not known
    enum target_type type = of_plan ? target_type (of_plan) : is_vote ? TARGET_VOTE : TARGET_API;
    struct answer answer = {
        .status = answer_status (self, target, type, message, reason),
        .on_connection = connection != 0 && connection == active->connection,
        .target = type,
    };
    answer.exec_id = answer_exec_id (message, target, &answer.has_exec_id);
    bool named = false;
    struct span name = message_last_frame (message, ZERO_FRAME_RESPONSER, &named);
    if (answer.target == TARGET_VOTE)
        answer.tally.event = votes_event (message, named);
    if (engine_answer_is_late (&active->run, &answer)) {
        late_report (self, &(struct late_answer){active->plan_id, answer.exec_id,
                                                 span_text (active->key_station), answer.status});
        return;
    }
    note_no_worker (of_plan, answer.status);
    if (active->unanswered && answer.on_connection)
        response_status (target_response (active->target), active->number,
                         answer.status != ZERO_STATUS_NOT_WORKER_ID,
                         self->settings->limits.runs_target, clock_mono_us ());
    uint8_t code = message->desc.code;
    if (answer.target != TARGET_VOTE &&
        (code == ZERO_STATUS_WAITING_ID ||
         code == ZERO_STATUS_VOTE_START_ID)) // code 23, see proto 7.4
        runs_note_progress (active,
                            answer_trimmed (message_frame (message, ZERO_FRAME_STATUS, NULL)));
    if (answer.tally.event == POLL_VOTE)
        voter = name;
    if (answer.tally.event != POLL_NONE) {
        if (!votes_count (active, message, &answer, name)) {
            self->counters.broken_answers++;
            log_event (LEVEL_WARN, "answer.no_vote", "plan=%" PRIx64 " voter=%s", active->plan_id,
                       quoted (name));
            return;
        }
        votes_reason (active, &answer.tally, reason, sizeof reason);
    }
    struct run_outcome outcome = run_outcome_of (active, CAUSE_ANSWER, reason);
    outcome.answer = &answer;
    outcome.message = message;
    outcome.voter = voter;
    struct decision decision = apply_outcome (self, &outcome);
    keep_or_drop_run (active, &decision);
}

// Decide a vote that has timed out by the votes cast so far.
static void time_out_vote (struct active_run *active)
{
    char reason[128];
    struct answer answer = {.status = ZERO_STATUS_TIMEOUT_ID,
                            .on_connection = true,
                            .has_exec_id = true,
                            .exec_id = active->run.exec_id,
                            .target = TARGET_VOTE,
                            .tally = ballot_tally (votes_ballot (active), POLL_TIMEOUT)};
    votes_reason (active, &answer.tally, reason, sizeof reason);
    struct run_outcome outcome = run_outcome_of (active, CAUSE_ANSWER, reason);
    outcome.answer = &answer;
    struct decision decision = apply_outcome (active->station, &outcome);
    keep_or_drop_run (active, &decision);
}

// Fail a run that has timed out, and notify its target.
static void time_out_run (struct active_run *active)
{
    char reason[64];
    struct station *self = active->station;
    const uint64_t plan_id = active->plan_id, exec_id = active->run.exec_id;
    snprintf (reason, sizeof reason, "timeout: no result within %" PRId64 " s",
              active->plan->policy->timeout_s);
    struct run_outcome outcome = run_outcome_of (active, CAUSE_TIMEOUT, reason);
    struct decision decision = apply_outcome (self, &outcome);
    cancel_notify (active, reason);
    active = runs_find_run (self, plan_id, exec_id); // the notification may have ended it
    if (active)
        keep_or_drop_run (active, &decision);
}

void results_run_timed_out (struct active_run *active)
{
    active->end_us = 0;
    // No status came, which was already reported as a failure.
    bool reported = active->plan && !active->unanswered &&
                    active->plan->last_state == ZERO_STATUS_RECV_ERROR_ID;
    // A plan too large to be kept: the next claim ends the run.
    if (!active->plan || reported || !engine_run_end_us (active->plan))
        runs_drop (&active);
    else if (engine_poll_end_us (active->plan) &&
             engine_poll_end_us (active->plan) == engine_run_end_us (active->plan))
        time_out_vote (active);
    else
        time_out_run (active);
}

// -- a run that is not in memory

struct active_run *results_restore_run (struct station *self, uint64_t plan_id,
                                        const struct store_loaded *answer)
{
    struct reason reason;
    struct active_run *active = runs_find (self, plan_id);
    if (active && active->plan)
        return active;
    if (answer->result != STORE_DONE || !answer->running)
        return NULL;
    struct plan *plan = plan_from_stored_json (plan_id, answer->message, &reason);
    if (!plan)
        return NULL;
    plan->exec_id = answer->exec_id;
    if (active && active->run.exec_id == answer->exec_id) {
        runs_set_plan (active, plan); // the plan may have been edited by hand
        return active;
    }
    enum run_phase phase = plan->last_state == ZERO_STATUS_RUNING_ID ? RUN_RUNNING : RUN_SENT;
    active = runs_add (self, plan, answer->station,
                       (struct run){answer->exec_id, phase, answer->earlier_may_answer});
    runs_set_end (active);
    runs_forget_at (active, clock_mono_us () + RUN_FORGET_US);
    votes_load (active, answer->work);
    return active;
}

// Whether the sender may answer for this target. A target may on its own connection; on the request
// socket the key needs access to the target.
static bool may_answer (struct station *self, struct span key_station, const struct target *target,
                        const char *user)
{
    if (target || permits_station (self, user, key_station))
        return true;
    self->counters.denied_results++;
    return false;
}

// Report a result as late if no run of its plan is in progress. False: it is not late. Answers to
// votes are not, as they may arrive at any time after the vote.
static bool report_if_late (const struct answer_lookup *lookup, const struct store_loaded *answer,
                            const struct target *target, const struct message *message)
{
    struct station *self = lookup->station;
    bool named;
    uint64_t exec_id = answer_exec_id (message, target, &named);
    struct span station = answer->result == STORE_DONE
                              ? answer->station
                              : late_find_station (self, lookup->plan_id, exec_id);
    const struct target *of_plan = station_target (self, station);
    bool over = answer->result == STORE_NONE ? station.size > 0
                                             : answer->result == STORE_DONE && !answer->running;
    if (!over || !engine_is_result (message->desc.code) || (target && target != of_plan) ||
        (of_plan && target_type (of_plan) == TARGET_VOTE))
        return false;
    if (may_answer (self, station, target, lookup->user))
        late_report (self,
                     &(struct late_answer){lookup->plan_id, exec_id, station, message->desc.code});
    return true;
}

static void on_answered_plan (void *owner, const struct store_loaded *answer)
{
    struct answer_lookup *lookup = owner;
    struct station *self = lookup->station;
    struct message message;
    struct reason reason;
    struct active_run *active = results_restore_run (self, lookup->plan_id, answer);
    int rc = message_read (lookup->frames->at, lookup->frames->count, &message, &reason);
    message.desc.code = lookup->status;
    const struct target *target = station_target (self, span_text (lookup->target));
    bool sound = rc == 0 && (target || !*lookup->target);
    if (active && sound) {
        if (may_answer (self, span_text (active->key_station), target, lookup->user))
            handle_answer (active, target, lookup->connection, &message);
    } else if (!sound || !report_if_late (lookup, answer, target, &message)) {
        // The plan could not be looked up: another station may own the plans now.
        if (sound && (*lookup->target || permits_all_stations (self, lookup->user)) &&
            (answer->result == STORE_LOST || answer->result == STORE_UNKNOWN))
            forward_add_answer (self, lookup->plan_id, &message);
        self->counters.dropped_mailboxes++;
        log_event (LEVEL_DEBUG, "answer.dropped", "plan=%" PRIx64, lookup->plan_id);
    }
    self->lookup_bytes -= lookup->bytes;
    free (lookup->frames);
    free (lookup);
    station_resume (self);
}

// Load the plan of the answer from Redis, to handle the answer then.
static void load_answered_plan (struct station *self, uint64_t plan_id, struct target *target,
                                const char *user, const struct message *message)
{
    struct span frames[1 + DESC_FRAMES_MAX];
    size_t count = 0, bytes = LOOKUP_BYTES;
    frames[count++] = message->desc_bytes;
    for (size_t i = 0; i < message->desc.count; i++) {
        bytes += message->frames[i].size;
        frames[count++] = message->frames[i];
    }
    // While Redis is away answers wait for it, but not without a bound.
    if (self->lookup_bytes + bytes > LOOKUP_BYTES_MAX) {
        self->counters.dropped_mailboxes++;
        return;
    }
    self->lookup_bytes += bytes;
    struct answer_lookup *lookup = memory_new (sizeof *lookup);
    *lookup = (struct answer_lookup){.station = self,
                                     .plan_id = plan_id,
                                     .bytes = bytes,
                                     .status = message->desc.code,
                                     .connection = target ? target_connection (target) : 0,
                                     .frames = frames_copy (frames, count)};
    if (target)
        memcpy (lookup->target, target_name (target), sizeof lookup->target);
    snprintf (lookup->user, sizeof lookup->user, "%s", user);
    store_load (self->store, plan_id, LINK_REPEAT, on_answered_plan, lookup);
}

// -- entry points

// Extend the lease of a run whose plan is not kept while Redis is away: its heartbeats wait for a
// lookup, and the lease might expire before.
static void extend_lease_unread (struct active_run *active, const struct target *target,
                                 const char *user, const struct message *message)
{
    struct station *self = active->station;
    int64_t lease_us = self->settings->exec_timeout_s * 1000000, now_us = clock_mono_us ();
    bool named;
    uint64_t exec_id = answer_exec_id (message, target, &named);
    bool current = named ? exec_id == active->run.exec_id
                         : target && active->connection == target_connection (target);
    uint8_t status = message->desc.code;
    bool heartbeat = status == ZERO_STATUS_RUNING_ID || status == ZERO_STATUS_WAITING_ID;
    bool extended = active->extended_us && now_us - active->extended_us < lease_us / LEASE_PART;
    struct span key_station = span_text (active->key_station);
    bool permitted = target ? span_equal (key_station, span_text (target_name (target)))
                            : permits_station (self, user, key_station);
    if (!current || !permitted || !heartbeat || extended || station_store_up (self))
        return;
    active->extended_us = now_us;
    runs_forget_at (active, now_us + lease_us + RUN_FORGET_US);
    store_extend_lease (self->store, key_station, active->plan_id, active->run.exec_id,
                        self->settings->exec_timeout_s);
}

void results_handle (struct station *self, struct target *target, const char *user,
                     const struct message *message)
{
    uint64_t plan_id;
    if (!find_answered_plan (self, message, target, &plan_id)) {
        self->counters.dropped_mailboxes++;
        return;
    }
    struct active_run *active = runs_find (self, plan_id);
    if (active && !active->plan)
        extend_lease_unread (active, target, user, message);
    if (!active || !active->plan)
        load_answered_plan (self, plan_id, target, user, message);
    else if (may_answer (self, span_text (active->key_station), target, user))
        handle_answer (active, target, target ? target_connection (target) : 0, message);
}

void results_handle_packet (void *owner, struct target *target, const struct packet *packet)
{
    struct station *self = owner;
    struct message message;
    struct reason reason;
    uint8_t desc_bytes[DESC_SIZE_MAX];
    if (packet->fault || message_read (packet->frames, packet->count, &message, &reason)) {
        self->counters.broken_answers++;
        log_event (LEVEL_WARN, "answer.broken", "station=%s reason=%s", target_name (target),
                   quoted (span_text (packet->fault ? "too large" : reason.text)));
        return;
    }
    // [x][desc]: the envelope of a caller, which is never that of a run's answer.
    if (message.envelope == ENVELOPE_CALLER) {
        self->counters.foreign_answers++;
        log_event (LEVEL_WARN, "answer.foreign", "station=%s first_frame=%s", target_name (target),
                   quoted (message.sender));
        return;
    }
    // Some stations send the service key back with a worker's answer; drop it here.
    message_drop (&message, ZERO_FRAME_SERVICE_KEY, desc_bytes);
    message.desc.code = dialect_status_in (target_settings (target)->dialect, message.desc.code);
    results_handle (self, target, "", &message);
    if (store_busy (self->store)) {
        target_pause (target);
        self->targets_paused = true;
    }
}
