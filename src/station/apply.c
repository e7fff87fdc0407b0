#include "apply.h"

#include <inttypes.h>
#include <stdlib.h>

#include "due.h"
#include "front.h"
#include "log.h"
#include "memory.h"
#include "plan_message.h"
#include "publish.h"

// A commit under way, with what is broadcast after it.
struct applying {
    struct station *station;
    uint64_t plan_id;
    uint64_t exec_id;
    uint8_t status;
    char *public_text;    // the plan as it was decided, NULL = no broadcast
    struct frames *title; // one frame
    struct desc desc;     // of the answer
    struct frames *answer;
};

static void applying_destroy (struct applying *self)
{
    free (self->public_text);
    free (self->title);
    free (self->answer);
    free (self);
}

static void broadcast (struct applying *applying, const struct store_committed *answer)
{
    char *json = plan_broadcast_json (applying->public_text, answer->seq, answer->epoch);
    struct publication publication = {.title = applying->title->at[0],
                                      .status = applying->status,
                                      .plan_id = applying->plan_id,
                                      .json = json,
                                      .desc = &applying->desc,
                                      .frames = applying->answer ? applying->answer->at : NULL};
    publish_result (applying->station, &publication);
    free (json);
}

static void on_committed (void *owner, const struct store_committed *answer)
{
    struct applying *applying = owner;
    struct station *self = applying->station;
    if (answer->result == STORE_HELD) {
        self->counters.stale_commits++;
        log_event (LEVEL_WARN, "commit.stale", "plan=%" PRIx64, applying->plan_id);
    } else if (answer->result == STORE_LOST) {
        log_event (LEVEL_WARN, "commit.lost",
                   "plan=%" PRIx64 " reason=\"stopped before Redis was back\"", applying->plan_id);
    } else if (answer->result == STORE_ERROR) {
        log_event (LEVEL_ERROR, "commit.failed", "plan=%" PRIx64 " error=%s", applying->plan_id,
                   quoted (span_text (answer->error)));
    } else if (answer->result == STORE_DONE && answer->seq) {
        broadcast (applying, answer);
    }
    struct held_run *held = runs_find (self, applying->plan_id);
    if (held && held->run.exec_id == applying->exec_id)
        held->lease_pending = false;
    applying_destroy (applying);
    front_resume (self);
}

// When the store will have it due next, as far as this decision says.
static void wake (struct station *self, const struct outcome *outcome)
{
    const struct decision *decision = outcome->decision;
    if (decision->commit == COMMIT_NEXT)
        due_wake_at (self, outcome->plan->plan_time * 1000000);
    else if (decision->commit == COMMIT_RETRY || decision->commit == COMMIT_DOUBT)
        due_wake_at (self, store_now_us (self->store) + decision->delay_ms * 1000);
}

void apply (struct station *self, const struct outcome *outcome)
{
    const struct decision *decision = outcome->decision;
    const struct message *answer = outcome->answer;
    struct applying *applying = memory_new (sizeof *applying);
    applying->station = self;
    applying->plan_id = outcome->plan->id;
    applying->exec_id = outcome->exec_id;
    applying->status = outcome->plan->last_state;
    struct span work[1 + DESC_FRAMES_MAX];
    size_t work_count = 0;
    if (answer) {
        work[work_count++] = answer->desc_bytes;
        for (size_t i = 0; i < answer->desc.count; i++)
            work[work_count++] = answer->frames[i];
    }
    if (decision->broadcast != BROADCAST_NONE) {
        applying->public_text = plan_public_text (outcome->plan);
        applying->title = frames_copy (&outcome->plan->description, 1);
        if (answer) {
            applying->desc = answer->desc;
            applying->answer = frames_copy (answer->frames, answer->desc.count);
        }
    }
    store_commit (self->store,
                  &(struct store_commit){.plan = outcome->plan,
                                         .key_station = outcome->key_station,
                                         .exec_id = outcome->exec_id,
                                         .decision = decision,
                                         .lease_s = self->settings->exec_timeout_s,
                                         .work = work,
                                         .work_count = work_count,
                                         .keep_message = outcome->keep_message},
                  on_committed, applying);
    wake (self, outcome);
}
