// How a target responds: how many runs without a status it may have, and whether it is
// unresponsive. Times are monotonic microseconds; run numbers ascend in the order of sending.
// Source: proto 7.2.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RESPONSE_CREDIT_FIRST = 8 };

struct response {
    bool grows;    // the credit starts small and grows with each status; else it is the limit
    bool unproven; // nothing came on this connection yet, and its peer may have rejected it as a
                   // duplicate of an older one
    bool unresponsive;  // it has sent nothing within the status timeout
    int64_t credit;     // if `grows`: how many runs without a status it may have
    int64_t message_us; // when its last message came, or it connected
    int64_t status_us;  // when a run on this connection last got its status; 0 = never
    uint64_t answered;  // the highest number of a run that got its status
    uint64_t probe;     // the plan whose run is sent as a probe while it is unresponsive; 0 = none
    int64_t since_s;    // since when it is unresponsive, Unix seconds
    int reconnects;     // how often it connected since its last message
};

// The target connected. `duplicate`: its peer may still hold an older connection with the same
// identity.
void response_connected (struct response *self, int64_t now_us, bool duplicate);

// Note that any message of the target arrived: it is responsive. Returns whether it was
// unresponsive.
bool response_message_came (struct response *self, int64_t now_us);

// Note that the run with this number got its status. `works`: the status shows that the target
// accepts runs, so its credit grows, up to `most`; else the credit is reset.
void response_status (struct response *self, uint64_t number, bool works, int64_t most,
                      int64_t now_us);

// Mark the target as unresponsive.
void response_set_unresponsive (struct response *self, int64_t now_s);

// How many runs without a status the target may have, at most `most`.
int64_t response_credit (const struct response *self, int64_t most);

enum no_status {
    NO_STATUS_RETRY,       // it answers, but not this run
    NO_STATUS_WAIT,        // it is still answering runs that were sent before this one
    NO_STATUS_UNRESPONSIVE // it answers nothing
};

// Find out why the run with this number, sent on the present connection, has no status after
// `timeout_us`. NO_STATUS_WAIT: wait until `ret_until_us`.
enum no_status response_find_cause (const struct response *self, uint64_t number,
                                    int64_t timeout_us, int64_t now_us, int64_t *ret_until_us);
