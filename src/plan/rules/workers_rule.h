// Who may fetch a plan, and when a worker counts as lost: the `workers` object of a plan for a pull
// target. The PLAN frame, a kind and the stored message share this reader; core/team_rule.c reads
// the stored text. Source: mscheduler (concurrent_worker_cnt, specific_worker_ids,
// ping_interval_ms, worker_timeout_ms).
#pragma once

#include <jansson.h>

#include "reason.h"
#include "station_name.h"

enum { WORKER_NAME_MAX = STATION_NAME_MAX };

struct workers_rule {
    int32_t count;     // workers that take a run; 0 = the plan has no `workers`
    int32_t ping_s;    // seconds between two heartbeats
    int32_t timeout_s; // seconds without a heartbeat after which a worker is lost
};

// Read {"count": n, "only": [names], "ping_interval": seconds, "worker_timeout": seconds, "again":
// flag} into `rule`, a struct workers_rule; all may be absent. False: the reason names the field
// and the rule.
bool workers_rule_read (void *rule, const json_t *object, struct reason *reason);

// A worker's name: 1..64 of A-Z a-z 0-9 _ . : @ -. No braces: core/team_rule.c counts those.
bool worker_name_valid (struct span name);
