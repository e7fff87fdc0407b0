// What admin commands share: arguments, the plan that a command names, sub-commands.
#pragma once

#include "arguments.h"
#include "reads.h"
#include "reply.h"

// An admin command: 0 if it has replied or will; else the error for the reply, with
// request->reason.
typedef int manage_fn (struct station *self, struct request *request);

// A plan as a request names it: by its hex id, or by its message key, which includes the station.
struct plan_name {
    uint64_t id;
    char station[STATION_NAME_MAX + 1]; // empty: any
    char name[REASON_MAX];              // the name as given, for reasons; empty: named by its id
};

// A request that is in progress, usually about one plan.
struct inquiry {
    struct station *station;
    struct peer *peer;
    struct plan_name plan; // all 0: the request names none
    bool run_ended;        // this command ended a run, and perhaps the plan with it
};

// An id or key:NAME inside JSON as a text that manage_plan_name reads; an integer is an id, too.
// False: the value is neither.
enum { PLAN_TEXT_SIZE = sizeof "key:/" + STATION_NAME_MAX + POLICY_TEXT_MAX };
bool manage_plan_text (const json_t *value, char out[PLAN_TEXT_SIZE]);
// Copy an id or key:NAME. False: the text is neither.
bool manage_plan_span (struct span text, char out[PLAN_TEXT_SIZE]);

// Read the name of a plan. 0, or an error as of manage_fn: the name is invalid, or of a target that
// the peer may not touch.
int manage_plan_name (const struct station *self, struct request *request, struct span text,
                      struct plan_name *ret);

// Start an inquiry about the plan that the first argument names. 0, or the error of that name.
int inquiry_new (struct station *self, struct request *request, struct inquiry **ret);

// inquiry_new; then `ask` is called with the inquiry, as a limited read (reads.h).
int inquiry_read (struct station *self, struct request *request, read_fn *ask);

// Start an inquiry that is about no single plan.
struct inquiry *inquiry_of_station (struct station *self, struct request *request);

// Check that the loaded plan belongs to the station that the request named, if any, and to one that
// the peer may touch. Any other plan is reported as not found.
enum store_result inquiry_check (const struct inquiry *inquiry, const struct store_loaded *answer);

// Refuse a request whose call of the store did not end with STORE_DONE, and release the peer.
void inquiry_refuse (struct inquiry *inquiry, enum store_result result, const char *error);

// Refuse the request as inquiry_refuse does, and release the inquiry too.
void inquiry_end (struct inquiry *inquiry, enum store_result result, const char *error);

// Answer OK with this JSON, and the plan's id unless it is 0. False: the peer is gone or does not
// read.
bool manage_reply (struct station *self, struct peer *peer, uint64_t plan_id, const char *json);

// manage_reply with an object, whose ownership passes to this call; NULL: without JSON.
bool manage_reply_json (struct station *self, struct peer *peer, uint64_t plan_id, json_t *object);

// -- commands with sub-commands: the first argument says which

struct admin_subcommand {
    const char *name;
    size_t args; // number of arguments, the name included
    unsigned roles;
    manage_fn *run;
    int number; // request->number
};

// Run the matching subcommand if the requester has one of its roles. 0, or the error; its reason is
// `usage` when no subcommand has this name and number of arguments.
int manage_subcommand (struct station *self, struct request *request,
                       const struct admin_subcommand *rows, size_t count, const char *usage);

// -- unknown targets: the reason names only the targets that the user may know

// The error for a target that station_target did not find: it does not exist (ZPLAN_ENOTFIND), or
// the targets in Redis are not read yet (ZPLAN_ENET). `field` is the field that named it. The
// reason lists the existing targets that this user may know.
int target_not_found (const struct station *self, const char *user, const char *field,
                      struct span name, struct reason *reason);
