// The PLAN frame: when a client wants a plan to run. All rules for its fields are defined here.
// Source: plan document 3.1; proto 5.2.
#pragma once

#include "policy.h"
#include "reason.h"
#include "schedule.h"
#include "span.h"
#include "vote_rule.h"

enum { DESCRIPTION_ROOM = 8192 }; // upper bound of the limit on descriptions, in bytes
enum { PLAN_WORDS_MAX = 512 };    // bytes of a remark, and of other texts that a plan stores

// Limits of a PLAN frame; settings of the station (proto 11).
struct plan_limits {
    int64_t bytes;       // size of the whole frame
    int64_t description; // bytes, at most DESCRIPTION_ROOM
    int64_t depth;       // levels of nesting, at most JSON_DEPTH_MAX
};

extern const struct plan_limits plan_limits_default;

// Whether a submitted plan is stored in the state pause.
enum hold {
    HOLD_NONE,
    HOLD_MARKED, // paused, and marked as held, so that held plans can be found
    HOLD_PAUSED  // paused as by a pause command
};

struct plan_fields {
    uint8_t description[DESCRIPTION_ROOM];
    size_t description_size;
    struct schedule schedule; // `received` is left 0; it borrows from `policy`
    int64_t skip_set;
    struct vote_rule vote;
    enum hold hold;
    uint8_t remark[PLAN_WORDS_MAX];
    size_t remark_size;
    struct policy *policy; // owned; NULL = no field of a policy is given
    struct span step;      // the call of a flow's step (plan_step.h); only the station sets it
};

// Free what the fields own.
void plan_fields_clear (struct plan_fields *self);

// Whether a PLAN frame may have this field; an update of a plan accepts the same fields.
bool plan_frame_field (const char *name);

// Read and check a PLAN frame that was parsed to a tree. Returns what plan_frame_parse returns, but
// does not check the limits of bytes and depth.
int plan_frame_read (json_t *object, const struct plan_limits *limits, struct plan_fields *ret,
                     struct reason *reason);

// Parse and check a PLAN frame (a JSON object, or the same as a msgpack map). 0, or ZPLAN_EPLAN
// with a reason that names the field and the rule; `ret` is then undefined and owns nothing.
int plan_frame_parse (struct span frame, const struct plan_limits *limits, struct plan_fields *ret,
                      struct reason *reason);

// The fast parser of plan_frame_parse, which builds no tree; the frame is within limits->bytes.
// False: the frame is wrong, msgpack or merely unusual, such as one with a vote or a policy; `ret`
// is then undefined and owns nothing.
bool plan_frame_scan (struct span frame, const struct plan_limits *limits, struct plan_fields *ret);

// The complete parser of plan_frame_parse, which builds a tree: it reads any frame within
// limits->bytes, and gives the reason of each rejection.
int plan_frame_parse_tree (struct span frame, const struct plan_limits *limits,
                           struct plan_fields *ret, struct reason *reason);
