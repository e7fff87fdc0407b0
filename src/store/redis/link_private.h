// Private to the files of the link.
#pragma once

#include "connection.h"
#include "link.h"
#include "replicas.h"
#include "sentinel.h"

enum { BACKOFF_FIRST_US = 20000 };

// One call, kept with its text on the wire until it is answered.
struct call {
    struct call *next;
    struct link *link;
    char *text;
    size_t size; // of `text`, in bytes
    enum script script;
    enum link_repeat repeat;
    int64_t sent_us;
    link_reply_fn *reply;
    void *owner;
};

struct call_list {
    struct call *first;
    struct call **end;
    size_t count;
    size_t bytes;
};

struct link {
    struct link_config config;
    struct reactor *reactor;
    struct timer timer;
    struct link_io io;

    enum link_state state;
    struct reason trouble;
    char fsync[16];
    struct link_facts facts;
    int64_t time_asked_us; // CLOCK_MONOTONIC, when Redis was asked for its clock
    char sha[SCRIPTS][41];

    struct connection *connection;
    struct sentinel *sentinel; // NULL: the address is that of Redis itself
    struct address master;     // the master that the sentinels named last
    struct replicas *replicas; // NULL: no waiting for replicas
    bool refused;              // the last attempt found a Redis that must not hold plans
    bool broken;               // the connection is to be closed, outside hiredis' callbacks
    int64_t opened_us;         // when this attempt to connect began, monotonic; 0 = there is none
    int64_t retry_us;          // when to connect again, monotonic
    int64_t backoff_us;
    int64_t check_us;    // when to check again whether Redis may hold plans
    int64_t sentinel_us; // when to ask the sentinels again

    struct call_list sent;    // in the order Redis will answer
    struct call_list lost;    // sent on a connection that is being closed, without an answer
    struct call_list waiting; // to be sent when the link is up
    int64_t answered_us;      // when the last answer was read, monotonic
    bool closing;
};

// Start to connect.
void link_open (struct link *self);

// Called with the answer of the sentinels.
void link_on_master (void *owner, const struct address *master, const char *reason);

// Check again whether Redis may hold plans.
void link_check_redis (struct link *self);

// Load a script that Redis does not know.
void link_load_script (struct link *self, enum script script);

// Mark the connection as broken: it is closed as soon as no callback of hiredis is on the stack.
void link_mark_broken (struct link *self, const char *why);

// Close the connection now: its calls are answered with NULL, or wait to be resent. Retries later.
void link_close_and_retry (struct link *self);

// Drop the connection if it is broken or was lost, else update the events to poll for.
void link_check_connection (struct link *self);

// Whether the error begins with one of these texts, a list that ends with NULL.
bool link_error_is (const redisReply *reply, const char *const *prefixes);

// Set the state, and notify the owner if it has changed.
void link_set_state (struct link *self, enum link_state state);

// The connection is ready: notify the owner and send the waiting calls.
void link_set_up (struct link *self);
