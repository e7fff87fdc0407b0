// Plan keys: submissions with the same key refer to the same plan, whoever sends them and even if
// they are concurrent. Source: task module (idempotent publication); features E030 to E032.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "missed.h"
#include "plan_json.h"
#include "plan_key.h"
#include "publish.h"
#include "reads.h"
#include "submit.h"
#include "submit_private.h"
#include "runs.h"

int submission_check_key (const struct plan_fields *fields, struct span scope, uint64_t *id,
                          struct reason *reason)
{
    const char *key = fields->policy ? fields->policy->key : "";
    if (!*key)
        return 0;
    uint64_t made = plan_key_id (scope, span_text (key));
    if (*id && *id != made)
        return reason_error (reason, ZPLAN_EPLAN,
                             "key: names the plan, as GLOBAL_ID does; give only one");
    *id = made;
    return 0;
}

const char *submission_key (const struct plan *plan)
{
    return plan->policy ? plan->policy->key : "";
}

// Handle the result of the change of the existing plan; the submission ends or is retried.
static void on_replaced (void *owner, enum store_result result, const char *error)
{
    struct submission *submission = owner;
    struct station *self = submission->station;
    bool changed = result == STORE_CHANGED || result == STORE_NONE;
    if (changed && ++submission->changes < CHANGE_TRIES_MAX) {
        submission_load_key_holder (submission);
        link_flush (store_link (self->store));
        return;
    }
    if (result == STORE_DONE) {
        struct plan *plan = submission->changed;
        char *json = plan_public_text (plan);
        submission->next = submission_next (plan);
        submission_accept (submission, submission->reply_text);
        publish_event (self, &(struct notice){.event = ZPLAN_EVENT_UPDATE,
                                              .plan_id = plan->id,
                                              .station = plan->station,
                                              .title = plan->description,
                                              .json = json});
        free (json);
    } else if (changed) {
        reply_refuse (self, submission->peer, ZPLAN_EBUSY,
                      "key: its plan was changed meanwhile, submit again");
    } else {
        reply_refuse_store (self, submission->peer, result, error);
    }
    submission_end (submission);
}

// A submission does not re-queue an existing plan, so the reply reports the state of a plan that is
// not in the queue.
void submission_set_reply (struct submission *submission, const char *reply_text,
                           enum plan_state state)
{
    bool unqueued = state == PLAN_PAUSE || state == PLAN_ERROR || state == PLAN_CLOSE;
    snprintf (submission->reply_text, sizeof submission->reply_text, "%s%s%s", reply_text,
              unqueued ? "; its state is " : "", unqueued ? plan_state_name (state) : "");
}

struct plan *submit_copy_plan (const struct plan *plan, struct reason *reason)
{
    size_t size;
    char *text = plan_stored_text (plan, &size);
    struct plan *copy = plan_from_stored_json (plan->id, span_of (text, size), reason);
    free (text);
    return copy;
}

// Whether the plan has repeats left after those that its predecessor has used.
static bool has_repeats_left (const struct plan *plan, struct reason *reason)
{
    int64_t used = plan_occurrence (plan).used;
    bool once = !schedule_repeats (plan->schedule.type);
    if (once || plan->schedule.repeat == SCHEDULE_FOREVER || plan->schedule.repeat > used)
        return true;
    return reason_reject (reason,
                          "plan_repet: want more than the %" PRId64 " that are used up, got %d",
                          used, plan->schedule.repeat);
}

// Replace the stored plan, which has no run in flight, with this one.
static void replace_plan (struct submission *submission, const struct plan *stored,
                          uint64_t exec_id)
{
    bool update = submission->plan->policy->if_exists == EXISTS_UPDATE;
    bool keeps_progress = false, good = !submission->never;
    plan_destroy (&submission->changed);
    struct plan *plan = good ? submit_copy_plan (submission->plan, &submission->reason) : NULL;
    submission->changed = plan;
    if (plan) {
        plan->exec_id = stored->exec_id; // never repeated
        plan->revision = station_revision ();
        keeps_progress = update && plan_copy_progress (plan, stored);
        good = has_repeats_left (plan, &submission->reason);
    }
    if (!plan || !good) {
        reply_refuse (submission->station, submission->peer, ZPLAN_EPLAN, submission->reason.text);
        submission_end (submission);
        return;
    }
    const struct target *target = station_target (submission->station, stored->station);
    enum requeue requeue = keeps_progress              ? REQUEUE_KEEP
                           : plan->state == PLAN_PAUSE ? REQUEUE_OUT
                                                       : REQUEUE_TIME;
    // An update that continues the stored plan has no misses of its own to record.
    bool has_misses = !update || plan->missed > stored->missed;
    size_t size = 0;
    char *missed = has_misses
                       ? missed_record (plan, &submission->misses,
                                        (uint64_t)store_now_us (submission->station->store), &size)
                       : NULL;
    submission_set_reply (submission, update ? "updated" : "replaced", plan->state);
    store_change (submission->station->store,
                  &(struct store_change){.plan = plan,
                                         .revision = stored->revision,
                                         .key_station = stored->station,
                                         .exec_id = exec_id,
                                         .queue = requeue,
                                         .resets_team = requeue == REQUEUE_TIME && target &&
                                                        target_type (target) == TARGET_PULL,
                                         .missed = span_of (missed, size)},
                  on_replaced, submission);
    free (missed);
}

static void handle_key_holder (struct submission *submission, const struct plan *stored,
                               const struct store_loaded *answer)
{
    const struct plan *plan = submission->plan;
    bool running = runs_in_progress (submission->station, stored, answer);
    bool same = submit_repeats (plan, stored);
    // The same bytes with a REQUEST_ID are the same request, resent.
    bool repeated = same && plan->request_id.size;
    bool refused = plan->policy->if_exists == EXISTS_REFUSE && !repeated;
    if (!same && (strcmp (submission_key (stored), submission_key (plan)) != 0 ||
                  !span_equal (stored->station, plan->station)))
        submission_refuse_in_use (submission, "key: its id");
    else if (refused) {
        reply_refuse_format (submission->station, submission->peer, ZPLAN_EPLAN,
                             "key: %s has a plan already",
                             quoted (span_text (submission_key (plan))));
        submission_end (submission);
    } else if (!same && !running && plan->policy->if_exists != EXISTS_KEEP)
        replace_plan (submission, stored, answer->exec_id);
    else {
        submission_set_reply (submission,
                              running ? "already exists, and is running" : "already exists",
                              stored->state);
        submission->next = submission_next (stored);
        submission_accept_existing (submission);
    }
}

// Handle the plan with the id of the key; the submission ends or continues.
static void on_key_holder (void *owner, const struct store_loaded *answer)
{
    struct submission *submission = owner;
    struct station *self = submission->station;
    struct reason reason;
    struct plan *stored = NULL;
    if (answer->result == STORE_DONE)
        stored = plan_from_stored_json (submission->plan->id, answer->message, &reason);
    if (stored) {
        handle_key_holder (submission, stored, answer);
    } else if (answer->result == STORE_DONE) {
        submission_refuse_in_use (submission, "key: its id");
    } else {
        if (answer->result == STORE_NONE)
            reply_refuse (self, submission->peer, ZPLAN_EBUSY,
                          "key: its plan has ended meanwhile, submit again");
        else
            reply_refuse_store (self, submission->peer, answer->result, answer->error);
        submission_end (submission);
    }
    plan_destroy (&stored);
    link_flush (store_link (self->store));
    station_resume (self);
}

void submission_load_key_holder (struct submission *submission)
{
    reads_load (submission->station, submission->peer, submission->plan->id, on_key_holder,
                submission);
}
