// The path, top to bottom: check the frames, read the plan frame, compute the first occurrence,
// store, and reply when Redis has acknowledged.
#include "submit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "apply.h"
#include "caller.h"
#include "clock.h"
#include "codes.h"
#include "due.h"
#include "failpoint.h"
#include "log.h"
#include "memory.h"
#include "permit.h"
#include "plan_json.h"
#include "plan_message.h"
#include "process.h"
#include "publish.h"
#include "zones.h"

enum { NAME_BYTES_MAX = 4096 }; // of REQUEST_ID and of a caller

// A submission whose write is under way.
struct submission {
    struct station *station;
    struct peer *peer;
    struct plan *plan;
    int tries; // with ids of our own; 0 = the client gave one
    // The refusal of a plan that would never run now, unless it repeats one that was accepted.
    struct reason reason;
};

uint64_t submit_new_id (struct station *self)
{
    enum { LOW_BITS = 20 };
    uint64_t now_ms = (uint64_t)(store_now_us (self->store) / 1000);
    uint64_t id = now_ms << LOW_BITS | (process_random () & ((1U << LOW_BITS) - 1));
    id &= INT64_MAX;
    self->last_id = id > self->last_id ? id : self->last_id + 1;
    return self->last_id;
}

static void submission_end (struct submission *submission)
{
    plan_destroy (&submission->plan);
    free (submission);
}

// -- checks of the frames

static int check_id (const struct message *message, uint64_t *ret_id, struct reason *reason)
{
    bool given;
    struct span text = message_frame (message, ZERO_FRAME_GLOBAL_ID, &given);
    *ret_id = 0;
    if (!given || ident_parse (text, ret_id))
        return 0;
    reason_set (reason, "GLOBAL_ID: want 1..16 hex digits, 1..7fffffffffffffff, got %s",
                quoted (text));
    return ZPLAN_EPLAN;
}

static int check_station (struct station *self, const struct message *message,
                          const struct target **ret_target, struct reason *reason)
{
    bool given;
    struct span name = message_frame (message, ZERO_FRAME_STATION_ID, &given);
    if (!given) {
        reason_set (reason, "STATION_ID: is missing");
        return ZPLAN_EPLAN;
    }
    *ret_target = station_target (self, name);
    if (*ret_target)
        return 0;
    reason_set (reason, "STATION_ID: no station %s is known here", quoted (name));
    return ZPLAN_ENOTFIND;
}

// What travels in every JSON of the plan must stay small beside it.
static int check_request_id (const struct message *message, struct reason *reason)
{
    struct span id = message_frame (message, ZERO_FRAME_REQUEST_ID, NULL);
    bool named = message->envelope == ENVELOPE_CALLER;
    if (id.size <= NAME_BYTES_MAX && (!named || message->sender.size <= NAME_BYTES_MAX))
        return 0;
    reason_set (reason, "%s: at most %d bytes", id.size > NAME_BYTES_MAX ? "REQUEST_ID" : "caller",
                NAME_BYTES_MAX);
    return ZPLAN_EBUSY;
}

// What each type of target must be sent (plan document 3.1).
static int check_content (const struct message *message, enum target_type type,
                          struct reason *reason)
{
    bool given;
    uint8_t wanted = type == TARGET_PUB ? ZERO_FRAME_PUB_TITLE : ZERO_FRAME_COMMAND;
    const char *name = type == TARGET_PUB ? "PUB_TITLE" : "COMMAND";
    struct span frame = message_frame (message, wanted, &given);
    if (given && frame.size)
        return 0;
    reason_set (reason, "%s: is %s, plans for %s stations need it", name,
                given ? "empty" : "missing", target_type_name (type));
    return ZPLAN_EPLAN;
}

int submit_check_frames (const struct message *message, const struct target *target,
                         struct reason *reason)
{
    int rc = check_request_id (message, reason);
    if (!rc)
        rc = check_content (message, target_type (target), reason);
    if (rc || plan_dispatch_fits (&message->desc, target_way (target)))
        return rc;
    reason_set (reason, "frames: too many; the station adds some (PLAN_TIME, LOCAL_ID, GLOBAL_ID), "
                        "and a message has at most 32");
    return ZPLAN_EFRAME;
}

// Only a vote station's plan has a rule for votes, and it always has one.
static int check_vote (const struct target *target, struct plan_fields *fields,
                       struct reason *reason)
{
    if (target_type (target) == TARGET_VOTE) {
        if (fields->vote.need == VOTE_NONE)
            fields->vote.need = VOTE_ALL;
    } else if (fields->vote.need != VOTE_NONE) {
        reason_set (reason, "vote: is for plans of vote stations, %s is of type %s",
                    target_name (target), target_type_name (target_type (target)));
        return ZPLAN_EPLAN;
    }
    return 0;
}

// Everything that can be told without Redis. 0, or the error with its reason.
static int check_request (struct station *self, const struct message *message,
                          struct plan_fields *fields, uint64_t *ret_id, struct reason *reason)
{
    bool given;
    const struct target *target;
    struct span frame = message_frame (message, ZERO_FRAME_PLAN, &given);
    int rc;
    if (!given) {
        reason_set (reason, "PLAN: the frame is missing");
        return ZPLAN_EPLAN;
    }
    if ((rc = plan_frame_parse (frame, &self->settings->limits.plan, fields, reason)) ||
        (rc = check_id (message, ret_id, reason)) ||
        (rc = check_station (self, message, &target, reason)) ||
        (rc = submit_check_frames (message, target, reason)))
        return rc;
    if (!(rc = check_vote (target, fields, reason)) && !zones_find (self, fields->policy, reason))
        rc = ZPLAN_EPLAN;
    return rc;
}

// -- answers of the store

// `words` NULL: it is a new plan.
static void accept_plan (struct submission *submission, const char *words)
{
    front_reply (submission->station, submission->peer,
                 &(struct reply){.status = ZERO_STATUS_PLAN_ID,
                                 .reason = words,
                                 .plan_id = submission->plan->id});
}

static struct span submission_command (const struct plan *plan)
{
    struct desc desc;
    struct reason reason;
    if (desc_parse (plan->messages[1], plan->message_count - 2, &desc, &reason))
        return (struct span){0};
    for (size_t i = 0; i < desc.count; i++)
        if (desc.types[i] == ZERO_FRAME_COMMAND)
            return plan->messages[2 + i];
    return (struct span){0};
}

static void tell_added (struct submission *submission)
{
    const struct plan *plan = submission->plan;
    char *json = publish_events_heard (submission->station) ? plan_public_text (plan) : NULL;
    struct notice notice = {.event = EVENT_ADD,
                            .plan_id = plan->id,
                            .station = plan->station,
                            .title = plan->description,
                            .json = json,
                            .command = submission_command (plan)};
    publish_event (submission->station, &notice);
    notice.event = EVENT_QUEUE;
    publish_event (submission->station, &notice);
    free (json);
}

// Whether what stands under the id is this very submission: station, description and frames.
static bool is_repetition (const struct plan *plan, struct span message)
{
    struct reason reason;
    struct plan *held = plan_from_stored_json (plan->id, message, &reason);
    if (!held)
        return false;
    bool same =
        span_equal (held->station, plan->station) && held->message_count == plan->message_count;
    for (size_t i = 1; same && i < plan->message_count; i++)
        same = span_equal (held->messages[i], plan->messages[i]);
    plan_destroy (&held);
    return same;
}

// It is stored, and will run; but it was not acknowledged.
static void refuse_unsure (struct submission *submission)
{
    char id[IDENT_SIZE], text[REASON_MAX];
    struct station *self = submission->station;
    snprintf (text, sizeof text,
              "it is stored, but less than %" PRId64
              " replicas have it; submit it again with GLOBAL_ID %s",
              self->settings->replicas, ident_text (submission->plan->id, id));
    self->counters.refused++;
    front_reply (self, submission->peer,
                 &(struct reply){.status = ZERO_STATUS_NET_ERROR_ID,
                                 .reason = text,
                                 .plan_id = submission->plan->id});
}

static void on_repetition_safe (void *owner, bool enough)
{
    struct submission *submission = owner;
    if (enough)
        accept_plan (submission, "there already");
    else
        refuse_unsure (submission);
    submission_end (submission);
}

// What stands under the id may be this very submission; the submission ends.
static void answer_held (struct submission *submission, struct span message)
{
    if (is_repetition (submission->plan, message)) {
        link_replicate (store_link (submission->station->store), on_repetition_safe, submission);
        return;
    }
    char id[IDENT_SIZE];
    struct reason reason;
    reason_set (&reason, "GLOBAL_ID: %s is in use by another plan",
                ident_text (submission->plan->id, id));
    front_refuse (submission->station, submission->peer, ZPLAN_EPLAN, reason.text);
    submission_end (submission);
}

static void on_submitted (void *owner, const struct store_submitted *answer);

// Another station has made the same id in the same millisecond.
static bool try_another_id (struct submission *submission)
{
    enum { TRIES_MAX = 8 };
    if (submission->tries == 0 || submission->tries >= TRIES_MAX)
        return false;
    submission->tries++;
    plan_renumber (submission->plan, submit_new_id (submission->station));
    store_submit (submission->station->store, submission->plan, true, on_submitted, submission);
    return true;
}

// For health: a Redis that is there but takes no plans, or whose replicas are away.
static void note_refusal (struct station *self, const struct store_submitted *answer)
{
    self->refusing_us = clock_mono_us ();
    if (answer->result == STORE_ERROR)
        reason_set (&self->refusing, "Redis: %s", answer->error);
    else if (answer->result == STORE_UNSURE)
        reason_set (&self->refusing, "replicas: less than %" PRId64 " of Redis answer in time",
                    self->settings->replicas);
    else if (answer->result == STORE_DONE)
        self->refusing.text[0] = '\0';
}

static void on_submitted (void *owner, const struct store_submitted *answer)
{
    struct submission *submission = owner;
    struct station *self = submission->station;
    bool stored = answer->result == STORE_DONE || answer->result == STORE_UNSURE;
    note_refusal (self, answer);
    if (answer->result == STORE_HELD) {
        if (!try_another_id (submission))
            answer_held (submission, answer->message);
        front_resume (self);
        return;
    }
    if (answer->result == STORE_DONE) {
        FAILPOINT ("store_done");
        self->counters.accepted++;
        accept_plan (submission, NULL);
        FAILPOINT ("ack_queued");
    } else if (answer->result == STORE_UNSURE) {
        refuse_unsure (submission);
    } else {
        front_refuse_store (self, submission->peer, answer->result, answer->error);
    }
    if (stored) {
        tell_added (submission);
        due_wake_at (self, plan_due_time (submission->plan) * 1000000);
    }
    submission_end (submission);
    front_resume (self);
}

// The plan would never run: it is refused, unless it is one that was accepted before.
static void on_looked_up (void *owner, const struct store_loaded *answer)
{
    struct submission *submission = owner;
    struct station *self = submission->station;
    if (answer->result == STORE_DONE) {
        answer_held (submission, answer->message);
        front_resume (self);
        return;
    }
    if (answer->result == STORE_NONE)
        front_refuse (self, submission->peer, ZPLAN_EPLAN, submission->reason.text);
    else
        front_refuse_store (self, submission->peer, answer->result, answer->error);
    submission_end (submission);
    front_resume (self);
}

void submit_request (struct station *self, struct request *request)
{
    struct plan_fields fields;
    struct reason reason;
    uint64_t id;
    bool named;
    struct span station = message_frame (&request->message, ZERO_FRAME_STATION_ID, &named);
    if (named && !permit_station (self, &request->peer, station))
        return;
    FAILPOINT ("recv");
    fields.policy = NULL;
    int rc = check_request (self, &request->message, &fields, &id, &reason);
    if (rc) {
        plan_fields_clear (&fields);
        front_refuse (self, &request->peer, (enum wire_error)rc, reason.text);
        return;
    }
    if (!station_store_up (self)) {
        plan_fields_clear (&fields);
        front_refuse_store (self, &request->peer, STORE_LOST, "");
        return;
    }
    uint8_t mask[CALLER_MASKED_SIZE];
    struct span caller = caller_of (self, request, mask);
    int64_t now = station_now (self);
    bool given = id != 0;
    if (!given)
        id = submit_new_id (self);
    struct submission *submission = memory_new (sizeof *submission);
    submission->station = self;
    submission->tries = given ? 0 : 1;
    submission->plan = plan_new_submitted (id, &request->message, caller, &fields, now);
    plan_fields_clear (&fields);
    submission->plan->revision = apply_revision ();
    const struct zone *zone = zones_of (self, submission->plan);
    rc = engine_submit (submission->plan, zone, now, &submission->reason);
    if (rc && !given) {
        front_refuse (self, &request->peer, (enum wire_error)rc, submission->reason.text);
        submission_end (submission);
        return;
    }
    submission->peer = peer_keep (self, request);
    int64_t due_us = plan_due_time (submission->plan) * 1000000;
    if (rc)
        store_load (self->store, id, LINK_ONCE, on_looked_up, submission);
    else
        store_submit (self->store, submission->plan, !given, on_submitted, submission);
    // One that is due is claimed by the call behind the one that stores it.
    if (!rc && due_us <= store_now_us (self->store))
        due_wake_now (self);
}
