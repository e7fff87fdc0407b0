// The workers of one run of one plan: a team, as they stand and as Redis keeps them. Pure.
//
// Redis keeps a team as the hash plan:team:TARGET:ID: "w:NAME" of each worker, {state, started_ms,
// heard_ms, ended_ms, timeout_s, exec_id, reason, result[, progress]}, and "team", {round, try,
// first exec_id}, each as msgpack in the form of Redis' cmsgpack. Source: proto 7.9.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "span.h"

struct rows;

enum worker_state {
    WORKER_RUNNING,
    WORKER_SUCCESS,
    WORKER_FAIL,
    WORKER_OUT // it failed in an earlier try: it takes nobody's place
};

struct worker {
    char *name;
    enum worker_state state;
    int64_t started_ms, heard_ms, ended_ms; // Redis' clock; ended_ms 0 = it has not
    int64_t timeout_s;                      // without a heartbeat
    uint64_t exec_id;                       // that it was given
    char *reason, *result;                  // the result as JSON; "" = none
    char *progress;                         // NULL = none was reported
    size_t result_size;
    bool unwritten;
};

// What the plan's message says of its workers.
struct team_rule {
    int64_t count, ping_s, timeout_s;
    bool again;  // who failed may take it when it is tried again
    char **only; // names, sorted; NULL = any worker
    size_t only_count;
    // and of the run
    int64_t plan_time, error_count, run_timeout_s, priority, state;
    bool extra; // it is run outside its schedule
};

struct team {
    struct team_rule rule;
    struct worker **workers; // by name
    size_t count, room;
    char round[24]; // the nominal time of the occurrence, or "xEXEC_ID" of a run outside the
                    // schedule
    int64_t try;    // of the occurrence
    uint64_t since; // exec_id of the first offer of this try, Redis' clock in microseconds
    bool named;     // Redis has a "team"
    bool cleared;   // what Redis has is deleted before the rows below are written
    bool unwritten; // the "team" itself
    char **removed; // workers whose fields are deleted
    size_t removed_count;
};

// -- what callers see of it

// What became of a run whose workers have all ended.
struct team_outcome {
    bool complete; // else nothing of the rest is known
    int64_t ended, failed;
    struct span worker; // the last that failed, else the last of all
    struct span reason; // its text
    struct span result; // as JSON
};

struct team_member {
    struct span name, state; // running, timeout, success, fail, out
    int64_t started_ms, heard_ms, ended_ms;
    uint64_t exec_id;
    struct span reason, result, progress;
};
