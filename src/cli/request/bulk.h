// Applies a command to plans that are given by id or selected by a filter, or only lists them
// (--dry-run): the common part of pause, reset, skip, close, remove, run and update. After a
// rejection the next plans are still tried; no answer, no Redis or an exceeded quota stops it.
#pragma once

#include "progress.h"
#include "select.h"

// A plan as it was given: by its id, by its name, or by both, if the text may be either.
struct plan_id {
    uint64_t id;      // 0: only the name is given
    const char *name; // as it was typed; NULL: only the id is given
};

// Which plans, by the command line.
struct bulk {
    struct selection selection;
    bool all, dry_run;
    // As given, or as selected: 16 bytes each, as a selection may hold all plans of a station.
    struct plan_id *plans; // owned; the user frees it
    size_t count, room;
};

// The options --all and --dry-run.
struct option_group bulk_options (struct bulk *self);

// Check that plans are given in exactly one way: by ids, by a filter, or by --all; and read the
// verb's first `count` arguments as ids and names. `which`: the verb's options that select plans.
// 0, or -1 with a reason.
int bulk_read (struct bulk *self, const struct option_group *which, const struct cli *cli,
               int count, struct reason *reason);

// The state of a verb that changes plans.
struct plan_command {
    const struct cli *cli;
    struct bulk *bulk;
    struct zplan_client *client; // set by bulk_apply
    const char *name;            // the verb, and the word on the wire
    const char *done;            // the verb's past participle
    int (*apply) (struct plan_command *self,
                  const char *id); // changes one plan; returns an exit code
    void *owner;                   // of `apply`
    // Report more about a changed plan, as text after "plan ID DONE", or as members of the JSON
    // object. NULL: the JSON object gets the plan as it is now.
    void (*add_report) (const json_t *answer, json_t *object);
    bool maybe_name; // the current id may be a name: "no such plan" is not reported yet
    bool stopped;    // the last rejection was not specific to its plan: the next would fail as well
    // The plans were selected by a filter: then a plan that needs no change is not an error.
    bool selected;
    unsigned wanted;                // bit set of the states that need no change; 0 = none
    bool gone_is_wanted;            // a plan that no longer exists needs no change either
    size_t count, already, refused; // numbers of plans: changed, needing no change, rejected
    struct progress progress;
};

// Send the command for one plan, with `argument` unless that is NULL, and report the result.
int plan_command_send (struct plan_command *self, const char *id, const char *argument);

// Read a plan with its messages. NULL: the error was reported, and `ret_code` is the exit code.
json_t *plan_command_read_plan (struct plan_command *self, const char *id, int *ret_code);

// Report that the command was rejected for one plan, or that nothing answered. Returns the exit
// code. If there is no such plan and `maybe_name` is set: PLAN_COMMAND_UNKNOWN, without a report.
enum { PLAN_COMMAND_UNKNOWN = -1 };
int plan_command_report_rejection (struct plan_command *self, const char *id,
                                   const struct verdict *verdict);

// Connect, and apply the verb to the given plans, or, if there are none, to the selected ones; with
// --dry-run only list them. Selected plans that need no change are skipped, and counted in the
// summary, which is printed last. Returns an exit code.
int bulk_apply (struct plan_command *command);
