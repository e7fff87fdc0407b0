// What the files of the client share.
#pragma once

#include "zplan_client.h"

#include "keys.h"
#include "packet.h"
#include "readiness.h"

enum { REQUEST_ID_SIZE = 48 };

// A request that has no answer yet.
struct request {
    struct request *next;
    uint64_t number;     // counts up: the order in which they were sent
    int64_t deadline_us; // monotonic
    zplan_reply_fn *fn;  // may be NULL
    void *context;
    size_t id_size;
    uint8_t id[]; // its REQUEST_ID
};

struct zplan_client {
    char *endpoint;
    struct keys keys;
    void *context; // of this client alone
    void *socket;  // NULL: made anew for the next request
    struct readiness ready;
    int64_t timeout_ms;    // of each request that is sent from now on
    int interrupt_fd;      // readable = a call waits no longer; -1 = none
    uint64_t session;      // random; with `requests` it makes request ids that nobody else uses
    uint64_t requests;     // sent so far
    uint64_t heard;        // number of the last one that was answered
    struct request *first; // those in hand, oldest first
    struct request **end;  // where the next one is put
    size_t count;          // of them
    int64_t deadline_us;   // none of them ends before it
    int late_turns;        // how often the socket was read behind it without an end
    bool calling;          // a callback is running
    bool closing;          // being destroyed
    struct packet packet;  // the last reply
    struct message answer; // the same, read; borrows from packet
    struct reason reason;  // of the last call that failed
};

// The error, with its words kept for zplan_client_error.
int client_fail (struct zplan_client *self, int error, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

// Keep the words of an error of another object. Returns the error.
int client_fail_as (struct zplan_client *self, int error, const char *words);
