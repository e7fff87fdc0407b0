// What admin commands share: their arguments, the plan that one names, its sub-commands.
#pragma once

#include "arguments.h"
#include "reply.h"

enum { ARGS_MAX = 8 };

struct arguments {
    size_t count;
    struct span at[ARGS_MAX];
};

typedef void manage_fn (struct station *self, struct request *request,
                        const struct arguments *arguments);

// A plan as a request names it: by its hex id, or by its message key, which names the station too.
struct plan_name {
    uint64_t id;
    char station[STATION_NAME_MAX + 1]; // empty: any
    char name[REASON_MAX];              // as it was named, for reasons; empty: by its id
};

// A request about one plan, in progress.
struct inquiry {
    struct station *station;
    struct peer *peer;
    struct plan_name plan;
    bool run_ended; // by this command, and with it perhaps the plan
};

// An id or key:NAME inside JSON, as text, to be read by manage_plan_name. False: it is neither; an
// integer may be an id, too.
enum { PLAN_TEXT_SIZE = sizeof "key:/" + STATION_NAME_MAX + POLICY_TEXT_MAX };
bool manage_plan_text (const json_t *value, char out[PLAN_TEXT_SIZE]);
bool manage_plan_span (struct span text, char out[PLAN_TEXT_SIZE]); // the same of a bare text

// Read the name. False: invalid, or of a target that the peer may not touch, and the request
// was refused.
bool manage_plan_name (struct station *self, struct request *request, struct span text,
                       struct plan_name *ret);

// Start an inquiry: NULL when the request names no plan and was refused.
struct inquiry *inquiry_new (struct station *self, struct request *request, struct span text);

// Whether it is of the station that the request named, if any, and of one that the peer may touch.
// Any other is as if it were not there.
enum store_result inquiry_check (const struct inquiry *inquiry, const struct store_loaded *answer);

// Refuse what did not end with STORE_DONE. The peer is released then.
void inquiry_refuse (struct inquiry *inquiry, enum store_result result, const char *error);

// The same, and release the inquiry.
void inquiry_end (struct inquiry *inquiry, enum store_result result, const char *error);

// Answer OK with this JSON, and the plan's id unless it is 0. False: the peer is gone, or reads
// nothing.
bool manage_reply (struct station *self, struct peer *peer, uint64_t plan_id, const char *json);

// The same with an object, which is taken; NULL: without JSON.
bool manage_reply_json (struct station *self, struct peer *peer, uint64_t plan_id, json_t *object);

// -- commands with sub-commands: the first argument says which

struct admin_subcommand;
typedef void admin_subcommand_fn (struct station *self, struct request *request,
                                  const struct arguments *arguments,
                                  const struct admin_subcommand *word);

struct admin_subcommand {
    const char *name;
    size_t args; // itself included
    unsigned roles;
    admin_subcommand_fn *run;
    int number; // by which it differs from others with the same `run`
};

// Run the matching subcommand, if the requester has one of its roles; else reject, with `usage`
// when none has this name and number of arguments.
void manage_subcommand (struct station *self, struct request *request,
                        const struct arguments *arguments, const struct admin_subcommand *words,
                        size_t count, const char *usage);
