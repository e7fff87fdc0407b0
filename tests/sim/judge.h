// The judge of simulated stations. It knows nothing of how they decide: it sees what clients and
// targets see, what was applied to Redis, and what was reported as lost. Each invariant of the
// design is a function of its own; the first thing that breaks one is the verdict.
#pragma once

#include "redis_data.h"

struct judge;

enum {
    JUDGE_TARGETS = 6,
    JUDGE_LIMITED = 2
}; // the first targets have a limit, if the stations know

struct judge *judge_new (void);
void judge_looks_at (struct judge *self, const struct redis_data *data);
void judge_destroy (struct judge **self);

// What is wrong; "" = nothing.
const char *judge_verdict (const struct judge *self);

// The time now: of the world, and as Redis' clock has it.
void judge_time (struct judge *self, int64_t now_us, int64_t redis_us);

// -- what is applied to Redis, by a process (-1: by hand)

void judge_begins (void *self, int process, uint64_t step);
void judge_applies (void *self, const struct span *words, size_t count);
void judge_ends (void *self);

// Redis is as it was so many steps ago; its clock was set; it has no data any more; somebody
// deleted who owns it.
void judge_back (struct judge *self, size_t steps);
void judge_clock_set (struct judge *self);

// A station, Redis or the network between them was stopped, is late or refuses: what is to follow
// may be late.
void judge_stalled (struct judge *self);
void judge_flushed (struct judge *self);
void judge_disowned (struct judge *self);

// -- processes

// It starts, with the folder of a former one (-1: none), which is dead.
void judge_started (struct judge *self, int process, int former);
void judge_died (struct judge *self, int process);

// It finds more applied of its token than it has sent.
void judge_overtaken (struct judge *self, int process);

// It serves, and reported a loss or none.
void judge_serves (struct judge *self, int process, bool lost);

// -- clients

void judge_requested (struct judge *self, uint64_t id, int target);
void judge_submitted (struct judge *self, uint64_t id);
void judge_changed (struct judge *self, uint64_t id, int64_t version);
void judge_removing (struct judge *self, uint64_t id);
void judge_removed (struct judge *self, uint64_t id);
void judge_shown (struct judge *self, int process, uint64_t id, int64_t version);

// Somebody changed this plan in Redis by hand.
void judge_edited (struct judge *self, uint64_t id);

// A group or target has another limit; 0 = none.
void judge_limit (struct judge *self, const char *name, int64_t limit);

// -- runs

void judge_dispatched (struct judge *self, int process, uint64_t id, uint64_t exec_id);
void judge_doubted (struct judge *self, uint64_t id); // it gave no status
void judge_answered (struct judge *self, uint64_t id, uint64_t exec_id, bool final);
void judge_broadcast (struct judge *self, int process, const char *epoch, int64_t seq, uint64_t id,
                      uint64_t exec_id);

// From now on nothing befalls anybody: whatever becomes due with its target connected, and is not
// limited, begins soon.
void judge_calm_begins (struct judge *self);

// Nothing has befallen anybody for a while: what is due has been run, and all of it is in order.
// `up` says of each target since when it is connected; INT64_MAX = it is not.
void judge_calm (struct judge *self, const int64_t *up_us);
