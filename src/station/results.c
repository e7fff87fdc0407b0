// The path: which plan, which run (in hand, else looked up in Redis: it may be of before a
// restart), then the engine decides and apply () writes.
#include "results.h"

#include <inttypes.h>
#include <stdlib.h>

#include "apply.h"
#include "clock.h"
#include "codes.h"
#include "front.h"
#include "log.h"
#include "memory.h"
#include "plan_json.h"

// A run that was heard of is forgotten this long after its lease: the store has it anyway.
enum { FORGET_US = 5000000, KEPT_BYTES = 65536, KEPT_RUNS = 8192 };

enum { LOOKUP_BYTES = 1024, LOOKUP_BYTES_MAX = 64 << 20 }; // of one beside its frames; of all

// An answer whose plan is being looked up.
struct lookup {
    struct station *station;
    uint64_t plan_id;
    struct target *target;
    uint64_t connection;
    struct frames *frames; // description and frames
    size_t bytes;          // that it holds of lookup_bytes
};

static bool plan_of (struct station *self, const struct message *message,
                     const struct target *target, uint64_t *ret_id)
{
    if (message->envelope == ENVELOPE_MAILBOX)
        return mailbox_parse (message->sender, ret_id);
    // A station that does not send the mailbox back is known by its connection, the plan by its id.
    if (!target || ident_parse (message_frame (message, ZERO_FRAME_GLOBAL_ID, NULL), ret_id))
        return target != NULL;
    // One that sends back nothing at all answers in the order it was asked.
    const struct held_run *run = runs_next_to_answer (self, target);
    if (run)
        *ret_id = run->plan_id;
    return run != NULL;
}

static void count_result (struct station *self, const struct decision *decision)
{
    if (decision->commit == COMMIT_NEXT || decision->commit == COMMIT_END)
        self->counters.runs_ended_well++;
    else if (decision->commit != COMMIT_LEASE)
        self->counters.runs_failed++;
}

static void take_answer (struct held_run *held, const struct target *target, uint64_t connection,
                         const struct message *message)
{
    struct station *self = held->station;
    struct target *of_plan = station_target (self, span_text (held->key_station));
    if (target && target != of_plan) {
        self->counters.forged_answers++;
        log_event (LEVEL_WARN, "answer.forged", "plan=%" PRIx64 " from=%s", held->plan_id,
                   target_name (target));
        return;
    }
    struct answer answer = {
        .status = message->desc.code,
        .on_connection = connection != 0 && connection == held->connection,
        .target = of_plan ? target_type (of_plan) : TARGET_API,
    };
    struct span exec_id = message_last_frame (message, ZERO_FRAME_LOCAL_ID, &answer.has_exec_id);
    // One that is no number is of no run of ours.
    if (answer.has_exec_id && !ident_parse (exec_id, &answer.exec_id))
        answer.exec_id = 0;
    struct decision decision =
        engine_answer (held->plan, &held->run, &answer, self->zone, station_now (self));
    if (decision.commit == COMMIT_NONE) {
        self->counters.late_answers++;
        log_event (LEVEL_DEBUG, "answer.late", "plan=%" PRIx64 " status=%02x", held->plan_id,
                   answer.status);
        return;
    }
    if (decision.unchanged && held->lease_pending)
        return; // its lease is being renewed already
    held->lease_pending = decision.commit == COMMIT_LEASE;
    count_result (self, &decision);
    apply (self, &(struct outcome){.plan = held->plan,
                                   .key_station = span_text (held->key_station),
                                   .exec_id = held->run.exec_id,
                                   .decision = &decision,
                                   .answer = message});
    // A large plan, or one too many, is not kept for as long as its target works: it is looked up
    // again.
    bool heavy = held->plan->store_size > KEPT_BYTES || zhashx_size (self->runs) > KEPT_RUNS;
    if (commit_ends_run (decision.commit)) {
        runs_drop (&held);
        return;
    }
    if (heavy)
        plan_destroy (&held->plan);
    runs_forget_at (held, clock_mono_us () + self->settings->exec_timeout_s * 1000000 + FORGET_US);
}

// -- a run that is not in hand

// The run an answer is for: in hand, if need be with its plan read again, or made from what Redis
// has.
static struct held_run *recall (struct lookup *lookup, const struct store_loaded *answer)
{
    struct station *self = lookup->station;
    struct reason reason;
    struct held_run *held = runs_find (self, lookup->plan_id);
    if (held && held->plan)
        return held;
    if (answer->result != STORE_DONE || !answer->running)
        return NULL;
    struct plan *plan = plan_from_stored_json (lookup->plan_id, answer->message, &reason);
    if (!plan)
        return NULL;
    plan->exec_id = answer->exec_id;
    if (held && held->run.exec_id == answer->exec_id) {
        held->plan = plan;
        return held;
    }
    enum run_phase phase = plan->last_state == ZERO_STATUS_RUNING_ID ? RUN_RUNNING : RUN_SENT;
    held =
        runs_add (self, plan, answer->station, (struct run){answer->exec_id, phase, answer->again});
    runs_forget_at (held, clock_mono_us () + FORGET_US);
    return held;
}

static void on_looked_up (void *owner, const struct store_loaded *answer)
{
    struct lookup *lookup = owner;
    struct station *self = lookup->station;
    struct message message;
    struct reason reason;
    struct held_run *held = recall (lookup, answer);
    int rc = message_read (lookup->frames->at, lookup->frames->count, &message, &reason);
    if (held && rc == 0) {
        take_answer (held, lookup->target, lookup->connection, &message);
    } else {
        self->counters.dropped_mailboxes++;
        log_event (LEVEL_DEBUG, "answer.dropped", "plan=%" PRIx64, lookup->plan_id);
    }
    self->lookup_bytes -= lookup->bytes;
    free (lookup->frames);
    free (lookup);
    front_resume (self);
}

static void look_up (struct station *self, uint64_t plan_id, struct target *target,
                     const struct message *message)
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
    struct lookup *lookup = memory_new (sizeof *lookup);
    *lookup = (struct lookup){.station = self,
                              .plan_id = plan_id,
                              .bytes = bytes,
                              .target = target,
                              .connection = target ? target_connection (target) : 0,
                              .frames = frames_copy (frames, count)};
    store_load (self->store, plan_id, LINK_REPEAT, on_looked_up, lookup);
}

// -- in

void results_take (struct station *self, struct target *target, const struct message *message)
{
    uint64_t plan_id;
    if (!plan_of (self, message, target, &plan_id)) {
        self->counters.dropped_mailboxes++;
        return;
    }
    struct held_run *held = runs_find (self, plan_id);
    if (held && held->plan)
        take_answer (held, target, target ? target_connection (target) : 0, message);
    else
        look_up (self, plan_id, target, message);
}

void results_take_packet (void *owner, struct target *target, const struct packet *packet)
{
    struct station *self = owner;
    struct message message;
    struct reason reason;
    if (packet->fault || message_read (packet->frames, packet->count, &message, &reason)) {
        self->counters.broken_answers++;
        log_event (LEVEL_WARN, "answer.broken", "station=%s reason=%s", target_name (target),
                   quoted (span_text (packet->fault ? "too large" : reason.text)));
        return;
    }
    results_take (self, target, &message);
    if (link_busy (store_link (self->store))) {
        target_pause (target);
        self->targets_paused = true;
    }
    link_flush (store_link (self->store));
}
