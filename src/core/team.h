// A team: the workers of one run of a plan, in memory and as Redis stores them. Pure.
//
// Redis stores a team as the hash plan:team:TARGET:ID. Field "w:NAME" of each worker: {state,
// started_ms, heard_ms, ended_ms, timeout_s, exec_id, reason, result[, progress[, advice,
// after_s]]}. Field "team": {round, try, first exec_id}. Both are msgpack as Redis' cmsgpack writes
// it: former versions read and write it with Lua. Source: proto 7.9.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "advice.h"
#include "span.h"
#include "team_rule.h"

struct rows;

enum worker_state {
    WORKER_RUNNING,
    WORKER_SUCCESS,
    WORKER_FAIL,
    WORKER_FAILED_EARLIER, // in an earlier try of the occurrence: it does not count
    WORKER_STATES
};

struct team_worker {
    char *name;
    enum worker_state state;
    int64_t started_ms, last_report_ms, ended_ms; // Redis' clock; ended_ms 0 = at work
    int64_t timeout_s;                            // it is late this long after its last heartbeat
    uint64_t exec_id;                             // the run that it took
    struct span reason, result, progress;         // owned; the result is JSON; empty = none
    struct advice advice;                         // WORKER_FAIL
    bool unwritten;
};

struct team {
    struct team_rule rule;        // from the plan's current message
    struct team_worker **workers; // by name
    size_t count, room;
    char round[24];    // the nominal time of the occurrence, or "xEXEC_ID" of a run outside the
                       // schedule
    int64_t try;       // failed tries of the occurrence before this one
    uint64_t since;    // exec_id of the first offer of this try: its time, in us of Redis' clock
    bool is_stored;    // Redis may have fields of the team
    bool clears_first; // the next write deletes all fields in Redis first
    bool unwritten;    // round, try or since has changed
    char **removed;    // names of workers whose fields the next write deletes
    size_t removed_count, removed_room;
};

// The outcome of a run whose workers have all ended.
struct team_outcome {
    bool complete; // else the other members are not set
    int64_t ended, failed;
    struct span worker; // the last worker that failed, else the last of all
    struct span reason; // the text that `worker` reported
    struct span result; // JSON
    struct advice advice;
};

// A worker as admin commands return it.
struct team_member {
    struct span name, state; // state: running, timeout, success, fail, out
    int64_t started_ms, last_report_ms, ended_ms;
    uint64_t exec_id;
    struct span reason, result, progress;
};

// The workers of a team that count, by state.
struct team_tally {
    int64_t running, ended, failed;
    bool final;                     // a failed worker reported ADVICE_FINAL
    int64_t first_late_ms;          // when the first running worker will be late
    int64_t last_late_ms;           // when all running workers will be late
    const struct team_worker *last; // the last that failed, else the last that ended
};

struct team *team_new (void);
void team_destroy (struct team **self);

// Load a field of the hash. An invalid one is ignored, and stays in Redis until it is overwritten.
void team_load (struct team *self, struct span field, struct span value);

// The worker of this name; NULL: it is not in the team.
struct team_worker *team_find (const struct team *self, struct span name);

// Add a worker that takes the run now. A worker that is already in the team restarts.
struct team_worker *team_add_worker (struct team *self, struct span name, uint64_t exec_id,
                                     int64_t now_ms);

// Remove a worker, and free it.
void team_remove (struct team *self, struct team_worker *worker);

// Whether a running worker has sent no heartbeat within its timeout.
bool worker_is_late (const struct team_worker *self, int64_t now_ms);

// Remove all workers that are late.
void team_remove_late (struct team *self, int64_t now_ms);

// Count the workers by state.
struct team_tally team_count_workers (const struct team *self);

// Whether the team is of the occurrence and try that the plan's message names.
bool team_is_current (const struct team *self);

// Make this the team of this run. For another occurrence all workers are removed; on another try of
// the same occurrence those that failed no longer count. `already_offered`: the same run continues
// with a new exec_id.
void team_begin_run (struct team *self, uint64_t exec_id, bool already_offered);

// Replace a text of a worker by a copy of `value`.
void worker_set_text (struct span *text, struct span value);

// Describe a worker. The result borrows its texts.
struct team_member worker_describe (const struct team_worker *self, int64_t now_ms);

// -- in Redis (team_pack.c)

extern const char *const worker_state_names[WORKER_STATES];

// A buffer for packed values of the hash; `data` is from malloc.
struct pack_text {
    uint8_t *data;
    size_t size, room;
};
void team_pack_worker (const struct team_worker *worker, struct pack_text *text);
void team_pack_head (const struct team *self, struct pack_text *text);

// Read the value of a worker's field. False: it is invalid, and `ret` unchanged.
bool team_unpack_worker (struct span value, struct team_worker *ret);

// Read the value of field "team". False: it is invalid, and `ret` unchanged.
bool team_unpack_head (struct span value, struct team *ret);

// Add the rows that update the hash in Redis, and clear the `unwritten` marks.
void team_write (struct team *self, struct span key, struct rows *rows);
