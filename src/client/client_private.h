// Declarations shared by the files of the client.
#pragma once

#include <sys/queue.h>

#include "zplan_client.h"
#include "zplan_plan.h"

#include "dealers.h"
#include "frames.h"
#include "keys.h"
#include "packet.h"
#include "readiness.h"

enum {
    REQUEST_ID_SIZE = 48,
    REQUEST_WAITS = -1 // value of `at`: the request waits for a connection
};

// A request that has no answer yet.
struct client_request {
    TAILQ_ENTRY (client_request) place;
    uint64_t number;     // increases with each request sent
    int64_t deadline_us; // monotonic
    zplan_reply_fn *fn;  // may be NULL
    void *context;
    int at;              // index of the address that the request was sent to, or REQUEST_WAITS
    int sends;           // sends so far, without those rejected for a handover
    bool safe;           // the request is safe to resend
    struct frames *copy; // the message, for sending or resending; NULL: one address only
    size_t copied;       // bytes of the frames in `copy`
    size_t id_size;
    uint8_t id[]; // REQUEST_ID
};

struct zplan_client {
    char *endpoint; // as it was given
    struct endpoints endpoints;
    struct keys keys;
    void *context; // ZeroMQ context, not shared
    struct dealers dealers;
    struct readiness ready;
    int64_t timeout_ms;                      // timeout of requests that are sent from now on
    int interrupt_fd;                        // a waiting call ends when it is readable; -1 = none
    uint64_t session;                        // random; with `requests` it makes unique request ids
    uint64_t requests;                       // sent so far
    uint64_t last_answered[ENDPOINTS_MAX];   // number of the last answered request of each endpoint
    TAILQ_HEAD (, client_request) in_flight; // oldest first
    size_t count;          // number of requests in `in_flight`, including those that wait
    size_t waiting;        // number of requests that wait for a connection
    unsigned leaving;      // bit mask of endpoints whose station is stopping or a standby
    size_t copied;         // bytes of the copies of requests
    int64_t deadline_us;   // no request expires before this time
    int late_turns;        // how often expiry was postponed because of unread messages
    bool calling;          // a callback is running
    bool closing;          // being destroyed
    bool losing;           // requests are ending because their connection was lost
    struct packet packet;  // the last reply
    struct message answer; // the parsed reply; borrows from packet
    struct frames *kept;   // the frames of the last reply to a call
    struct reason reason;  // why the last failed call failed: the text of zplan_client_error
};

// As zplan_client_new, with these keys, which are copied.
struct zplan_client *client_new (const char *endpoint, const struct keys *keys);

// ---- the connections, client_connection.c

// Connect to all addresses. 0, or -1 with errno.
int client_connect (struct zplan_client *self);

// Close the connections to all addresses.
void client_disconnect (struct zplan_client *self);

// Whether the client has several endpoints.
bool client_has_several_endpoints (const struct zplan_client *self);

// The monotonic time at which client_update_connections is due even if no socket signals.
int64_t client_due_us (const struct zplan_client *self);

// Send the request, or keep it until there is a connection, and append it to the list. Returns
// ZPLAN_OK, or an error, whose text is stored; then nothing was sent or queued.
int client_send_or_queue (struct zplan_client *self, struct client_request *request,
                          const struct message *message);

// Read the state of the connections: end or resend the requests in flight on one that was lost, and
// send those that wait for one.
void client_update_connections (struct zplan_client *self);

// Requeue a request that a stopping or standby station rejected, to resend it to another station.
// False: there is only one address, so the rejection is the answer.
bool client_requeue_request (struct zplan_client *self, struct client_request *request);

// Close the connection that this request was sent on, with its queue. With several addresses, this
// request must be unlinked before, and the other requests on the connection end or are resent.
void client_drop_connection (struct zplan_client *self, const struct client_request *request);

// ---- requests in flight, requests.c

struct client_request *request_new (const struct zplan_client *self, struct span id);
void request_append (struct zplan_client *self, struct client_request *request);

// Remove the request from the list.
void request_unlink (struct zplan_client *self, struct client_request *request);

// Call the callback of a request that has ended and was removed from the list, and free it.
void request_finish (struct zplan_client *self, struct client_request *request, int error,
                     const struct zplan_reply *reply);

// Finish all requests in flight now, but not those that callbacks send meanwhile.
void request_finish_all (struct zplan_client *self, int error);

// End a request without an answer, after a timeout or an interrupt. Closes its connection if the
// request may still be queued there.
void request_abandon (struct zplan_client *self, struct client_request *request);

// End the requests that timed out. `all_read`: no message is left to be read.
void request_expire_all (struct zplan_client *self, bool all_read);

// Keep the message with the request. False: out of memory, or the copies would exceed their limit.
bool request_copy (struct zplan_client *self, struct client_request *request,
                   const struct message *message);

// Whether the request is safe to resend: it only reads, or submits a plan with an id or key by
// which the station recognises a duplicate.
bool request_is_safe (const struct message *message);

// ---- plans, plan_builder.c

// The plan as a submission, which borrows from it until it is changed. Returns an enum zplan_error;
// the text of an error is in zplan_plan_error.
int plan_builder_submission (struct zplan_plan *self, struct zplan_submission *ret);

// ---- answers, client.c

// Receive one message from this address, and end the request that it answers. False: there is no
// message.
bool client_receive_message (struct zplan_client *self, size_t index);
