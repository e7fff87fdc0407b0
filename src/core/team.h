// The workers of one run of one plan: a team, as they are and as Redis keeps them. Pure.
//
// Redis keeps a team as the hash plan:team:TARGET:ID: "w:NAME" of each worker, {state, started_ms,
// heard_ms, ended_ms, timeout_s, exec_id, reason, result[, progress[, advice, after_s]]}, and
// "team", {round, try, first exec_id}, each as msgpack in the form of Redis' cmsgpack: former
// versions read and write it with Lua. Source: proto 7.9.
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
    WORKER_OUT, // it failed in an earlier try: it takes nobody's place
    WORKER_STATES
};

struct team_worker {
    char *name;
    enum worker_state state;
    int64_t started_ms, heard_ms, ended_ms; // Redis' clock; 0 = it has not ended
    int64_t timeout_s;                      // so long after a heartbeat it is late
    uint64_t exec_id;                       // of the run that it was given
    struct span reason, result, progress;   // owned; the result as JSON; empty = none
    struct advice advice;                   // WORKER_FAIL
    bool unwritten;
};

struct team {
    struct team_rule rule;        // of the plan's message, as it is now
    struct team_worker **workers; // by name
    size_t count, room;
    char round[24]; // the nominal time of the occurrence, or "xEXEC_ID" of a run outside the
                    // schedule
    int64_t try;    // of the occurrence
    uint64_t since; // exec_id of the first offer of this try; it is a time, Redis' clock
    bool kept;      // Redis may have fields of the team
    bool cleared;   // the fields in Redis are deleted first
    bool unwritten; // round, try, since
    char **removed; // workers whose fields are deleted
    size_t removed_count, removed_room;
};

// The outcome of a run whose workers have all ended.
struct team_outcome {
    bool complete; // else nothing of the rest is known
    int64_t ended, failed;
    struct span worker; // the last that failed, else the last of all
    struct span reason; // the text that `worker` reported
    struct span result; // as JSON
    struct advice advice;
};

// A worker as it is shown.
struct team_member {
    struct span name, state; // running, timeout, success, fail, out
    int64_t started_ms, heard_ms, ended_ms;
    uint64_t exec_id;
    struct span reason, result, progress;
};

struct team_tally {
    int64_t running, ended, failed;
    bool final;                          // one of those that failed reported so
    int64_t first_late_ms, last_late_ms; // when the first of those at work, and the last, is late
    const struct team_worker *last;      // the last that failed, else the last that ended
};

struct team *team_new (void);
void team_destroy (struct team **self);

// A field of its hash. One that is broken is not known, and stays in Redis until it is overwritten.
void team_load (struct team *self, struct span field, struct span value);

struct team_worker *team_find (const struct team *self, struct span name);

// Add a worker that was given the plan now; a known one is reset.
struct team_worker *team_enter (struct team *self, struct span name, uint64_t exec_id,
                                int64_t now_ms);
void team_remove (struct team *self, struct team_worker *worker);

bool worker_is_late (const struct team_worker *self, int64_t now_ms);
void team_remove_late (struct team *self, int64_t now_ms);

struct team_tally team_count (const struct team *self);

// Whether the run that the message names is the one that it works on.
bool team_is_current (const struct team *self);

// From now on it is the team of this run: on another try of the same occurrence those who failed
// leave it; for another occurrence it is emptied. `already_offered`: the same run goes on, with a
// new exec_id.
void team_gather (struct team *self, uint64_t exec_id, bool already_offered);

// Replace a text of a worker.
void worker_set (struct span *text, struct span value);

struct team_member worker_show (const struct team_worker *self, int64_t now_ms);

// -- in Redis (team_pack.c)

extern const char *const worker_state_names[WORKER_STATES];

// Its value in the hash, appended to `out` (*size of *room bytes, of malloc).
struct pack_text {
    uint8_t *data;
    size_t size, room;
};
void team_pack_worker (const struct team_worker *worker, struct pack_text *out);
void team_pack_head (const struct team *self, struct pack_text *out);

// False: it is broken, or none of a team; nothing was changed.
bool team_unpack_worker (struct span value, struct team_worker *ret);
bool team_unpack_head (struct span value, struct team *ret);

// Rows that make its hash what it is here, and nothing is unwritten any more.
void team_write (struct team *self, struct span key, struct rows *rows);
