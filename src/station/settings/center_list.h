// Parses what a MicroZero center sends: its list of stations, and the events that can mean a
// changed list. Pure. Source: recorded answers of the SystemManage of real centers.
#pragma once

#include "engine.h"

enum { FOUND_MAX = 256 };

// A station of a center that can be the target of plans. All of them take the sender's ZeroMQ
// identity as the caller.
struct found_station {
    char name[STATION_NAME_MAX + 1];
    enum target_type type;
    char endpoint[256]; // with its request port
    bool seed_dialect;  // it uses the numbers of the plan document, else those of MicroZero 1.x
};

struct found_list {
    size_t count;
    size_t left_out; // stations omitted because the list is full
    struct found_station at[FOUND_MAX];
};

// Read the answer to `host *`, as a DEALER receives it: [description][frames]. The stations'
// endpoints are on `host`, the center's own. 0, or -1 with a reason (`ret` is then undefined).
int center_list_read (const struct span *frames, size_t count, const char *host,
                      struct found_list *ret, struct reason *reason);

// Whether both lists have the same stations with the same properties, in the same order.
bool center_list_same (const struct found_list *a, const struct found_list *b);

// Whether an event of the center, [title][description][frames], can mean that the list has changed.
bool center_event_matters (const struct span *frames, size_t count);
