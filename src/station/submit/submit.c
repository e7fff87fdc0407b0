// The path of a submitted plan, from submit_request, the last function: check the frames, read the
// plan frame, compute the first occurrence, store, and reply when Redis has acknowledged.
#include "submit.h"
#include "submit_private.h"

#include <czmq.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "codes.h"
#include "failpoint.h"
#include "flow_book.h"
#include "json.h"
#include "memory.h"
#include "missed.h"
#include "permit.h"
#include "plan_json.h"
#include "publish.h"
#include "reads.h"
#include "zones.h"

enum { CALLER_MASKED_SIZE = 5 };

void submission_end (struct submission *submission)
{
    plan_destroy (&submission->plan);
    plan_destroy (&submission->changed);
    free (submission);
}

// -- answers of the store

void submission_accept (struct submission *submission, const char *reply_text)
{
    reply_send (submission->station, submission->peer,
                &(struct reply){.status = ZERO_STATUS_PLAN_ID,
                                .reason = reply_text,
                                .plan_id = submission->plan->id,
                                .plan_time = submission->next});
}

bool submit_repeats (const struct plan *plan, const struct plan *stored)
{
    bool same =
        span_equal (stored->station, plan->station) && stored->message_count == plan->message_count;
    for (size_t i = 1; same && i < plan->message_count; i++)
        same = span_equal (stored->messages[i], plan->messages[i]);
    return same;
}

int64_t submission_next (const struct plan *plan)
{
    return plan->state == PLAN_CLOSE ? 0 : plan->plan_time;
}

// Reply that the plan is stored and will run, but too few replicas have acknowledged it.
static void reply_unreplicated (struct submission *submission)
{
    char id[IDENT_SIZE], text[REASON_MAX];
    struct station *self = submission->station;
    snprintf (text, sizeof text,
              "it is stored, but fewer than %" PRId64
              " replicas have it; submit it again with GLOBAL_ID %s",
              self->settings->replicas, ident_text (submission->plan->id, id));
    self->counters.refused++;
    reply_send (self, submission->peer,
                &(struct reply){.status = ZERO_STATUS_NET_ERROR_ID,
                                .reason = text,
                                .plan_id = submission->plan->id});
}

static void on_existing_replicated (void *owner, bool enough)
{
    struct submission *submission = owner;
    if (enough)
        submission_accept (submission, submission->reply_text);
    else
        reply_unreplicated (submission);
    submission_end (submission);
}

void submission_accept_existing (struct submission *submission)
{
    link_replicate (store_link (submission->station->store), on_existing_replicated, submission);
}

void submission_refuse_in_use (struct submission *submission, const char *reply_text)
{
    char id[IDENT_SIZE];
    reply_refuse_format (submission->station, submission->peer, ZPLAN_EPLAN,
                         "%s %s is in use by another plan", reply_text,
                         ident_text (submission->plan->id, id));
    submission_end (submission);
}

// Reply for an id that is in use, perhaps by this same submission; the submission ends. With a key
// the plan is loaded first, to know whether a run is in flight.
static void reply_id_in_use (struct submission *submission, struct span message)
{
    if (*submission_key (submission->plan)) {
        submission_load_key_holder (submission);
        return;
    }
    struct reason reason;
    struct plan *stored = plan_from_stored_json (submission->plan->id, message, &reason);
    if (stored && submit_repeats (submission->plan, stored)) {
        submission_set_reply (submission, "already exists", PLAN_NONE);
        submission->next = submission_next (stored);
        submission_accept_existing (submission);
    } else {
        submission_refuse_in_use (submission, "GLOBAL_ID:");
    }
    plan_destroy (&stored);
}

static void on_submitted (void *owner, enum store_result result, const char *error);

// Write the plan, with its first missed occurrences. The submission may have ended afterwards.
static void write_submission (struct submission *submission)
{
    struct station *self = submission->station;
    size_t size;
    char *missed = missed_record (submission->plan, &submission->misses,
                                  (uint64_t)store_now_us (self->store), &size);
    store_submit (self->store,
                  &(struct store_submission){.plan = submission->plan,
                                             .made_here = submission->tries > 0,
                                             .missed = span_of (missed, size)},
                  on_submitted, submission);
    free (missed);
}

// Retry with another id of the station: a former owner made the same one in the same millisecond.
// False: the client gave the id, or no try is left.
static bool try_another_id (struct submission *submission)
{
    enum { ID_TRIES_MAX = 8 };
    if (submission->tries == 0 || submission->tries >= ID_TRIES_MAX)
        return false;
    submission->tries++;
    plan_renumber (submission->plan, station_new_id (submission->station));
    write_submission (submission);
    return true;
}

// Note for `health` that Redis is up but accepts no plans, or that its replicas are away.
static void note_write_failure (struct station *self, enum store_result result, const char *error)
{
    self->refusing_us = clock_mono_us ();
    if (result == STORE_ERROR)
        reason_set (&self->refusing, "Redis: %s", error);
    else if (result == STORE_UNSURE)
        reason_set (&self->refusing, "replicas: fewer than %" PRId64 " of Redis answer in time",
                    self->settings->replicas);
}

static void refuse_never_due (struct submission *submission)
{
    reply_refuse (submission->station, submission->peer, ZPLAN_EPLAN, submission->reason.text);
    submission_end (submission);
}

// Handle the plan that is stored under the id, if there is one. A plan that would never run is
// refused, unless it repeats an accepted one.
static void on_id_holder (void *owner, const struct store_loaded *answer)
{
    struct submission *submission = owner;
    struct station *self = submission->station;
    if (answer->result == STORE_DONE) {
        reply_id_in_use (submission, answer->message);
    } else if (answer->result == STORE_NONE && submission->never) {
        refuse_never_due (submission);
    } else if (answer->result == STORE_NONE) {
        write_submission (submission);
    } else {
        reply_refuse_store (self, submission->peer, answer->result, answer->error);
        submission_end (submission);
    }
    link_flush (store_link (self->store));
    station_resume (self);
}

static void count_stored (const struct submission *submission)
{
    struct station *self = submission->station;
    struct target *target = station_target (self, submission->plan->station);
    uint64_t missed = (uint64_t)submission->misses.missed.count;
    self->counters.accepted++;
    self->counters.missed += missed;
    if (target)
        target_tally (target)->runs.ends[RUN_END_missed] += missed;
    histogram_add (&self->submissions, &bounds_submit, clock_mono_us () - submission->received_us);
}

static void on_submitted (void *owner, enum store_result result, const char *error)
{
    struct submission *submission = owner;
    struct station *self = submission->station;
    if (result == STORE_DONE)
        self->refusing.text[0] = '\0';
    else
        note_write_failure (self, result, error);
    if (result == STORE_HELD) {
        if (!try_another_id (submission))
            reads_load (self, submission->peer, submission->plan->id, on_id_holder, submission);
        link_flush (store_link (self->store));
        station_resume (self);
        return;
    }
    if (result == STORE_DONE) {
        FAILPOINT ("store_done");
        count_stored (submission);
        submission->next = submission_next (submission->plan);
        submission_accept (submission, NULL);
        FAILPOINT ("ack_queued");
    } else if (result == STORE_UNSURE) {
        reply_unreplicated (submission);
    } else {
        reply_refuse_store (self, submission->peer, result, error);
    }
    if (result == STORE_DONE || result == STORE_UNSURE)
        publish_added (self, submission->plan);
    submission_end (submission);
}

// Compute the first occurrence and store the plan. The submission may have ended afterwards. A plan
// that its flow rejects never runs.
static void store_new_plan (struct submission *submission)
{
    struct station *self = submission->station;
    struct plan *plan = submission->plan;
    bool given = submission->tries == 0;
    submission->never =
        submission->never || engine_submit (plan, zones_of (self, plan), submission->received,
                                            &submission->misses, &submission->reason) != 0;
    if (!submission->never)
        write_submission (submission);
    else if (given)
        reads_load (self, submission->peer, plan->id, on_id_holder, submission);
    else
        refuse_never_due (submission);
}

// Check the params of a flow plan. `flow` NULL: its definition cannot be used, for `reason`.
static void check_params (struct submission *submission, const struct flow *flow,
                          const char *reason)
{
    if (!flow)
        reason_set (&submission->reason, "%s", reason);
    submission->never =
        !flow || submit_check_params (flow, submission->plan, NULL, &submission->reason);
}

static void on_flow (void *owner, const struct flow *flow, int version, const char *reason)
{
    struct submission *submission = owner;
    struct station *self = submission->station;
    (void)version;
    check_params (submission, flow, reason);
    store_new_plan (submission);
    link_flush (store_link (self->store));
    station_resume (self);
}

// Store the plan. For a flow plan, get the definition of its flow first, and check the params.
static void check_params_and_store (struct submission *submission)
{
    struct station *self = submission->station;
    struct span station = submission->plan->station;
    char name[STATION_NAME_MAX + 1] = "";
    const struct flow *flow;
    if (station_target (self, station)) {
        store_new_plan (submission);
    } else if ((flow = flow_book_find (self, station, 0))) {
        check_params (submission, flow, NULL);
        store_new_plan (submission);
    } else {
        memcpy (name, station.data, station.size);
        flow_book_get (self, name, 0, on_flow, submission);
    }
}

// The kind named by the plan, else by its target; "" = none.
static const char *kind_name (const struct submission *submission)
{
    const struct plan *plan = submission->plan;
    const struct target *target = station_target (submission->station, plan->station);
    if (plan->policy && plan->policy->kind[0])
        return plan->policy->kind;
    return target ? target_settings (target)->kind : "";
}

// Merge in the fields of the plan's kind; the plan's own fields win.
static int merge_kind (struct submission *submission, const struct store_named *answer)
{
    struct plan *plan = submission->plan;
    struct span name, text;
    struct reason *reason = &submission->reason;
    if (!store_named_at (answer, 0, &name, &text))
        return reason_error (reason, ZPLAN_ENOTFIND, "kind: no kind %s is known",
                             quoted (span_text (kind_name (submission))));
    struct reason why;
    json_t *fields = json_read_object (text, &why); // may have been edited in Redis
    if (fields && plan->schedule.keep)
        json_object_del (fields, "misfire"); // the plan's own no_keep wins
    struct policy *policy =
        fields ? policy_merge_kind (kind_name (submission), fields, plan->policy, &why) : NULL;
    json_decref (fields);
    if (!policy)
        return reason_error (reason, ZPLAN_EPLAN, "kind: %s cannot be used: %s",
                             kind_name (submission), why.text);
    plan_take_policy (plan, policy);
    int rc =
        submit_check_policy (station_target (submission->station, plan->station), policy, reason);
    // The plan's own callback was checked for its submitter; that of the kind for the user who
    // stored the kind.
    return rc ? rc : callback_check (submission->station, NULL, policy, reason);
}

static void on_kind (void *owner, const struct store_named *answer)
{
    struct submission *submission = owner;
    struct station *self = submission->station;
    int rc = 0;
    if (answer->result != STORE_DONE)
        reply_refuse_store (self, submission->peer, answer->result, answer->error);
    else if ((rc = merge_kind (submission, answer)))
        reply_refuse (self, submission->peer, (enum wire_error)rc, submission->reason.text);
    if (answer->result == STORE_DONE && !rc)
        check_params_and_store (submission);
    else
        submission_end (submission);
    link_flush (store_link (self->store));
    station_resume (self);
}

// The caller that a forwarding station names, else the peer itself (plan document 1.3). `mask` is
// room for a masked identity; the result borrows from it or from the request.
//
// libzmq 4.3.4 numbers peers without an identity of their own consecutively, and aborts when a peer
// has chosen the next number as its identity: a peer that knows one number could crash the process.
// So such an identity is never shown. Lists, dispatches and broadcasts, which name the caller,
// contain a masked one instead. It is constant for the connection, has the same form, and reveals
// nothing.
static struct span shown_caller (struct station *self, const struct request *request,
                                 uint8_t mask[CALLER_MASKED_SIZE])
{
    struct span identity = request->peer.identity;
    if (request->message.envelope == ENVELOPE_CALLER)
        return request->message.sender;
    if (identity.size != CALLER_MASKED_SIZE || identity.data[0] != 0) // not an automatic one
        return identity;
    struct masked_identity *known =
        &self->masked[identity.data[4] % (sizeof self->masked / sizeof *self->masked)];
    if (known->mask[1] && memcmp (known->identity, identity.data, sizeof known->identity) == 0) {
        memcpy (mask, known->mask, CALLER_MASKED_SIZE);
        return span_of (mask, CALLER_MASKED_SIZE);
    }
    zdigest_t *digest = zdigest_new ();
    zdigest_update (digest, self->caller_secret, sizeof self->caller_secret);
    zdigest_update (digest, identity.data, identity.size);
    mask[0] = 0;
    memcpy (mask + 1, zdigest_data (digest), CALLER_MASKED_SIZE - 1);
    zdigest_destroy (&digest);
    memcpy (known->identity, identity.data, sizeof known->identity);
    memcpy (known->mask, mask, CALLER_MASKED_SIZE);
    return span_of (mask, CALLER_MASKED_SIZE);
}

int submit_request (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    struct plan_fields fields; // large, so not cleared
    const char *user = request->peer.user;
    uint64_t id;
    int rc;
    bool named;
    struct span station = message_frame (&request->message, ZERO_FRAME_STATION_ID, &named);
    fields.policy = NULL;
    if (named && (rc = permit_station (self, user, station, reason)))
        return rc;
    FAILPOINT ("recv");
    rc = submission_check (self, user, &request->message, &fields, &id, reason);
    if (!rc && fields.policy)
        rc = callback_check (self, user, fields.policy, reason);
    if (!rc && fields.policy) {
        // Key names are separate per tenant.
        bool bound = !permits_all_stations (self, user);
        rc = submission_check_key (&fields, bound ? station : (struct span){0}, &id, reason);
    }
    if (!rc && !station_store_up (self))
        rc = reply_store_error (self, STORE_LOST, "", reason);
    if (rc) {
        plan_fields_clear (&fields);
        return rc;
    }
    self->counters.dropped_traces += fields.policy && fields.policy->trace_dropped;
    uint8_t mask[CALLER_MASKED_SIZE];
    struct span caller = shown_caller (self, request, mask);
    struct submission *submission = memory_new (sizeof *submission);
    submission->station = self;
    submission->received = station_now (self);
    submission->received_us = clock_mono_us ();
    submission->tries = id ? 0 : 1;
    submission->plan = plan_new_submitted (id ? id : station_new_id (self), &request->message,
                                           caller, &fields, submission->received);
    submission->plan->revision = station_revision ();
    char who[SPEAKER_SIZE];
    if (fields.hold)
        plan_note_stop (submission->plan, fields.hold == HOLD_MARKED ? "hold" : "pause",
                        permit_user_in_effect (self, &request->peer, who), submission->received);
    submission->peer = peer_keep (self, request);
    plan_fields_clear (&fields);
    struct span kind = span_text (kind_name (submission));
    if (kind.size)
        store_kinds (self->store, KIND_GET, kind, NULL, on_kind, submission);
    else
        check_params_and_store (submission);
    return 0;
}
