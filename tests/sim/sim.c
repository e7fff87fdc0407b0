// The order of things within one moment is the station's: answers, then deadlines, then the claim.
#include "sim_private.h"

#include "codes.h"
#include "memory.h"
#include "plan_message.h"

#define FORGET_US (5 * SIM_S)

static const char station_name[] = "api1";
static const struct dispatch_way by_frame = {false, ""};

int64_t sim_at (int64_t seconds)
{
    return (SIM_START_TIME + seconds) * SIM_S;
}

static int64_t now_s (const struct sim *self)
{
    return self->now_us / SIM_S;
}

// -- a zone from a POSIX TZ string: a TZif file of version 2 without transitions

enum { BLOCK_SIZE = 44 + 6 + 4 };

static struct zone *zone_of (const char *posix_tz)
{
    uint8_t file[2 * BLOCK_SIZE + 64] = {0};
    size_t size = 0;
    for (int i = 0; i < 2; i++, size += BLOCK_SIZE) {
        memcpy (file + size, "TZif2", 5);
        file[size + 39] = 1; // one local time type, of UTC
        file[size + 43] = 4; // bytes of names
        memcpy (file + size + 50, "UTC", 3);
    }
    int length = snprintf ((char *)file + size, sizeof file - size, "\n%s\n", posix_tz);
    struct reason reason = {""};
    struct zone *zone = zone_new (span_of (file, size + (size_t)length), &reason);
    if (!zone)
        fail_msg ("%s", reason.text);
    return zone;
}

// -- life

void sim_start (struct sim *self, const char *name, const char *posix_tz,
                void (*target) (struct sim *sim, const struct sim_fire *fire))
{
    *self = (struct sim){.now_us = sim_at (0), .target = target, .random = 88172645463325252U};
    snprintf (self->name, sizeof self->name, "%s", name);
    self->zone = posix_tz ? zone_of (posix_tz) : zone_new_utc ();
    sim_connect (self);
}

static void drop_run (struct sim_plan *sim_plan)
{
    plan_destroy (&sim_plan->plan);
    sim_plan->unanswered = false;
}

void sim_end (struct sim *self)
{
    for (size_t i = 0; i < self->plan_count; i++) {
        drop_run (&self->plans[i]);
        free (self->plans[i].message);
    }
    free (self->fires);
    free (self->answers);
    zone_destroy (&self->zone);
}

// -- the station: apply, fire, deadlines, answers

static enum committed apply (struct sim *self, struct sim_plan *sim_plan, struct plan *plan,
                             uint64_t exec_id, const struct decision *decision)
{
    enum committed committed = store_commit (self, sim_plan, plan, exec_id, decision);
    if (committed == COMMITTED)
        check_committed (self, sim_plan, plan, exec_id, decision);
    self->stale += committed == NOT_CURRENT;
    self->redone += committed == CHANGED;
    return committed;
}

// What happens to a run that is out.
enum happening { ANSWERED, NO_STATUS, TIME_OVER, CANCELLED };

static struct decision decide_once (struct sim *self, struct sim_plan *sim_plan,
                                    enum happening what, const struct answer *answer)
{
    struct plan *plan = sim_plan->plan;
    switch (what) {
    case NO_STATUS:
        return engine_handle_no_status (plan);
    case TIME_OVER:
        return engine_timeout (plan, self->zone, now_s (self));
    case CANCELLED:
        return engine_cancel (plan, self->zone, now_s (self));
    case ANSWERED:
        break;
    }
    return engine_answer (plan, &sim_plan->run, answer, self->zone, now_s (self));
}

// What the engine makes of it; `answer` is of ANSWERED. When management changed the plan
// since the station read it, the same is decided of the plan as it is now; here that is not changed
// again in between.
static struct decision decide (struct sim *self, struct sim_plan *sim_plan, enum happening what,
                               const struct answer *answer)
{
    struct run run = sim_plan->run;
    for (;;) {
        struct decision decision = decide_once (self, sim_plan, what, answer);
        if (decision.commit == COMMIT_NONE ||
            apply (self, sim_plan, sim_plan->plan, run.exec_id, &decision) != CHANGED)
            return decision;
        plan_destroy (&sim_plan->plan);
        sim_plan->plan = sim_stored (self, sim_plan);
        sim_plan->run = run;
    }
}

// For something of the run in hand, but no longer than its timeout lets it.
static void wait_until (struct sim_plan *sim_plan, int64_t deadline_us)
{
    bool ends = sim_plan->end_us && sim_plan->end_us < deadline_us;
    sim_plan->deadline_us = ends ? sim_plan->end_us : deadline_us;
}

static void send (struct sim *self, struct sim_plan *sim_plan, struct plan *plan)
{
    struct plan_texts texts = {0};
    struct message message;
    plan_dispatch_message (plan, &by_frame, (self->now_us + SIM_LEASE_US) / SIM_S, &texts,
                           &message);
    uint64_t mailbox_id = 0, exec_id = 0;
    SIM_CHECK (self, sim_plan, mailbox_parse (message.sender, &mailbox_id));
    SIM_CHECK (self, sim_plan, mailbox_id == sim_plan->id);
    exec_id = plan->exec_id;
    free (texts.plan_json.bytes);

    struct sim_fire fire = {.plan = sim_plan,
                            .at_us = self->now_us,
                            .plan_time = plan->plan_time,
                            .exec_id = exec_id,
                            .earlier_may_answer = sim_plan->held_again};
    check_fire (self, &fire);
    if (self->fire_count == self->fire_capacity) {
        self->fire_capacity = self->fire_capacity ? self->fire_capacity * 2 : 256;
        self->fires = memory_resize (self->fires, self->fire_capacity * sizeof *self->fires);
    }
    self->fires[self->fire_count++] = fire;
    sim_plan->fires++;
    sim_plan->free_us = self->now_us + SIM_LEASE_US;
    drop_run (sim_plan);
    sim_plan->plan = plan;
    sim_plan->run = (struct run){exec_id, RUN_SENT, sim_plan->held_again};
    sim_plan->connection = self->connection;
    sim_plan->unanswered = true;
    sim_plan->end_us = engine_run_end_us (plan);
    wait_until (sim_plan, self->now_us + SIM_SEND_US);
    self->target (self, &fire);
}

static void fire (struct sim *self, struct sim_plan *sim_plan)
{
    struct plan *plan = sim_stored (self, sim_plan);
    struct reason reason = {""};
    uint64_t exec_id = sim_plan->held;
    const struct due due = {.key_station = span_text (station_name),
                            .exec_id = exec_id,
                            .lost = sim_plan->lost,
                            .way = &by_frame,
                            .zone = self->zone,
                            .earlier_may_answer = sim_plan->held_again,
                            .now = now_s (self),
                            .now_us = self->now_us};
    struct decision decision = engine_due (plan, &due, &reason);
    if (decision.send && self->connection) {
        send (self, sim_plan, plan); // takes the plan
        return;
    }
    if (decision.send)
        decision = engine_handle_not_sent (plan);
    drop_run (sim_plan);
    apply (self, sim_plan, plan, exec_id, &decision);
    plan_destroy (&plan);
}

static void claim (struct sim *self)
{
    struct sim_plan *claimed[SIM_BATCH];
    size_t count = store_claim (self, claimed);
    for (size_t i = 0; i < count; i++) {
        fire (self, claimed[i]);
        check_plan (self, claimed[i]);
    }
}

static void on_deadline (struct sim *self, struct sim_plan *sim_plan)
{
    bool over = sim_plan->end_us && sim_plan->end_us <= self->now_us;
    if (!over && !sim_plan->unanswered) {
        drop_run (sim_plan);
        return;
    }
    struct decision decision = decide (self, sim_plan, over ? TIME_OVER : NO_STATUS, NULL);
    if (over) {
        drop_run (sim_plan);
        return;
    }
    sim_plan->unanswered = false;
    sim_plan->deadline_us = self->now_us + decision.delay_ms * 1000 + FORGET_US;
}

static struct sim_plan *plan_of_id (struct sim *self, uint64_t id)
{
    for (size_t i = 0; i < self->plan_count; i++)
        if (self->plans[i].id == id)
            return &self->plans[i];
    return NULL;
}

// A run that is not in hand is looked up in the store.
static bool hold (struct sim *self, struct sim_plan *sim_plan)
{
    if (sim_plan->plan)
        return true;
    if (!sim_plan->message || !sim_plan->held)
        return false;
    struct plan *plan = sim_stored (self, sim_plan);
    plan->exec_id = sim_plan->held;
    enum run_phase phase = plan->last_state == ZERO_STATUS_RUNING_ID ? RUN_RUNNING : RUN_SENT;
    sim_plan->plan = plan;
    sim_plan->run = (struct run){sim_plan->held, phase, sim_plan->held_again};
    sim_plan->connection = 0;
    sim_plan->unanswered = false;
    sim_plan->end_us = engine_run_end_us (plan);
    wait_until (sim_plan, self->now_us + FORGET_US);
    return true;
}

static void take_answer (struct sim *self, const struct sim_answer *sent)
{
    struct sim_plan *sim_plan = plan_of_id (self, sent->plan_id);
    if (!hold (self, sim_plan)) {
        self->dropped++;
        return;
    }
    struct answer answer = {.status = sent->status,
                            .on_connection =
                                sent->connection != 0 && sent->connection == sim_plan->connection,
                            .has_exec_id = sent->with_local_id,
                            .exec_id = sent->with_local_id ? sent->exec_id : 0,
                            .target = self->target_type};
    struct decision decision = decide (self, sim_plan, ANSWERED, &answer);
    if (decision.commit == COMMIT_NONE) {
        self->late++;
        return;
    }
    // An answer that names its run never acts on another one.
    if (sent->with_local_id)
        SIM_CHECK (self, sim_plan, sent->exec_id == sim_plan->run.exec_id);
    if (commit_ends_run (decision.commit)) {
        drop_run (sim_plan);
    } else {
        sim_plan->unanswered = false;
        wait_until (sim_plan, self->now_us + SIM_LEASE_US + FORGET_US);
    }
}

bool sim_cancel (struct sim *self, struct sim_plan *sim_plan)
{
    if (!hold (self, sim_plan) || sim_plan->run.exec_id != sim_plan->held)
        return false;
    decide (self, sim_plan, CANCELLED, NULL);
    drop_run (sim_plan);
    check_plan (self, sim_plan);
    return true;
}

// -- answers on their way

void sim_answer (struct sim *self, const struct sim_fire *fire, int64_t delay_us, uint8_t status,
                 enum sim_way way, enum sim_local_id local_id)
{
    if (self->answer_count == self->answer_capacity) {
        self->answer_capacity = self->answer_capacity ? self->answer_capacity * 2 : 64;
        self->answers =
            memory_resize (self->answers, self->answer_capacity * sizeof *self->answers);
    }
    self->answers[self->answer_count++] =
        (struct sim_answer){.at_us = self->now_us + delay_us,
                            .order = self->answers_sent++,
                            .plan_id = fire->plan->id,
                            .exec_id = fire->exec_id,
                            .status = status,
                            .with_local_id = local_id == SIM_WITH_LOCAL_ID,
                            .connection = way == SIM_CONNECTION ? self->connection : 0};
}

static struct sim_answer *first_answer (struct sim *self)
{
    struct sim_answer *first = NULL;
    for (size_t i = 0; i < self->answer_count; i++) {
        struct sim_answer *answer = &self->answers[i];
        if (!first || answer->at_us < first->at_us ||
            (answer->at_us == first->at_us && answer->order < first->order))
            first = answer;
    }
    return first;
}

static void take_answers (struct sim *self)
{
    for (struct sim_answer *first; (first = first_answer (self)) && first->at_us <= self->now_us;) {
        struct sim_answer answer = *first;
        *first = self->answers[--self->answer_count];
        // What was said on a connection is lost with it.
        if (answer.connection && answer.connection != self->connection)
            continue;
        take_answer (self, &answer);
        check_plan (self, plan_of_id (self, answer.plan_id));
    }
}

// -- time

static int64_t next_moment (struct sim *self)
{
    const struct sim_answer *answer = first_answer (self);
    int64_t next_us = answer ? answer->at_us : INT64_MAX;
    for (size_t i = 0; i < self->plan_count; i++) {
        const struct sim_plan *sim_plan = &self->plans[i];
        if (sim_plan->queued && sim_plan->score_us < next_us)
            next_us = sim_plan->score_us;
        if (sim_plan->plan && sim_plan->deadline_us < next_us)
            next_us = sim_plan->deadline_us;
    }
    return next_us;
}

bool sim_run_until (struct sim *self, int64_t until_us, size_t steps)
{
    for (int64_t next_us; (next_us = next_moment (self)) <= until_us; steps--) {
        if (steps == 0)
            return false;
        if (next_us == INT64_MAX)
            return true;
        if (next_us > self->now_us)
            self->now_us = next_us;
        take_answers (self);
        for (size_t i = 0; i < self->plan_count; i++) {
            struct sim_plan *sim_plan = &self->plans[i];
            if (sim_plan->plan && sim_plan->deadline_us <= self->now_us) {
                on_deadline (self, sim_plan);
                check_plan (self, sim_plan);
            }
        }
        claim (self);
    }
    if (until_us != INT64_MAX && until_us > self->now_us)
        self->now_us = until_us;
    return true;
}

void sim_disconnect (struct sim *self)
{
    self->connection = 0;
}

void sim_connect (struct sim *self)
{
    if (self->connection)
        return;
    self->connection = ++self->connections;
    store_wake (self);
}

void sim_restart (struct sim *self, int64_t down_us)
{
    for (size_t i = 0; i < self->plan_count; i++)
        drop_run (&self->plans[i]);
    self->now_us += down_us;
    // Its connections went with it, and what was sent while it was down found nobody.
    sim_disconnect (self);
    size_t kept = 0;
    for (size_t i = 0; i < self->answer_count; i++)
        if (self->answers[i].at_us > self->now_us)
            self->answers[kept++] = self->answers[i];
    self->answer_count = kept;
    sim_connect (self);
}

// -- submit

struct sim_plan *sim_submit (struct sim *self, const char *plan_frame)
{
    const struct span frames[] = {BYTES ("\3\2\2$\5\0"), span_text (station_name), BYTES ("do"),
                                  span_text (plan_frame)};
    struct plan_fields fields;
    struct message request;
    struct reason reason = {""};
    assert_true (self->plan_count < SIM_PLANS_MAX);
    assert_int_equal (message_read (frames, ROWS (frames), &request, &reason), 0);
    if (plan_frame_parse (frames[3], &plan_limits_default, &fields, &reason))
        fail_msg ("%s: %s: %s", self->name, plan_frame, reason.text);
    uint64_t id = 0x100 + self->plan_count;
    struct plan *plan =
        plan_new_submitted (id, &request, span_text ("client"), &fields, now_s (self));
    struct sim_plan *sim_plan = NULL;
    struct misses misses;
    if (engine_submit (plan, self->zone, now_s (self), &misses, &reason) == 0) {
        sim_plan = &self->plans[self->plan_count++];
        *sim_plan = (struct sim_plan){.id = id, .missed = misses.missed.count};
        store_submit (self, sim_plan, plan);
        check_plan (self, sim_plan);
    }
    plan_destroy (&plan);
    plan_fields_clear (&fields);
    return sim_plan;
}

// -- management

// Whether a run of the plan is out. One of a plan that is out of the queue has no lease in the
// store: it counts while the station hears of it, or as long as a lease would be.
static bool is_running (const struct sim *self, const struct sim_plan *sim_plan,
                        const struct plan *plan)
{
    if (!sim_plan->held || sim_plan->no_status)
        return false;
    bool in_hand = sim_plan->plan && sim_plan->run.exec_id == sim_plan->held;
    return plan->state == PLAN_EXECUTE || in_hand ||
           plan->exec_time + SIM_LEASE_US / SIM_S > now_s (self);
}

bool sim_manage (struct sim *self, struct sim_plan *sim_plan, enum manage_command command,
                 int64_t count)
{
    if (!sim_plan->message)
        return false;
    struct reason reason;
    enum requeue requeue;
    struct plan *plan = sim_stored (self, sim_plan);
    const struct manage_request request = {.command = command,
                                           .running = is_running (self, sim_plan, plan),
                                           .count = count,
                                           .zone = self->zone,
                                           .now = now_s (self)};
    bool done = engine_handle_command (plan, &request, &requeue, &reason) == 0;
    if (done) {
        store_change (self, sim_plan, plan, requeue);
        check_managed (self, sim_plan, plan, &request);
    }
    check_plan (self, sim_plan);
    plan_destroy (&plan);
    return done;
}
