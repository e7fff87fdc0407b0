// A job of `zplan work` and its command: a task lasts until the job is answered.
#pragma once

#include "child.h"
#include "zplan_worker.h"

// The rules that all jobs share.
struct task_rules {
    char *const *command; // NULL = none: only scripts
    bool shell;           // a job of the command `sh` brings a script for /bin/sh
    bool output_json;     // the size limit of an answer's content applies to its JSON form
    bool json_result;     // the output of a command is a JSON value
    mode_t umask;         // umask for the command
    int64_t timeout_s;    // time limit of a command; 0 = none
    int64_t grace_s;      // seconds from SIGTERM to SIGKILL if a job is cancelled
    bool quiet;           // do not log how runs ended
};

struct worker_task {
    const struct task_rules *rules;
    struct zplan_job *job; // NULL = none, and the other fields are invalid
    struct child child;
    int64_t started_us; // monotonic
    int64_t limit_us;   // monotonic; when it times out, 0 = never or already done
    int64_t kill_us;    // when its process group is killed, 0 = never or already done
    bool killed;        // the process group was killed
    struct reason why;  // why the command was sent a signal to end; "" = it was not
};

// TASK_RUNNING: the job is not answered yet. Otherwise it was answered, and is freed.
enum task_end { TASK_RUNNING, TASK_DONE, TASK_FAILED };

// Run the command for the job. `rules` are borrowed.
enum task_end task_start (struct worker_task *self, const struct task_rules *rules,
                          struct zplan_job *job);

// Serve the child without waiting, and answer the job when it has ended.
enum task_end task_serve (struct worker_task *self);

// Send the command a signal to end it. When its process group has ended or was killed, the job is
// answered as failed, with the first of the given reasons.
void task_stop (struct worker_task *self, int number, const char *why);

// When task_serve must be called even without an event, monotonic microseconds; 0 = never.
int64_t task_due_us (const struct worker_task *self);
