// One question of a verb to the station, and what becomes of it for the user.
#pragma once

#include <jansson.h>

#include "reason.h"
#include "span.h"
#include "verbs.h"
#include "zplan.h"

// Open the client. NULL: told on stderr, and the verb ends with `ret_exit`.
struct zplan_client *call_open (const struct cli *cli, int *ret_exit);

// Judge a call: `outcome` is an enum zplan_outcome. EXIT_DONE; or
// told on stderr, behind `subject` if that is not NULL, and the exit code.
int call_judge (const struct cli *cli, int outcome, const struct zplan_reply *reply,
                const char *subject);

// The first frame of this type, or an empty span.
struct span call_frame (const struct zplan_reply *reply, uint8_t type);

// The JSON object of a reply; NULL: there is none, told on stderr.
json_t *call_json (const struct zplan_reply *reply);

// A plan's id as the user gave it, in the wire's form. 0, or -1 with a reason.
enum { PLAN_ID_SIZE = 17 };
int call_plan_id (const char *text, char out[PLAN_ID_SIZE], struct reason *reason);
