// Random runs of random flows, twice: one stays in memory, the other is written, destroyed and read
// after every call of the step function. Both must do the same. FLOW_ROWS_SEED is the first seed,
// FLOW_ROWS_RUNS how many runs there are; a difference prints its seed.
#include "flow_shelf.h"

#ifdef __SANITIZE_ADDRESS__
enum { RUNS = 300 };
#else
enum { RUNS = 1000 };
#endif
enum { STEPS_MAX = 60, EVENTS_MAX = 160, CALLS_MAX = 4096 };

struct world {
    uint64_t random, seed;
    int64_t now;
    struct flow *flow, *newer; // a version with other texts
    struct flow_run *kept, *read;
    struct shelf shelf;
    struct flow_effect calls[CALLS_MAX]; // that were placed
    size_t call_count, events, reads;
    int timers;       // that were set, and neither removed nor due
    const char *last; // what was done
};

static uint64_t below (struct world *self, uint64_t count)
{
    return next_random (&self->random) % count;
}

static bool chance (struct world *self, unsigned percent)
{
    return below (self, 100) < percent;
}

// -- definitions

static json_t *random_edges (struct world *self, int step)
{
    static const char *const ons[] = {"finished", "failed", "caught", "ended", "skipped"};
    json_t *after = json_array ();
    bool used[STEPS_MAX] = {false};
    for (uint64_t left = 1 + below (self, 3); left > 0; left--) {
        int reach = chance (self, 60) && step > 4 ? 4 : step,
            source = step - 1 - (int)below (self, (uint64_t)reach);
        char name[16];
        if (used[source])
            continue;
        used[source] = true;
        snprintf (name, sizeof name, "s%d", source);
        json_array_append_new (after, chance (self, 60)
                                          ? json_string (name)
                                          : json_pack ("{s:s, s:[s, s]}", "step", name, "on",
                                                       ons[below (self, 5)], ons[below (self, 5)]));
        json_t *edge = json_array_get (after, json_array_size (after) - 1);
        json_t *on = json_object_get (edge, "on");
        if (on && json_equal (json_array_get (on, 0), json_array_get (on, 1)))
            json_array_remove (on, 1);
    }
    return after;
}

static const char *random_list (struct world *self)
{
    static const char *const lists[] = {
        "=input.list",    "=0", "=1", "=7", "=[1, 'x', null]", "=[1.5, 2, 3, 4, 5, 6]",
        "=input.nothing", "=12"};
    return lists[below (self, sizeof lists / sizeof *lists)];
}

// The value of a source; of the first steps another one.
static json_t *random_read (const char *mark, const json_t *source, const char *rest)
{
    const char *name = json_string_value (source);
    return name ? json_sprintf ("%sdefault(steps['%s'].value, 5)%s", mark, name, rest)
                : json_sprintf ("%sp%s", mark, rest);
}

static json_t *random_call (struct world *self, const json_t *source)
{
    static const char *const jsons[] = {"plain", "=t", "=default(input.list, 1)", "=1 / (p % 3)"};
    json_t *body = json_pack ("{s:s}", "target", chance (self, 15) ? "sub" : "t");
    json_object_set_new (body, "json",
                         chance (self, 50)
                             ? random_read ("=", source, "")
                             : json_string (jsons[below (self, chance (self, 90) ? 3 : 4)]));
    bool is_flow = strcmp (json_string_value (json_object_get (body, "target")), "sub") == 0;
    if (chance (self, 35)) {
        static const char *const collects[] = {"list", "list", "count", "none"};
        json_object_set_new (body, "for_each", json_string (random_list (self)));
        json_object_set_new (body, "collect", json_string (collects[below (self, 4)]));
        if (chance (self, 50))
            json_object_set_new (body, "tolerate", json_integer ((json_int_t)below (self, 3)));
        else if (chance (self, 50))
            json_object_set_new (body, "tolerate", json_string ("40%"));
        if (chance (self, 50))
            json_object_set_new (body, "max_parallel",
                                 json_integer (1 + (json_int_t)below (self, 3)));
    }
    if (chance (self, 30))
        json_object_set_new (body, "total_timeout", json_integer (3));
    if (chance (self, 10))
        json_object_set_new (body, "output", json_string ("default(result.x, p)"));
    if (chance (self, 30)) {
        json_t *undo = json_pack ("{s:s, s:s}", "target", "t", "json",
                                  chance (self, 90) ? "=default(self.value, 0)" : "=1 / 0");
        if (is_flow && chance (self, 50)) {
            json_decref (undo);
            undo = json_string ("inner");
        } else if (chance (self, 40)) {
            json_object_set_new (undo, "on", json_string ("started"));
        }
        json_object_set_new (body, "undo", undo);
    }
    return body;
}

static json_t *random_step (struct world *self, int step)
{
    uint64_t kind = below (self, 10);
    json_t *after = step > 0 && chance (self, 85) ? random_edges (self, step) : NULL, *body;
    const json_t *source = json_array_get (after, 0);
    if (kind < 6)
        body = random_call (self, source);
    else if (kind == 6)
        body = json_pack ("{s:{s:o}}", "let", "x",
                          chance (self, 80) ? random_read ("", source, " == 1")
                                            : json_string ("1 / (p % 2)"));
    else if (kind == 7)
        body = chance (self, 50) ? json_pack ("{s:i}", "wait", (int)below (self, 3) * 30)
                                 : json_pack ("{s:s}", "wait", "=t.plusHours(p)");
    else {
        json_t *signal = json_object ();
        body = json_pack ("{s:o}", "signal", signal);
        json_object_set_new (signal, "count", json_integer (1 + (json_int_t)below (self, 3)));
        if (chance (self, 50)) {
            uint64_t how = below (self, 3);
            json_object_set_new (signal, "timeout", json_integer (60));
            json_object_set_new (signal, "on_timeout",
                                 how == 0   ? json_string ("fail")
                                 : how == 1 ? json_string ("skip")
                                            : json_pack ("{s:s}", "value", "=p"));
        }
        if (chance (self, 30))
            json_object_set_new (signal, "who", json_pack ("[s, s]", "k*", "lead"));
    }
    if (after) {
        size_t count = json_array_size (after);
        json_object_set_new (body, "after", after);
        if (chance (self, 35))
            json_object_set_new (body, "join",
                                 chance (self, 50)
                                     ? json_string ("any")
                                     : json_integer (1 + (json_int_t)below (self, count)));
    }
    if (chance (self, 20))
        json_object_set_new (body, "if",
                             json_string (chance (self, 90) ? "p % 4 != 0" : "1 / 0 == 1"));
    if (chance (self, 15))
        json_object_set_new (body, "on_error", json_string ("continue"));
    return body;
}

static bool know_target (void *context, const char *name, struct flow_target *ret)
{
    static const struct flow_report report = {.bounded = true};
    (void)context;
    *ret = (struct flow_target){.is_flow = strcmp (name, "sub") == 0, .report = &report};
    return true;
}

static struct flow *define (struct world *self, json_t *definition)
{
    const struct flow_world world = {.target = know_target};
    json_t *errors = NULL;
    struct flow *flow = flow_read (definition, &world, &errors);
    if (!flow)
        fail_msg ("seed %llu: %s: %s", (unsigned long long)self->seed,
                  json_dumps (definition, JSON_COMPACT), json_dumps (errors, 0));
    return flow;
}

static void define_both (struct world *self)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 13, 20, 30, STEPS_MAX - 1};
    int count = sizes[below (self, sizeof sizes / sizeof *sizes)];
    json_t *steps = json_object (), *definition;
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf (name, sizeof name, "s%d", i);
        json_object_set_new (steps, name, random_step (self, i));
    }
    definition = json_pack (
        "{s:s, s:i, s:b, s:o, s:{s:i, s:{s:s, s:s}}}", "flow", "f", "max_parallel",
        (int)below (self, 7), "fail_fast", (int)chance (self, 20), "steps", steps, "params", "p",
        (int)below (self, 6), "t", "type", "time", "default", "=idc.shouldFireTime.plusDays(1)");
    if (chance (self, 40)) {
        json_object_set_new (steps, "last", json_pack ("{s:s}", "target", "t"));
        json_object_set_new (definition, "finally", json_string ("last"));
    }
    if (chance (self, 20))
        json_object_set_new (
            definition, "output",
            json_string (chance (self, 80) ? "=default(steps['s0'].value, p)" : "=1 / 0"));
    self->flow = define (self, definition);
    const char *name;
    json_t *step;
    json_object_foreach (steps, name, step)
    {
        if (chance (self, 80))
            continue;
        json_object_set_new (step, "remark", json_string ("another text"));
        if (chance (self, 50))
            json_object_set_new (step, "on_error", json_string ("continue"));
    }
    json_object_set_new (json_object_get (definition, "params"), "more", json_integer (1));
    self->newer = define (self, definition);
    json_decref (definition);
}

// -- events

static void remember (struct world *self, const struct flow_effects *effects)
{
    for (size_t i = 0; i < effects->count; i++) {
        const struct flow_effect *effect = &effects->items[i];
        self->timers += (effect->kind == FLOW_TIMER) - (effect->kind == FLOW_REMOVE_TIMER);
        bool ends =
            effect->kind == FLOW_PLACE || (effect->kind == FLOW_REMOVE && chance (self, 30));
        if (ends && self->call_count < CALLS_MAX)
            self->calls[self->call_count++] = *effect;
    }
}

static void reread (struct world *self)
{
    struct reason reason;
    shelf_write (&self->shelf, self->flow, self->read);
    flow_run_destroy (&self->read, self->flow);
    self->read = shelf_read (&self->shelf, self->flow, &reason);
    self->reads++;
    if (!self->read)
        fail_msg ("seed %llu, event %zu (%s): not read: %s", (unsigned long long)self->seed,
                  self->events, self->last, reason.text);
    const char *part = runs_differ (self->flow, self->kept, self->read);
    if (part)
        fail_msg ("seed %llu, event %zu (%s): %s differs", (unsigned long long)self->seed,
                  self->events, self->last, part);
}

static void carry (struct world *self, const struct flow_event *event)
{
    const struct flow_event more = {.kind = FLOW_CHECK, .item = -1};
    bool again;
    self->events++;
    do {
        struct flow_effects kept = {.count = 0}, read = {.count = 0};
        flow_step (self->flow, self->kept, event, self->now, &kept);
        flow_step (self->flow, self->read, event, self->now, &read);
        if (!same_effects (&kept, &read))
            fail_msg ("seed %llu, event %zu (%s): %zu and %zu effects, %s, %s, in step %u",
                      (unsigned long long)self->seed, self->events, self->last, kept.count,
                      read.count, kept.rejected.text, read.rejected.text, event->step);
        if (event->former && kept.rejected.text[0])
            self->flow = (struct flow *)event->former;
        remember (self, &kept);
        self->timers -= event->kind == FLOW_TIMER_DUE && !kept.dropped;
        if (self->kept->phase == FLOW_ENDED && self->timers)
            fail_msg ("seed %llu, event %zu (%s): it has ended, and has %d timers",
                      (unsigned long long)self->seed, self->events, self->last, self->timers);
        reread (self);
        again = kept.more;
        flow_effects_clear (&kept);
        flow_effects_clear (&read);
        event = &more;
    } while (again);
}

static json_t *random_value (struct world *self)
{
    switch (below (self, 9)) {
    case 0:
        return NULL;
    case 1:
        return json_null ();
    case 2:
        return json_pack ("{s:f, s:[i, s]}", "x", 0.1 * (double)below (self, 1000), "a b", 1,
                          "\xe2\x82\xac \"\\");
    case 3: {
        size_t size = chance (self, 20) ? FLOW_VALUE_MAX + 10 : 200;
        char *text = calloc (size + 1, 1);
        memset (text, 'x', size);
        json_t *value = json_string (text);
        free (text);
        return value;
    }
    default:
        return json_integer ((json_int_t)below (self, 20));
    }
}

static bool end_call (struct world *self, struct flow_event *event)
{
    if (!self->call_count)
        return false;
    size_t at = below (self, self->call_count);
    const struct flow_effect call = self->calls[at];
    if (chance (self, 95))
        self->calls[at] = self->calls[--self->call_count];
    uint64_t how = below (self, 10);
    event->kind = FLOW_CALL_ENDED;
    event->step = call.step;
    event->item = call.item;
    event->undo = call.undo;
    event->generation =
        call.kind == FLOW_REMOVE ? self->kept->nodes[call.step].generation : call.generation;
    event->status = call.kind == FLOW_REMOVE ? FLOW_CALL_CANCELLED
                    : how < 7                ? FLOW_OK
                    : how < 9                ? FLOW_NOT_OK
                                             : FLOW_CALL_CANCELLED;
    if (event->status == FLOW_OK)
        event->value = random_value (self);
    else if (chance (self, 80))
        event->text = "went wrong: \xff\x01 \xe2\x82";
    self->last = "a call ended";
    return true;
}

static json_t *random_names (struct world *self)
{
    json_t *names = json_array ();
    for (uint64_t left = 1 + below (self, 2); left > 0; left--) {
        uint32_t step = (uint32_t)below (self, self->flow->step_count);
        const struct flow_data *data = self->kept->data[step];
        char name[96];
        if (data && data->items && data->items->count && chance (self, 70))
            snprintf (name, sizeof name, "%s.%u", self->flow->steps[step].name,
                      (unsigned)below (self, data->items->count));
        else
            snprintf (name, sizeof name, "%s", self->flow->steps[step].name);
        json_array_append_new (names, json_string (name));
    }
    return names;
}

// Where waits or signals are in progress, mostly one of them.
static uint32_t random_waiting (struct world *self)
{
    uint32_t step = (uint32_t)below (self, self->flow->step_count);
    for (uint32_t i = 0; i < self->flow->step_count && chance (self, 95); i++) {
        const struct flow_step *at = &self->flow->steps[step];
        if (at->kind == FLOW_SIGNAL || (at->kind == FLOW_WAIT && chance (self, 50)))
            break;
        step = (step + 1) % self->flow->step_count;
    }
    return step;
}

static void choose (struct world *self, struct flow_event *event)
{
    static const char *const keys[] = {"k1", "k2", "lead", "nobody", NULL};
    uint64_t dice = below (self, 100);
    uint32_t step = random_waiting (self);
    const struct flow_data *data;
    event->step = step;
    self->now += (int64_t)below (self, 3000);
    if (dice < 60 && end_call (self, event))
        return;
    if (dice < 76) {
        event->kind = chance (self, 85) ? FLOW_SIGNALLED : FLOW_REJECTED;
        event->key = keys[below (self, 5)];
        event->value = random_value (self);
        event->text = "no";
        self->last = "signal";
    } else if (dice < 84) {
        data = self->kept->data[step];
        event->kind = FLOW_TIMER_DUE;
        if (self->call_count && chance (self, 50)) {
            const struct flow_effect *call = &self->calls[below (self, self->call_count)];
            event->step = call->step;
            event->item = call->item;
            event->generation = call->generation;
            event->text = chance (self, 50) ? "not yet" : NULL;
        } else if (data && data->at > self->now && chance (self, 80))
            self->now = data->at;
        self->last = "due";
    } else if (dice < 88) {
        event->kind = FLOW_SKIP;
        event->step = step = (uint32_t)below (self, self->flow->step_count);
        data = self->kept->data[step];
        if (data && data->items && data->items->count && chance (self, 75))
            event->item = (int64_t)below (self, data->items->count);
        event->value = random_value (self);
        self->last = "skip";
    } else if (dice < 93) {
        event->kind = FLOW_RETRY;
        event->steps = chance (self, 60) ? random_names (self) : NULL;
        event->fresh = chance (self, 25);
        event->restart = chance (self, 20);
        if (self->newer != self->flow && chance (self, 20)) {
            event->former = self->flow;
            event->version = 2;
        }
        self->last = "retry";
    } else if (dice < 97) {
        event->kind = self->kept->suspended || chance (self, 40) ? FLOW_RESUME : FLOW_SUSPEND;
        self->last = "suspend or resume";
    } else if (dice < 98) {
        event->kind = chance (self, 60) ? FLOW_CANCEL : FLOW_TIMEOUT;
        event->force = chance (self, 30);
        self->last = "cancel or timeout";
    } else if (dice < 99) {
        event->kind = chance (self, 50) ? FLOW_UNDO_DONE : FLOW_UNDO_RESET;
        self->last = "undo resolved";
    } else {
        event->kind = chance (self, 50) ? FLOW_UNDO : FLOW_CHECK;
        self->last = "undo or check";
    }
}

static void play (struct world *self)
{
    json_t *input = json_pack ("{s:[i, s, n, {s:i}]}", "list", 1, "two", "four", 4);
    struct flow_event begin = {.kind = FLOW_BEGIN, .item = -1, .value = input};
    if (chance (self, 3))
        json_object_set_new (input, "t", json_integer (1)); // its params fail
    self->kept = flow_run_new (self->flow, "1f");
    self->kept->fire = 1711873800;
    self->kept->start = self->kept->fire + 3;
    self->kept->created = -86400;
    self->now = self->kept->fire * 1000;
    if (chance (self, 50))
        self->kept->batch = 1700000000;
    self->read = flow_run_new (self->flow, "1f");
    self->read->fire = self->kept->fire;
    self->read->start = self->kept->start;
    self->read->created = self->kept->created;
    self->read->batch = self->kept->batch;
    self->last = "begin";
    reread (self);
    carry (self, &begin);
    json_decref (input);
    size_t over = 0;
    while (self->events < EVENTS_MAX && over < 12) {
        struct flow_event event = {.kind = FLOW_CHECK, .item = -1};
        if (self->kept->undo_parked && chance (self, 30)) {
            event.kind = FLOW_UNDO_DONE; // else the undo stays parked
            self->last = "undo resolved";
        } else {
            choose (self, &event);
        }
        if (event.former)
            self->flow = self->newer;
        carry (self, &event);
        json_decref (event.value);
        json_decref ((json_t *)event.steps);
        over += self->kept->phase == FLOW_ENDED;
    }
}

static void test_random_runs (void **state)
{
    (void)state;
    const char *first = getenv ("FLOW_ROWS_SEED"), *count = getenv ("FLOW_ROWS_RUNS");
    uint64_t from = first ? strtoull (first, NULL, 10) : 1,
             runs = count ? strtoull (count, NULL, 10) : RUNS;
    size_t reads = 0, ended[FLOW_LATE + 1] = {0}, phases[FLOW_ENDED + 1] = {0};
    for (uint64_t seed = from; seed < from + runs; seed++) {
        struct world *self = calloc (1, sizeof *self);
        self->seed = seed;
        self->random = seed * UINT64_C (0x9e3779b97f4a7c15) + 1;
        define_both (self);
        struct flow *flow = self->flow;
        play (self);
        reads += self->reads;
        phases[self->kept->phase]++;
        ended[self->kept->outcome]++;
        flow_run_destroy (&self->kept, self->flow);
        flow_run_destroy (&self->read, self->flow);
        shelf_clear (&self->shelf);
        flow_destroy (&self->newer);
        flow_destroy (&flow);
        free (self);
    }
    printf ("# seeds %llu to %llu: read %zu times; at the end active %zu, undoing %zu, final %zu, "
            "ended %zu; finished %zu, failed %zu, cancelled %zu, late %zu\n",
            (unsigned long long)from, (unsigned long long)(from + runs - 1), reads,
            phases[FLOW_ACTIVE], phases[FLOW_UNDOING], phases[FLOW_FINAL], phases[FLOW_ENDED],
            ended[FLOW_WELL], ended[FLOW_BADLY], ended[FLOW_STOPPED], ended[FLOW_LATE]);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (test_random_runs)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
