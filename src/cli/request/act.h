// Doing something to plans, one after the other: what pause, reset, skip, close, remove, run and
// update have in common. A rejection does not stop the rest; no answer, no Redis or an exceeded
// quota does.
#pragma once

#include "call.h"
#include "progress.h"

// A plan: by its id, by its name, or by an id that may be a name.
struct plan_id {
    uint64_t id;      // 0: only the name
    const char *name; // as it was typed; NULL: only the id
};

// Plans, 16 bytes each: a selection may hold all plans of a station.
struct plan_ids {
    struct plan_id *at; // free ()
    size_t count, room;
};

void plan_ids_add (struct plan_ids *self, uint64_t id);

// The ids and names that the user gave as the verb's first `count` words. 0, or -1 with a reason.
int plan_ids_read (struct plan_ids *self, const struct cli *cli, int count, struct reason *reason);

// One verb at work.
struct acting {
    const struct cli *cli;
    struct zplan_client *client;
    const char *name;                                 // the verb, and the word on the wire
    const char *done;                                 // its past participle
    int (*one) (struct acting *self, const char *id); // do it to one plan; an exit code
    void *owner;                                      // of `one`
    // Report more about a changed plan, as text after "plan ID DONE", or as members of the JSON
    // object. NULL: with the plan as it is now.
    void (*add_report) (const json_t *answer, json_t *object);
    bool maybe_name; // the id that it is done to may be a name: no such plan is no refusal yet
    bool stopped; // the last refusal was not about its plan: the next ones would be refused as well
    bool selected;       // by a filter: what is already as wanted is no refusal then
    unsigned wanted;     // the states that are as wanted, bit by bit; 0 = none
    bool gone_is_wanted; // so is a plan that is not there any more
    size_t count, already, refused;
    struct progress progress;
};

// Note that this plan is already as wanted.
void act_already (struct acting *self, const char *id);

// Do it to each plan. Returns EXIT_DONE; EXIT_REFUSED: at least one was rejected; EXIT_NO_ANSWER.
// Plans that were not tried are reported.
int act_each (struct acting *self, const struct plan_ids *ids);

// Send the command for one plan, with one argument more unless that is NULL, and report the result.
int act_say (struct acting *self, const char *id, const char *argument);

// Read a plan with its messages. NULL: reported, and `ret_code` is the exit code.
json_t *act_read (struct acting *self, const char *id, int *ret_code);

// Report that one plan was rejected, or that nothing answered. Returns the exit code; with
// `maybe_name` ACT_UNKNOWN, without a report, where there is no such plan.
enum { ACT_UNKNOWN = -1 };
int act_refused (struct acting *self, const char *id, const struct verdict *verdict);
