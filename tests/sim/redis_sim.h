// A simulated Redis: connections with WATCH and MULTI, refusals, and what befalls a server. It runs
// what it is given at once; when bytes arrive is decided by whoever simulates the network.
#pragma once

#include "redis_data.h"

struct redis_sim;

// A connection; it ends with redis_sim_close, and for the server earlier.
struct redis_link;

// What is applied, as somebody who looks on sees it. Borrowed.
struct redis_observer {
    void *owner;
    // A step of this client begins: before each of its writes the data are as before that.
    void (*begins) (void *owner, int client, uint64_t step);
    void (*applies) (void *owner, const struct span *words, size_t count);
    void (*ends) (void *owner);
};

struct redis_sim *redis_sim_new (const struct redis_observer *observer);
void redis_sim_destroy (struct redis_sim **self);
struct redis_data *redis_sim_data (struct redis_sim *self);

struct redis_link *redis_sim_open (struct redis_sim *self, int client);
void redis_sim_close (struct redis_sim *self, struct redis_link **link);

// Whether the server has ended it.
bool redis_link_ended (const struct redis_link *link);

// The commands of one write of a client, or the first of them; each has its answer.
struct redis_packet {
    struct arena arena; // of words and answers
    const struct span *words;
    const size_t *sizes;
    size_t count;
    redisReply **replies;
};

void redis_sim_run (struct redis_sim *self, struct redis_link *link, struct redis_packet *packet,
                    int64_t redis_us);

// A command of somebody with redis-cli: it is a step of its own, of no client.
void redis_sim_edit (struct redis_sim *self, const struct span *words, size_t count,
                     int64_t redis_us);

// Refuse writes with this error, NULL = none; "LOADING ...": all commands.
void redis_sim_refuse (struct redis_sim *self, const char *error);
const char *redis_sim_refusal (const struct redis_sim *self);

// All connections end.
void redis_sim_end_links (struct redis_sim *self);

// The data are as they were so many steps ago; or they are gone. Connections are as they were.
void redis_sim_back (struct redis_sim *self, size_t steps);
void redis_sim_flush (struct redis_sim *self);
