// How a target answers: how many runs it may have without a status, and whether it is unresponsive.
// Times are monotonic microseconds; a run's number grows with each run that is sent. Source: proto
// 7.2.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RESPONSE_CREDIT_FIRST = 8 };

struct response {
    bool grows;        // its credit begins small, and grows with its statuses; else it is the bound
    bool unproven;     // nothing came on this connection, and its peer may have taken it for a
                       // duplicate of an older one
    bool unresponsive; // it has answered nothing at all for the time of a status
    int64_t credit;    // with `grows`
    int64_t message_us; // when its last message came, or it connected
    int64_t status_us;  // when a run on this connection got its status last; 0 = none did
    uint64_t answered;  // the highest number of such a run
    uint64_t probe;     // the plan whose run is sent while it is unresponsive; 0 = none
    int64_t since_s;    // since when it is unresponsive, Unix seconds
    int reconnects;     // since it answered last, as its connection may be taken for a duplicate
};

// It connected. `duplicate`: its peer may still hold an older connection with the same identity.
void response_connected (struct response *self, int64_t now_us, bool duplicate);

// A message of it came, whatever it says. Returns whether it was unresponsive until now.
bool response_message_came (struct response *self, int64_t now_us);

// The run with this number got its status. `works`: it is one of a target that takes runs.
// `most`: the bound of the credit.
void response_status (struct response *self, uint64_t number, bool works, int64_t most,
                      int64_t now_us);

// It is unresponsive now.
void response_set_unresponsive (struct response *self, int64_t now_s);

// How many runs without a status it may have.
int64_t response_credit (const struct response *self, int64_t most);

enum no_status {
    NO_STATUS_RETRY,       // it answers, but not this run
    NO_STATUS_WAIT,        // it answers the runs that were sent before this one
    NO_STATUS_UNRESPONSIVE // it answers nothing
};

// What it means that the run with this number, sent on the present connection, has no status after
// `timeout_us`. NO_STATUS_WAIT: until `ret_until_us`.
enum no_status response_judge (const struct response *self, uint64_t number, int64_t timeout_us,
                               int64_t now_us, int64_t *ret_until_us);
