// A job of `zplan work`, and the command that is run for it until the job is answered.
#pragma once

#include "child.h"
#include "zplan_worker.h"

// What is the same for all.
struct task_rules {
    char *const *command;
    mode_t umask; // for the command
    bool quiet;   // do not tell what came of it
};

struct task {
    const struct task_rules *rules;
    struct zplan_job *job; // NULL = there is none, and the rest means nothing
    struct child child;
    bool stopped; // its command was told to end
};

// Whether the job was answered, which is then gone.
enum task_end { TASK_GOES_ON, TASK_DONE, TASK_FAILED };

// Run the command for the job. `rules` are borrowed.
enum task_end task_start (struct task *self, const struct task_rules *rules, struct zplan_job *job);

// Do what can be done without waiting.
enum task_end task_serve (struct task *self);

// Send its command a signal to end it; the job is then answered as failed when it has ended.
void task_stop (struct task *self, int number);
