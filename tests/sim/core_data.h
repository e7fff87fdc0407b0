// What Redis would hold of a core's plans, for simulations: rows are applied to it, and a core is
// loaded from it. It knows nothing of what the core decides.
#pragma once

#include "core_pull.h"

struct kept_field { // of a team
    char name[72];
    uint8_t *value;
    size_t size;
};

enum { DATA_FIELDS = 8 };

struct kept_plan {
    char target[STATION_NAME_MAX + 1];
    uint64_t id;
    bool used; // something of it is kept
    char *message;
    bool queued, listed;
    int64_t score_us;
    char run[64]; // "" = none
    char class[80];
    struct kept_field team[DATA_FIELDS]; // "" = none
};

enum { DATA_PLANS = 4096, DATA_COUNTS = 8 };

struct kept_count { // a field of plan:count
    char name[STATION_NAME_MAX + 3];
    int64_t plans;
};

struct core_data {
    struct kept_plan plans[DATA_PLANS]; // by id: ids are below that
    int64_t exec, seq;
    char epoch[24];
    struct kept_count counts[DATA_COUNTS];
    size_t outcomes;
    int64_t last_seq;
};

// A batch as a whole. False: it is none that Redis would take, `why` says what.
bool core_data_apply (struct core_data *self, const struct rows *rows, const char **ret_why);

// Load all that the core needs before it works, but for the queue.
void core_data_load (const struct core_data *self, struct core *core);

// Answer what it asks of a team: `found` lives until the next call.
void core_data_find (const struct core_data *self, uint64_t id, struct core_found *found);

// The field of plan:count, 0 = it is not there.
int64_t core_data_count (const struct core_data *self, const char *name);

// Answer its question for a page.
void core_data_page (const struct core_data *self, struct core *core,
                     const struct core_cursor *cursor, int64_t now_us);

void core_data_free (struct core_data *self);
