// The other end of the station: the api target that runs are sent to, the subscriber that hears
// what came of them, and the book in which both are counted, plan by plan.
#pragma once

#include "figures.h"
#include "traffic.h"

// -- the book

struct book_entry {
    uint64_t plan_id;      // 0 = a free place
    uint64_t exec_id;      // of its last run
    int64_t meant_wall_us; // when it is meant to run, Unix time; 0 = not known
    uint32_t runs;         // sent to us
    uint32_t done;         // broadcasts with OK
};

struct book {
    struct book_entry *entries;
    size_t room; // a power of two
    size_t plans;
};

void book_open (struct book *self, int64_t plans);
void book_close (struct book *self);

// The plan's entry, made when there is none; good until the next call.
struct book_entry *book_entry (struct book *self, uint64_t plan_id);

// -- the target

enum { CONNECTIONS_MAX = 16 };

// A run as it came. The spans are good until the next one is taken.
struct run {
    uint64_t plan_id, exec_id;
    struct span argument;
    const struct book_entry *entry; // this run is counted in it
    int64_t at_us;                  // monotonic
};

struct target {
    void *socket;
    struct book *book;
    zmq_msg_t identity, part, argument;
    char mailbox[32], local_id[32]; // as they came, to be sent back
    size_t mailbox_size, local_id_size;

    int64_t runs, plans;       // sent to us; different plans of them
    int64_t doubled;           // runs of a plan that had one before, with another exec_id
    int64_t repeated;          // with the same exec_id
    int64_t first_us, last_us; // of the first and last run; monotonic
    int64_t first_wall_us;     // of the first, Unix time
    // For each connection of the station's the wall time of its first run.
    struct {
        uint8_t identity[256];
        size_t size;
    } connections[CONNECTIONS_MAX];
    int64_t connection_wall_us[CONNECTIONS_MAX];
    size_t connection_count;
};

void target_open (struct target *self, const char *endpoint, struct book *book);
void target_close (struct target *self);

// Take the next run, if there is one, and count it.
bool target_take (struct target *self, struct run *ret);

// Answer the run that was taken last: RUNING, and then OK with a result.
void target_answer (struct target *self);

void target_result (const struct target *self);

// -- the subscriber

struct subscriber {
    void *socket;
    struct book *book;
    zmq_msg_t part;
    int64_t heard;        // broadcasts of any plan
    int64_t done;         // different plans with OK
    int64_t done_again;   // OK of plans that were done before
    int64_t errors;       // with an error status
    int64_t gaps, missed; // holes in `seq`, and how many broadcasts they are in all
    int64_t seq;          // of the last one; -1 = not known
    char epoch[32];
    int64_t last_us; // of the last OK; monotonic
};

// Connect, and wait until the connection stands.
void subscriber_open (struct subscriber *self, const char *endpoint, struct book *book);
void subscriber_close (struct subscriber *self);

// Take so many broadcasts at most. Returns how many it took.
int64_t subscriber_take (struct subscriber *self, int64_t most);

void subscriber_result (const struct subscriber *self);
