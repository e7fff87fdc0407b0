#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "failpoint.h"
#include "flow_book.h"
#include "flow_live.h"
#include "flow_redis.h"
#include "flow_runs_private.h"
#include "memory.h"
#include "redis_keys.h"
#include "runs.h"

enum {
    LIVES_MAX = 4096,      // runs in memory; the least recently used are evicted first
    BYTES_MAX = 268435456, // approximate bytes of all runs in memory
    KEEP_US = 5000000,     // a run that is unused for this time is evicted if there are too many
    IDLE_US = 30000000,    // a run that is unused for this time is evicted in any case
    CANCELS_TURN = 256     // plans cancelled in one turn
};

// A caller that waits for a run that is being read.
struct run_waiter {
    struct run_waiter *next;
    flow_loaded_fn *call;
    void *owner;
};

struct run_load {
    struct table_node node; // in flow_runs.loads, by the number of the run
    uint64_t run;
    struct run_waiter *first, **last;
};

struct flow_runs {
    struct table lives, loads;
    struct flow_live *oldest, *newest; // list of `lives` by last use
    size_t bytes;                      // bytes of all runs
    uint64_t resets;                   // store_resets () when the runs were read
    flow_cancel_fn *cancel;
    struct flow_cancel *cancels; // pending cancels of runs
    size_t cancel_count, cancel_room;
    struct task task; // executes `cancels`
};

// -- the runs in memory

static void unlink_from_used (struct flow_runs *runs, struct flow_live *live)
{
    *(live->older ? &live->older->newer : &runs->oldest) = live->newer;
    *(live->newer ? &live->newer->older : &runs->newest) = live->older;
    live->older = live->newer = NULL;
}

static void link_as_newest (struct flow_runs *runs, struct flow_live *live)
{
    live->older = runs->newest;
    *(live->older ? &live->older->newer : &runs->oldest) = live;
    runs->newest = live;
    live->used_us = clock_mono_us ();
}

void flow_live_update_size (struct flow_live *live)
{
    struct flow_runs *runs = live->station->flow_runs;
    size_t bytes = sizeof *live + live->run->data_size + live->run->error_bytes +
                   live->flow->step_count * (sizeof *live->run->nodes + sizeof *live->run->data);
    runs->bytes = runs->bytes - live->bytes + bytes;
    live->bytes = bytes;
}

void flow_live_free (struct flow_live *live)
{
    flow_run_destroy (&live->run, live->flow);
    flow_book_release (live->station, live->flow);
    free (live->caller);
    json_decref (live->inherit);
    json_decref (live->subs);
    free (live);
}

void flow_live_forget (struct flow_live *live)
{
    struct flow_runs *runs = live->station->flow_runs;
    table_remove (&runs->lives, &live->node);
    unlink_from_used (runs, live);
    runs->bytes -= live->bytes;
    flow_live_free (live);
}

static void forget_all_runs (struct flow_runs *runs)
{
    for (struct table_node *node; (node = table_any (&runs->lives));)
        flow_live_forget ((struct flow_live *)node); // `node` is the first member
    runs->cancel_count = 0;
}

// Return the runs in memory. After a reset of the store they are forgotten, and read from Redis
// when needed.
static struct flow_runs *current_runs (struct station *self)
{
    struct flow_runs *runs = self->flow_runs;
    if (runs->resets != store_resets (self->store))
        forget_all_runs (runs);
    runs->resets = store_resets (self->store);
    return runs;
}

struct flow_live *flow_live_find (struct station *self, uint64_t run)
{
    struct flow_runs *runs = current_runs (self);
    struct table_node *node = table_find (&runs->lives, table_hash_number (run));
    while (node && ((struct flow_live *)node)->id != run)
        node = table_next (node);
    struct flow_live *live = (struct flow_live *)node;
    if (live) {
        unlink_from_used (runs, live);
        link_as_newest (runs, live);
    }
    return live;
}

bool flow_runs_has (struct station *self, uint64_t run)
{
    return flow_live_find (self, run);
}

// Whether all changes of the run are in Redis, so that it may be evicted.
static bool run_is_written (const struct station *self, const struct flow_live *live)
{
    return store_batch (self->store) > live->batch + 1 || store_is_settled (self->store);
}

// Evict idle runs, the least recently used first. If there are too many, idle runs are evicted
// sooner, and runs that only wait at once.
static void evict_idle_runs (struct station *self)
{
    struct flow_runs *runs = self->flow_runs;
    bool few = FAILPOINT_IS ("flow_few_lives");
    size_t max = few ? 1 : LIVES_MAX;
    int64_t now_us = clock_mono_us ();
    for (struct flow_live *live = runs->oldest, *newer; live; live = newer) {
        bool full = runs->lives.count >= max || runs->bytes > BYTES_MAX;
        bool waits = live->run->in_flight == 0 && live->run->waiting > 0;
        int64_t stays_us = !full ? IDLE_US : few || waits ? 0 : KEEP_US;
        if (now_us - live->used_us <= stays_us || !run_is_written (self, live))
            return;
        newer = live->newer;
        flow_live_forget (live);
    }
}

void flow_runs_tick (struct station *self)
{
    current_runs (self);
    evict_idle_runs (self);
}

void flow_live_add (struct station *self, struct flow_live *live)
{
    struct flow_runs *runs = current_runs (self);
    evict_idle_runs (self);
    live->station = self;
    live->batch = store_batch (self->store);
    link_as_newest (runs, live);
    flow_live_update_size (live);
    table_add (&runs->lives, &live->node, table_hash_number (live->id));
}

// -- runs that are being read

static struct run_load *find_run_load (const struct flow_runs *runs, uint64_t run)
{
    struct table_node *node = table_find (&runs->loads, table_hash_number (run));
    while (node && ((struct run_load *)node)->run != run)
        node = table_next (node);
    return (struct run_load *)node;
}

// A run was read, or could not be: keep it, and call all callers that wait for it.
static void on_live_read (struct station *self, uint64_t run, struct flow_live *live, bool lost,
                          const char *damage)
{
    struct flow_runs *runs = self->flow_runs;
    struct run_load *load = find_run_load (runs, run);
    struct flow_live *present = flow_live_find (self, run);
    bool found = live || present || lost; // `lost` counts as found: the caller has to retry
    if (live)
        FAILPOINT ("flow_read");
    if (live && !present)
        flow_live_add (self, live);
    else if (live) // the run was restarted meanwhile: keep the new one
        flow_live_free (live);
    table_remove (&runs->loads, &load->node);
    for (struct run_waiter *waiter = load->first, *next; waiter; waiter = next) {
        next = waiter->next;
        waiter->call (waiter->owner, found, found ? NULL : damage);
        free (waiter);
    }
    free (load);
}

void flow_runs_load (struct station *self, uint64_t run, flow_loaded_fn *call, void *owner)
{
    struct flow_runs *runs = current_runs (self);
    if (flow_live_find (self, run)) {
        call (owner, true, NULL);
        return;
    }
    struct run_load *load = find_run_load (runs, run);
    struct run_waiter *waiter = memory_new (sizeof *waiter);
    *waiter = (struct run_waiter){.call = call, .owner = owner};
    bool first = !load;
    if (first) {
        load = memory_new (sizeof *load);
        load->run = run;
        load->last = &load->first;
        table_add (&runs->loads, &load->node, table_hash_number (run));
    }
    *load->last = waiter;
    load->last = &waiter->next;
    if (first)
        flow_live_read (self, run, on_live_read);
}

// -- times of the next check

void flow_live_set_due (struct flow_live *live, int64_t due_us)
{
    store_set_flow_due (live->station->store, span_text (live->flow_name), live->plan_id, due_us);
}

int64_t flow_live_next_us (const struct flow_live *live)
{
    int64_t next_us = store_now_us (live->station->store) + FLOW_CHECK_S * INT64_C (1000000);
    int64_t timeout_us = live->timeout_ms * 1000;
    return timeout_us && timeout_us < next_us ? timeout_us : next_us;
}

// -- cancelling runs of calls

// Carry out the queued cancels, at most CANCELS_TURN in a turn.
static void cancel_queued_runs (void *owner)
{
    struct station *self = owner;
    struct flow_runs *runs = self->flow_runs;
    size_t count = runs->cancel_count < CANCELS_TURN ? runs->cancel_count : CANCELS_TURN;
    for (size_t i = 0; i < count; i++)
        runs->cancel (self, &runs->cancels[i]);
    runs->cancel_count -= count;
    memmove (runs->cancels, runs->cancels + count, runs->cancel_count * sizeof *runs->cancels);
    if (runs->cancel_count)
        task_set (&runs->task, self->reactor);
    link_flush (store_link (self->store));
}

void flow_queue_cancel (const struct flow_live *live, uint64_t plan_id, uint64_t exec_id)
{
    struct station *self = live->station;
    struct flow_runs *runs = self->flow_runs;
    FAILPOINT ("flow_cancel");
    runs->cancels =
        memory_grow (runs->cancels, runs->cancel_count, &runs->cancel_room, sizeof *runs->cancels);
    runs->cancels[runs->cancel_count++] = (struct flow_cancel){plan_id, exec_id, live->run->forced};
    task_set (&runs->task, self->reactor);
}

// -- states

const char *flow_live_state (const struct flow_live *live)
{
    const struct flow_run *run = live->run;
    if (run->phase == FLOW_UNDOING)
        return "undoing";
    if (run->phase != FLOW_ENDED)
        return run->suspended ? "suspended" : "running";
    // An ended run has an outcome, unless its row was edited by hand.
    return flow_outcome_names[run->outcome == FLOW_OPEN ? FLOW_BADLY : run->outcome];
}

const char *flow_live_step_state (const struct flow_live *live, uint32_t step, int64_t item)
{
    const struct flow_item *found = flow_item_of (live->run, step, item);
    unsigned state = found ? found->state : live->run->nodes[step].state;
    bool in_flight = live->run->phase != FLOW_UNDOING && flow_call_in_flight (live, step, item);
    uint64_t id = in_flight ? flow_call_id (live, step, item) : 0;
    if (!id || !store_exec_id (live->station->store, id))
        return in_flight ? "new" : flow_state_name (state);
    const struct active_run *active = runs_find (live->station, id);
    return active && active->unanswered ? "accepted" : "running";
}

// -- life

void flow_runs_start (struct station *self, flow_cancel_fn *cancel)
{
    self->flow_runs = memory_new (sizeof *self->flow_runs);
    self->flow_runs->cancel = cancel;
    self->flow_runs->task = (struct task){.call = cancel_queued_runs, .owner = self};
}

void flow_runs_stop (struct station *self)
{
    struct flow_runs *runs = self->flow_runs;
    if (!runs)
        return;
    task_end (&runs->task);
    forget_all_runs (runs);
    table_free (&runs->lives);
    for (struct table_node *node; (node = table_any (&runs->loads));) {
        struct run_load *load = (struct run_load *)node;
        table_remove (&runs->loads, node);
        for (struct run_waiter *waiter = load->first, *next; waiter; waiter = next) {
            next = waiter->next;
            free (waiter);
        }
        free (load);
    }
    table_free (&runs->loads);
    free (runs->cancels);
    free (runs);
    self->flow_runs = NULL;
}

// -- runs of sub-flows, by the call that started them

static const char *sub_run_field (uint32_t step, int64_t item, char out[48])
{
    snprintf (out, 48, item < 0 ? "sub:%" PRIu32 : "sub:%" PRIu32 ".%" PRId64, step, item);
    return out;
}

uint64_t flow_call_run (const struct flow_live *live, uint32_t step, int64_t item)
{
    char name[48];
    const json_t *run = json_object_get (live->subs, sub_run_field (step, item, name));
    return (uint64_t)json_integer_value (run);
}

void flow_call_set_run (struct flow_live *live, uint32_t step, int64_t item, uint64_t run)
{
    char name[48], value[IDENT_SIZE];
    sub_run_field (step, item, name);
    json_object_set_new (live->subs, name, json_integer ((json_int_t)run));
    flow_redis_put (live->station, "HSET " KEY_FLOW_RUN "%s %s %s", live->name, name,
                    ident_text (run, value));
}
