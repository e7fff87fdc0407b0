// Connections that submit plans and keep so many of them unacknowledged. All plans are alike but
// for what stands at the beginning of their argument, so one that was refused with BUSY is made up
// for by another. Acknowledgements are taken for the oldest plan that waits on their connection,
// refusals for the newest.
#pragma once

#include "figures.h"
#include "options.h"
#include "traffic.h"

enum { PRODUCERS_MAX = 64, CODES = 256 };

struct producer {
    void *socket;
    int64_t left;            // plans still to send
    int64_t out;             // sent and not answered
    int64_t *sent_us;        // of those, a ring of the window's size
    size_t oldest;           // its first one
    int64_t paused_until_us; // told by a BUSY
};

// An acknowledged plan: its id as text.
typedef void accepted_fn (void *owner, struct span id);

struct producers {
    struct producer at[PRODUCERS_MAX];
    size_t count;
    int64_t window;
    char plan[256]; // the PLAN frame
    const char *station;
    uint8_t *argument;
    size_t argument_size;
    accepted_fn *accepted; // or NULL
    void *owner;

    int64_t sent, answered; // plans
    int64_t wanted;         // plans that are to be taken or refused
    int64_t accepted_count, busy_count;
    int64_t refused[CODES];         // by status, without those that are sent again
    int64_t first_us, last_us;      // of the first plan sent, of the last answer; monotonic
    struct samples acknowledgement; // of the accepted ones
    char refusal[REASON_MAX];       // the last one's words
    zmq_msg_t part;
};

// Connect, and wait until the station answers each connection. Nothing is to be sent yet.
void producers_open (struct producers *self, const struct options *options);
void producers_close (struct producers *self);

// The rule of the plans from now on: type `time`, due then (Unix seconds); or type `none`.
void producers_plan_time (struct producers *self, int64_t due_s);
void producers_plan_none (struct producers *self);

// Have so many more submitted, evenly by all connections, as fast as the windows let them.
void producers_want (struct producers *self, int64_t plans);

// Send one now over the first connection, whatever the window says; `mark` stands in the argument.
void producers_send_marked (struct producers *self, uint64_t mark);

// The number a marked argument holds.
bool argument_mark (struct span argument, uint64_t *ret);

// The poll items of the connections; how many there are.
size_t producers_items (const struct producers *self, zmq_pollitem_t *items);

// Take what has come and send what may be sent. When to be called again at the latest: monotonic;
// INT64_MAX = when something comes.
int64_t producers_work (struct producers *self);

// Whether all wanted plans have been taken or refused.
bool producers_done (const struct producers *self);

// The counts, and the latency of acknowledgements, into the line of results.
void producers_result (struct producers *self);
