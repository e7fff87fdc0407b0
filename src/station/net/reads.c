#include "reads.h"

#include <stdlib.h>

#include "memory.h"
#include "peers.h"
#include "reply.h"

// Costs of reads in flight: at most 16 large answers in all and 4 of one peer; four times as many
// reads of plans while the last plans that the peer read were small.
enum {
    COST_MAX = 64,
    COST_PEER_MAX = 16,
    COST_LARGE = 4,
    COST_SMALL = 1,
    SMALL_BYTES = 64 << 10,
    SMALL_ANSWERS = 16
};

enum read_how { READ_ASK, READ_DROP };

struct read {
    struct read *next;
    struct station *station;
    struct peer *peer;
    void *owner;
    read_fn *ask; // NULL: one plan is read, and `reply` is called with it
    uint64_t plan_id;
    bool with_place; // the answer has the plan's place in the queue
    store_loaded_fn *reply;
};

// -- peers that have reads waiting

static void ring_add (struct peer_reads *ring, struct peer_load *load)
{
    load->next_waiting = NULL;
    *(ring->first ? ring->end : &ring->first) = load;
    ring->end = &load->next_waiting;
    ring->peers++;
}

static struct peer_load *ring_take (struct peer_reads *ring)
{
    struct peer_load *load = ring->first;
    ring->first = load->next_waiting;
    ring->peers--;
    return load;
}

// Whether the limits allow the peer one more read now.
static bool may_read (const struct station *self, const struct peer_load *load)
{
    if (load->gone)
        return true; // the request is dropped, not read
    size_t all = atomic_load (&self->unread.bytes), own = atomic_load (&load->unread.bytes);
    size_t most = peers_unread_total_max (self);
    if (load->reads_cost + COST_LARGE > COST_PEER_MAX || all >= 2 * most)
        return false;
    // Above the common limit, a peer that has read all its replies still gets one read at a time.
    return all < most ? own < peers_unread_max (self) : own == 0 && load->reads_cost == 0;
}

// Pass on the plan that was read, then end the read; read_cost 0 keeps the reply from ending it.
static void on_loaded (void *owner, const struct store_loaded *answer)
{
    const struct read read = *(struct read *)owner;
    struct peer_load *load = read.peer->load;
    int cost = read.peer->read_cost;
    free (owner);
    read.peer->read_cost = 0;
    read.peer->has_read = true;
    if (answer->message.size > SMALL_BYTES)
        load->small_answers = 0;
    else if (load->small_answers < SMALL_ANSWERS)
        load->small_answers++;
    read.reply (read.owner, answer);
    if (cost) // else the read was dropped, and the load may be freed
        reads_end (read.station, load, cost);
}

static void start_read (struct read *read)
{
    struct store *store = read->station->store;
    if (read->ask) {
        read->ask (read->owner);
        free (read);
    } else if (read->with_place) {
        store_load_place (store, read->plan_id, on_loaded, read);
    } else {
        store_load (store, read->plan_id, LINK_ONCE, on_loaded, read);
    }
}

// The peer is gone or the station stops: end the read as if Redis were lost.
static void drop_read (struct read *read)
{
    if (!read->ask) {
        on_loaded (read, &(struct store_loaded){.result = STORE_LOST, .error = ""});
        return;
    }
    reply_refuse_store (read->station, read->peer, STORE_LOST, "");
    free (read->owner);
    free (read);
}

// Start or drop the first waiting read of the peer. May free the load.
static void start_or_drop_read (struct station *self, struct peer_load *load, enum read_how how)
{
    struct read *read = load->first;
    load->first = read->next;
    bool small = !read->ask && load->small_answers >= SMALL_ANSWERS;
    int cost = how == READ_DROP ? 0 : small ? COST_SMALL : COST_LARGE;
    load->reads_cost += cost;
    self->reading.cost += cost;
    load->waiting_bytes -= read->peer->weight;
    self->reading.waiting_bytes -= read->peer->weight;
    self->kept_bytes += read->peer->weight;
    read->peer->read_cost = cost;
    if (load->first)
        ring_add (&self->reading, load);
    if (how == READ_DROP)
        drop_read (read);
    else
        start_read (read);
}

void reads_start_waiting (struct station *self)
{
    struct peer_reads *ring = &self->reading;
    bool started = true;
    if (ring->starting)
        return; // called by a read that was answered at once: the outer call continues
    ring->starting = true;
    while (started && ring->cost + COST_LARGE <= COST_MAX) {
        started = false;
        for (size_t left = ring->peers; left && ring->first && ring->cost + COST_LARGE <= COST_MAX;
             left--) {
            struct peer_load *load = ring_take (ring);
            if (may_read (self, load)) {
                started = true;
                start_or_drop_read (self, load, load->gone ? READ_DROP : READ_ASK);
            } else {
                ring_add (ring, load);
            }
        }
    }
    ring->starting = false;
}

static void queue_read (const struct read *wanted)
{
    struct station *self = wanted->station;
    struct peer *peer = wanted->peer;
    struct peer_load *load = peer->load;
    struct read *read = memory_new (sizeof *read);
    *read = *wanted;
    if (!load->first)
        ring_add (&self->reading, load);
    *(load->first ? load->end : &load->first) = read;
    load->end = &read->next;
    load->waiting_bytes += peer->weight;
    self->reading.waiting_bytes += peer->weight;
    self->kept_bytes -= peer->weight;
    reads_start_waiting (self);
}

void reads_start (struct station *self, struct peer *peer, read_fn *ask, void *owner)
{
    queue_read (&(struct read){.station = self, .peer = peer, .ask = ask, .owner = owner});
}

void reads_end (struct station *self, struct peer_load *load, int cost)
{
    load->reads_cost -= cost;
    self->reading.cost -= cost;
    peers_free_if_idle (self, load);
    reads_start_waiting (self);
}

void reads_stop (struct station *self)
{
    self->reading.starting = true; // reads_start_waiting does nothing now
    while (self->reading.first)
        start_or_drop_read (self, ring_take (&self->reading), READ_DROP);
}

void reads_load (struct station *self, struct peer *peer, uint64_t plan_id, store_loaded_fn *reply,
                 void *owner)
{
    queue_read (&(struct read){
        .station = self, .peer = peer, .owner = owner, .plan_id = plan_id, .reply = reply});
}

void reads_load_place (struct station *self, struct peer *peer, uint64_t plan_id,
                       store_loaded_fn *reply, void *owner)
{
    queue_read (&(struct read){.station = self,
                               .peer = peer,
                               .owner = owner,
                               .plan_id = plan_id,
                               .with_place = true,
                               .reply = reply});
}
