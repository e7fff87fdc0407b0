// Whether a Redis may hold plans, judged by its INFO: without persistence, or with eviction, it
// could lose acknowledged plans. Pure.
#pragma once

#include "reason.h"

enum info_verdict {
    INFO_GOOD,
    INFO_NOT_NOW, // temporary: loading, or a replica that may become master
    INFO_REFUSED  // it keeps no append-only file, may evict, or is too old
};

enum data_loss { LOSS_REFUSED, LOSS_ACCEPTED };

enum info_verdict redis_info_check (struct span info, enum data_loss loss, struct reason *reason);

// Facts from INFO, for people.
struct redis_facts {
    char version[24];    // "" = not asked yet
    char policy[24];     // maxmemory-policy
    int64_t used, limit; // memory in bytes; limit 0 = none
};

void redis_info_facts (struct span info, struct redis_facts *ret);

// Whether it keeps an append-only file.
bool redis_info_keeps_file (struct span info);

// Text that says how safe an acknowledged plan is with this appendfsync (or "none", link_fsync).
const char *durability_text (const char *fsync);
