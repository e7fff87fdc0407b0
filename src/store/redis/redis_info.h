// Checks by the INFO of a Redis whether it may hold plans: without persistence, or with eviction,
// it could lose acknowledged plans. Pure.
#pragma once

#include "reason.h"

enum info_verdict {
    INFO_GOOD,
    INFO_NOT_NOW, // temporary: loading, or a replica that may become master
    INFO_REFUSED  // it keeps no append-only file, may evict, or is too old
};

enum data_loss { LOSS_REFUSED, LOSS_ACCEPTED };

// `info` is the answer to INFO. With LOSS_ACCEPTED, persistence and eviction are not checked.
// INFO_NOT_NOW and INFO_REFUSED come with a reason.
enum info_verdict redis_info_check (struct span info, enum data_loss loss, struct reason *reason);

// Facts from INFO that are shown to people.
struct redis_facts {
    char version[24];    // "" = not asked yet
    char policy[24];     // maxmemory-policy
    int64_t used, limit; // used memory and its limit in bytes; limit 0 = none
    bool keeps_file;     // it writes an append-only file
};

void redis_info_read (struct span info, struct redis_facts *ret);

// Text for people: how safe an acknowledged plan is with this value of link_fsync.
const char *durability_text (const char *fsync);
