// A job of `zplan work`, and the command that is run for it until the job is answered.
#pragma once

#include "child.h"
#include "zplan_worker.h"

// The rules that all share.
struct task_rules {
    char *const *command; // NULL = none: only scripts
    bool shell;           // a job of the command `sh` brings a script for /bin/sh
    bool output_json;     // an answer's content is bounded as JSON
    bool json_result;     // what a command prints is a JSON value
    mode_t umask;         // for the command
    int64_t timeout_s;    // that a command may take; 0 = any time
    int64_t grace_s;      // that one has to end when its job is cancelled
    bool quiet;           // do not log how runs ended
};

struct worker_task {
    const struct task_rules *rules;
    struct zplan_job *job; // NULL = there is none, and the rest means nothing
    struct child child;
    int64_t started_us; // monotonic
    int64_t limit_us;   // monotonic; when it times out, 0 = never or done
    int64_t kill_us;    // when its group is killed, 0 = it is not, or was already
    bool killed;        // the process group was
    struct reason why;  // its command was asked to end; "" = it was not
};

// Whether the job was answered, which is then gone.
enum task_end { TASK_GOES_ON, TASK_DONE, TASK_FAILED };

// Run the command for the job. `rules` are borrowed.
enum task_end task_start (struct worker_task *self, const struct task_rules *rules,
                          struct zplan_job *job);

// Do what can be done without waiting.
enum task_end task_serve (struct worker_task *self);

// Send its command a signal to end it; the job is then answered as failed, for the first reason
// given, when its group is gone or was killed.
void task_stop (struct worker_task *self, int number, const char *why);

// When task_serve has something to do though nothing happens, monotonic microseconds; 0 = never.
int64_t task_due_us (const struct worker_task *self);
