#include "flow_simulate.h"

#include <stdlib.h>

#include "civil.h"
#include "flow_why.h"
#include "heap.h"
#include "memory.h"
#include "retry_rule.h"

enum { ATTEMPTS_MAX = 1000, OUTAGES_MAX = 1000 };
#define NEVER INT64_MAX

// A call in flight, or a timer.
struct pending {
    struct heap_node node; // first
    struct pending *next;  // of all
    uint32_t step;
    int64_t item;
    bool undo, timer;
    enum flow_status status;
    unsigned generation;
    json_t *value;
};

struct span_of_step {
    int64_t ready, begin, end; // -1: not yet
    int64_t held;              // ms for a target that was away
};

struct simulation {
    const struct flow *flow;
    const struct flow_guesses *guesses;
    const char *path; // "" or "STEP/"
    struct flow_run *run;
    struct heap due;
    struct pending *all;
    struct span_of_step *spans;
    json_t *events;
    int64_t now;
    int64_t fire; // nominal time of the outermost run
    unsigned depth;
};

static json_t *simulate (const struct simulation *outer, const struct flow *flow, int64_t at,
                         json_t *input, const char *path);

static const struct flow_guess *guess_of (const struct simulation *self, uint32_t step)
{
    size_t size = strlen (self->path);
    for (size_t i = self->guesses->step_count; i-- > 0;) {
        const struct flow_guess *guess = &self->guesses->steps[i];
        if (strncmp (guess->step, self->path, size) == 0 &&
            strcmp (guess->step + size, self->flow->steps[step].name) == 0)
            return guess;
    }
    return NULL;
}

static void note (struct simulation *self, int64_t at, uint32_t step, int64_t item,
                  const char *what, const char *why)
{
    char name[1024];
    if (json_array_size (self->events) >= FLOW_SIMULATED_MAX)
        return;
    snprintf (name, sizeof name, "%s%s", self->path, self->flow->steps[step].name);
    json_t *row = json_pack ("{s:I, s:s, s:s}", "at", (json_int_t)at, "step", name, "what", what);
    if (item >= 0)
        json_object_set_new (row, "item", json_integer (item));
    if (why && *why)
        json_object_set_new (row, "why", json_string (why));
    json_array_append_new (self->events, row);
}

static int64_t instant_of (const struct flow_guesses *guesses, int64_t local)
{
    return (guesses->zone ? zone_instant (guesses->zone, local) : local) * 1000;
}

static int64_t local_of (const struct flow_guesses *guesses, int64_t ms)
{
    return ms / 1000 + (guesses->zone ? zone_offset (guesses->zone, ms / 1000) : 0);
}

// When an outage that is on at this instant is over; the instant itself when it is not.
static int64_t outage_end (const struct flow_guesses *guesses, const struct flow_outage *outage,
                           int64_t at)
{
    int64_t today = civil_day_of (local_of (guesses, at)) * CIVIL_DAY;
    int64_t over = outage->to_s <= outage->from_s ? CIVIL_DAY : 0;
    for (int64_t day = today - over; day <= today; day += CIVIL_DAY) {
        int64_t to = instant_of (guesses, day + over + outage->to_s);
        if (at >= instant_of (guesses, day + outage->from_s) && at < to)
            return to;
    }
    return at;
}

// The first instant from `at` on at which the target takes calls; never, if its outages leave none.
static int64_t target_back (const struct simulation *self, const char *target, int64_t at)
{
    const struct flow_guesses *guesses = self->guesses;
    for (size_t i = 0, moves = 0; i < guesses->outage_count; i++) {
        int64_t back = strcmp (guesses->outages[i].target, target) == 0
                           ? outage_end (guesses, &guesses->outages[i], at)
                           : at;
        if (back > at && ++moves > OUTAGES_MAX)
            return NEVER;
        if (back > at)
            at = back, i = SIZE_MAX;
    }
    return at;
}

// One attempt of a call from `at` on: when it ends, and how.
static int64_t attempt (struct simulation *self, struct pending *call, const struct flow_call *what,
                        json_t *frames, int64_t at, int64_t failures)
{
    const struct flow_guess *guess = guess_of (self, call->step);
    int64_t last = guess && guess->last_ms >= 0 ? guess->last_ms : self->guesses->last_ms;
    int64_t timeout = json_integer_value (json_object_get (what->fields, "timeout")) * 1000;
    bool fails = guess && !call->undo && (guess->failures < 0 || failures < guess->failures);
    const struct flow *inner = what->is_flow && self->guesses->find && !call->undo
                                   ? self->guesses->find (self->guesses->context, what->target)
                                   : NULL;
    call->status = fails ? FLOW_NOT_OK : FLOW_OK;
    if (guess && guess->never && !call->undo)
        last = NEVER;
    if (inner && self->depth < FLOW_DEPTH_MAX) {
        char path[1024];
        snprintf (path, sizeof path, "%s%s/", self->path, self->flow->steps[call->step].name);
        json_t *result = simulate (self, inner, at, json_object_get (frames, "json"), path);
        json_t *ended = json_object_get (result, "ended");
        last = ended ? json_integer_value (ended) - at : NEVER;
        const char *outcome = json_string_value (json_object_get (result, "outcome"));
        if (strcmp (outcome, "finished") != 0)
            call->status = FLOW_NOT_OK;
        json_decref (call->value);
        call->value = json_incref (json_object_get (result, "output"));
        json_decref (result);
    }
    if (timeout && last > timeout) {
        last = timeout;
        call->status = FLOW_NOT_OK;
    }
    return last > NEVER - at ? NEVER : at + last;
}

static void schedule (struct simulation *self, struct pending *what, int64_t at)
{
    what->next = self->all;
    self->all = what;
    if (at != NEVER)
        heap_set (&self->due, &what->node, at);
}

// All attempts of a call: when it ends, `limit` at the latest, and how.
static int64_t attempts (struct simulation *self, struct pending *call,
                         const struct flow_effect *effect, int64_t limit)
{
    const struct flow_call *what = effect->call;
    const json_t *rule = json_object_get (what->fields, "retry");
    struct span_of_step *span = &self->spans[effect->step];
    struct retry_policy retry = {.strategy = RETRY_NONE};
    struct reason reason;
    int64_t at = self->now;
    char why[128];
    if (rule)
        retry_rule_read (rule, &retry, &reason);
    for (int64_t failures = 0; at < limit && failures < ATTEMPTS_MAX;) {
        int64_t back = target_back (self, what->target, at);
        if (back > at) {
            span->held += (back < limit ? back : limit == NEVER ? at : limit) - at;
            snprintf (why, sizeof why, "target %.64s is away", what->target);
            note (self, at, effect->step, effect->item, "wait", why);
            at = back;
            continue;
        }
        at = attempt (self, call, what, effect->frames, at, failures);
        if (at == NEVER || at > limit)
            break;
        if (call->status == FLOW_OK)
            return at;
        if (retry_is_over (&retry, ++failures)) {
            if (!retry.need_manual)
                return at;
            note (self, at, effect->step, effect->item, "wait", "for an operator (need_manual)");
            return NEVER;
        }
        int64_t delay = retry_delay_ms (&retry, failures, 0);
        snprintf (why, sizeof why, "attempt %lld failed, the next in %lld ms", (long long)failures,
                  (long long)delay);
        note (self, at, effect->step, effect->item, "retry", why);
        at += delay;
    }
    // After so many failures it is taken to fail for ever.
    call->status = FLOW_NOT_OK;
    return limit;
}

static void place (struct simulation *self, const struct flow_effect *effect)
{
    struct pending *call = memory_new (sizeof *call);
    struct span_of_step *span = &self->spans[effect->step];
    const struct flow_guess *guess = guess_of (self, effect->step);
    int64_t total = json_integer_value (json_object_get (effect->call->fields, "total_timeout"));
    char why[128] = "";
    *call = (struct pending){.step = effect->step,
                             .item = effect->item,
                             .undo = effect->undo,
                             .generation = effect->generation,
                             .value = guess && guess->value ? json_incref (guess->value) : NULL};
    if (span->begin < 0 && !effect->undo)
        span->begin = self->now;
    if (!effect->undo && self->now > span->ready && span->ready >= 0 && effect->item <= 0)
        snprintf (why, sizeof why, "waited %lld ms for a free slot (max_parallel)",
                  (long long)(self->now - span->ready));
    else if (!effect->undo && effect->item <= 0)
        flow_why_starts (self->flow, self->run, effect->step, why, sizeof why);
    note (self, self->now, effect->step, effect->item, effect->undo ? "undo" : "start", why);
    int64_t limit = total && !effect->undo ? self->now + total * 1000 : NEVER;
    schedule (self, call, attempts (self, call, effect, limit));
}

static void begin_timer (struct simulation *self, const struct flow_effect *effect)
{
    struct pending *timer = memory_new (sizeof *timer);
    *timer = (struct pending){.step = effect->step, .item = -1, .timer = true};
    schedule (self, timer, effect->at);
}

// What was cancelled ends now.
static void take_back (struct simulation *self, const struct flow_effect *effect)
{
    for (struct pending *at = self->all; at; at = at->next)
        if (at->step == effect->step && at->item == effect->item && !at->undo) {
            at->status = FLOW_CALL_CANCELLED;
            if (at->timer)
                heap_remove (&self->due, &at->node);
            else
                heap_set (&self->due, &at->node, self->now);
        }
}

// A signal arrives when it has been waited for as long as its step lasts.
static void expect_signal (struct simulation *self, uint32_t step)
{
    const struct flow_guess *guess = guess_of (self, step);
    if (guess && guess->never)
        return;
    struct pending *signal = memory_new (sizeof *signal);
    *signal = (struct pending){.step = step,
                               .item = -2,
                               .value = guess && guess->value ? json_incref (guess->value) : NULL};
    schedule (self, signal,
              self->now + (guess && guess->last_ms >= 0 ? guess->last_ms : self->guesses->last_ms));
}

static void show_change (struct simulation *self, uint32_t step)
{
    const struct flow_node *node = &self->run->nodes[step];
    const struct flow_data *data = self->run->data[step];
    struct span_of_step *span = &self->spans[step];
    const char *why = data ? data->error : NULL;
    char text[256] = "";
    if (span->ready < 0 && (node->state == FLOW_NEW || node->state == FLOW_RUNNING))
        span->ready = self->now;
    if (node->state == FLOW_RUNNING && self->flow->steps[step].kind != FLOW_CALL) {
        span->begin = self->now;
        if (self->flow->steps[step].kind == FLOW_SIGNAL)
            flow_why_waits (&self->flow->steps[step], text, sizeof text);
        else
            flow_why_starts (self->flow, self->run, step, text, sizeof text);
        note (self, self->now, step, -1, "wait", text);
        if (self->flow->steps[step].kind == FLOW_SIGNAL)
            expect_signal (self, step);
    }
    if (node->flags & FLOW_BLOCKED) {
        flow_why_blocked (self->flow, self->run, step, text, sizeof text);
        note (self, self->now, step, -1, "blocked", text);
    }
    if (node->state < FLOW_FINISHED)
        return;
    if (node->state == FLOW_SKIPPED)
        why = node->flags & FLOW_STARTED  ? "no signal in time"
              : node->flags & FLOW_JOINED ? "its if is false"
                                          : "no edge to it is live";
    span->end = self->now;
    if (span->begin < 0)
        span->begin = self->now;
    note (self, self->now, step, -1, flow_state_name (node->state), why);
}

static void carry (struct simulation *self, const struct flow_event *event)
{
    const struct flow_event more = {.kind = FLOW_CHECK, .item = -1};
    struct flow_effects effects = {.count = 0};
    flow_step (self->flow, self->run, event, self->now, &effects);
    while (effects.more)
        flow_step (self->flow, self->run, &more, self->now, &effects);
    for (size_t i = 0; i < effects.changed_count; i++)
        show_change (self, effects.changed[i]);
    for (size_t i = 0; i < effects.count; i++) {
        const struct flow_effect *effect = &effects.items[i];
        if (effect->kind == FLOW_PLACE)
            place (self, effect);
        else if (effect->kind == FLOW_TIMER)
            begin_timer (self, effect);
        else
            take_back (self, effect);
    }
    flow_effects_clear (&effects);
}

// From the step that ended last back to a root: always over the source that ended last before.
static json_t *critical_path (const struct simulation *self)
{
    const struct flow *flow = self->flow;
    json_t *path = json_array ();
    int64_t at = -1;
    for (uint32_t i = 0; i < flow->step_count; i++)
        if (self->spans[i].end >= 0 && self->run->nodes[i].flags & FLOW_STARTED &&
            i != flow->final && (at < 0 || self->spans[i].end > self->spans[at].end))
            at = i;
    while (at >= 0) {
        const struct flow_step *step = &flow->steps[at];
        const struct span_of_step *span = &self->spans[at];
        json_t *row = json_pack ("{s:s, s:I, s:I}", "step", step->name, "from",
                                 (json_int_t)span->begin, "to", (json_int_t)span->end);
        if (span->ready >= 0 && span->begin > span->ready)
            json_object_set_new (row, "slot_ms", json_integer (span->begin - span->ready));
        if (span->held)
            json_object_set_new (row, "target_ms", json_integer (span->held));
        json_array_insert_new (path, 0, row);
        at = -1;
        for (uint32_t i = 0; i < step->in_count; i++) {
            uint32_t source = flow->in[step->in_first + i].step;
            int64_t end = self->spans[source].end;
            if (end >= 0 && end <= span->begin && (at < 0 || end > self->spans[at].end))
                at = source;
        }
    }
    return path;
}

static void run_all (struct simulation *self, json_t *input)
{
    struct flow_event begin = {.kind = FLOW_BEGIN, .item = -1, .value = input};
    struct heap_node *node;
    int64_t limit = self->flow->timeout_s ? self->now + self->flow->timeout_s * 1000 : NEVER;
    carry (self, &begin);
    while ((node = heap_first (&self->due)) || limit != NEVER) {
        struct pending *what = (struct pending *)node;
        struct flow_event event = {.kind = FLOW_TIMEOUT, .item = -1};
        if (self->run->phase == FLOW_ENDED || json_array_size (self->events) >= FLOW_SIMULATED_MAX)
            break;
        if (!what || what->node.at > limit) {
            self->now = limit;
            limit = NEVER;
            carry (self, &event);
            continue;
        }
        self->now = what->node.at;
        heap_remove (&self->due, node);
        event = (struct flow_event){.kind = what->timer        ? FLOW_DUE
                                            : what->item == -2 ? FLOW_SIGNALLED
                                                               : FLOW_CALL_ENDED,
                                    .step = what->step,
                                    .item = what->item == -2 ? -1 : what->item,
                                    .generation = what->generation,
                                    .undo = what->undo,
                                    .status = what->status,
                                    .text = what->status == FLOW_CALL_CANCELLED ? NULL : "failed",
                                    .value = what->value};
        const json_t *who = self->flow->steps[what->step].signal_who;
        if (event.kind == FLOW_SIGNALLED && who)
            event.key = json_string_value (json_array_get (who, 0));
        for (uint32_t i = 0;
             event.kind == FLOW_SIGNALLED && i + 1 < self->flow->steps[what->step].signal_count &&
             self->run->nodes[what->step].state == FLOW_RUNNING;
             i++) {
            carry (self, &event);
            if (who)
                event.key =
                    json_string_value (json_array_get (who, (i + 1) % json_array_size (who)));
        }
        carry (self, &event);
    }
}

static json_t *report (const struct simulation *self, int64_t began)
{
    static const char *const outcomes[] = {"waiting", "finished", "failed", "cancelled", "timeout"};
    const struct flow_run *run = self->run;
    bool ended = run->phase == FLOW_ENDED;
    json_t *ret =
        json_pack ("{s:s, s:I, s:s, s:o}", "flow", self->flow->name, "began", (json_int_t)began,
                   "outcome", outcomes[ended ? run->outcome : 0], "critical", critical_path (self));
    json_object_set_new (ret, ended ? "ended" : "until", json_integer (self->now));
    if (run->output)
        json_object_set (ret, "output", run->output);
    if (run->error)
        json_object_set_new (ret, "error", json_string (run->error));
    if (run->uncaught)
        json_object_set (ret, "uncaught", run->uncaught);
    json_t *waits = json_array ();
    for (uint32_t i = 0; !ended && i < self->flow->step_count; i++)
        if (run->nodes[i].state == FLOW_RUNNING || run->nodes[i].flags & FLOW_PLACED)
            json_array_append_new (waits, json_string (self->flow->steps[i].name));
    if (run->undo_parked)
        json_array_append_new (waits, json_string ("an operator: an undo has failed"));
    json_object_set_new (ret, "waits", waits);
    return ret;
}

// A run; of a sub-flow within the run of `outer`.
static json_t *simulate (const struct simulation *outer, const struct flow *flow, int64_t at,
                         json_t *input, const char *path)
{
    struct simulation self = *outer;
    const struct flow_guesses *guesses = self.guesses;
    self.flow = flow;
    self.path = path;
    self.run = flow_run_new (flow, "simulated");
    self.spans = memory_new ((flow->step_count + 1) * sizeof *self.spans);
    self.due = (struct heap){NULL};
    self.all = NULL;
    self.now = at;
    self.depth++;
    for (uint32_t i = 0; i < flow->step_count; i++)
        self.spans[i] = (struct span_of_step){-1, -1, -1, 0};
    self.run->fire = self.run->created = local_of (guesses, self.fire);
    self.run->start = local_of (guesses, at);
    self.run->zone = guesses->zone;
    run_all (&self, input);
    json_t *ret = report (&self, at);
    for (struct pending *one = self.all, *next; one; one = next) {
        next = one->next;
        json_decref (one->value);
        free (one);
    }
    heap_free (&self.due);
    free (self.spans);
    flow_run_destroy (&self.run, flow);
    return ret;
}

struct order {
    int64_t at;
    size_t place;
};

static int earlier_first (const void *a, const void *b)
{
    const struct order *left = a, *right = b;
    if (left->at != right->at)
        return left->at < right->at ? -1 : 1;
    return left->place < right->place ? -1 : 1;
}

// A call is played to its end when it is placed, so its events are before those of other steps.
static json_t *sort_events (const json_t *events)
{
    size_t count = json_array_size (events), index;
    struct order *order = memory_new ((count + 1) * sizeof *order);
    json_t *row, *ret = json_array ();
    json_array_foreach (events, index, row) order[index] =
        (struct order){json_integer_value (json_object_get (row, "at")), index};
    qsort (order, count, sizeof *order, earlier_first);
    for (size_t i = 0; i < count; i++)
        json_array_append (ret, json_array_get (events, order[i].place));
    free (order);
    return ret;
}

json_t *flow_simulate (const struct flow *flow, const struct flow_guesses *guesses, int64_t at_ms,
                       json_t *input)
{
    json_t *events = json_array ();
    const struct simulation outer = {.guesses = guesses, .events = events, .fire = at_ms};
    json_t *ret = simulate (&outer, flow, at_ms, input, "");
    json_object_set_new (ret, "events", sort_events (events));
    json_decref (events);
    return ret;
}
