#include "peers.h"

#include <errno.h>
#include <stdlib.h>

#include "memory.h"

enum {
    UNREAD_PART = 8,       // all peers may leave max_memory / UNREAD_PART unread
    UNREAD_PEER_PART = 16, // one peer may leave 1/UNREAD_PEER_PART of that unread
    COUNTED_MIN = 256,     // bytes; smaller replies are bounded by max_replies_peer only
    SWEEP_US = 1000000
};

struct peer_load *peers_find (const struct station *self, struct span identity)
{
    struct table_node *node = table_find (&self->peers, table_hash (identity));
    while (node && !span_equal (((struct peer_load *)node)->identity, identity))
        node = table_next (node);
    return (struct peer_load *)node;
}

static struct peer_load *find_or_create_load (struct station *self, struct span identity)
{
    struct peer_load *load = peers_find (self, identity);
    if (load)
        return load;
    load = memory_new (sizeof *load + identity.size);
    if (identity.size)
        memcpy (load->bytes, identity.data, identity.size);
    load->identity = span_of (load->bytes, identity.size);
    load->unread.all = &self->unread;
    table_add (&self->peers, &load->node, table_hash (identity));
    return load;
}

void peers_free_if_idle (struct station *self, struct peer_load *load)
{
    if (load->requests || load->reads_cost || load->first || atomic_load (&load->unread.bytes))
        return;
    table_remove (&self->peers, &load->node);
    free (load);
}

struct peer_load *peers_count_request (struct station *self, struct span identity)
{
    struct peer_load *load = find_or_create_load (self, identity);
    load->requests++;
    load->gone = false;
    return load;
}

// -- unread replies

size_t peers_unread_total_max (const struct station *self)
{
    return (size_t)self->settings->limits.memory_mib * (1 << 20) / UNREAD_PART;
}

size_t peers_unread_max (const struct station *self)
{
    return peers_unread_total_max (self) / UNREAD_PEER_PART;
}

// The limit of the unread bytes of a peer, and also of the bytes of its waiting requests.
static size_t peer_bytes_limit (const struct station *self)
{
    size_t all = peers_unread_total_max (self), most = peers_unread_max (self);
    if (atomic_load (&self->unread.bytes) + self->reading.waiting_bytes < all)
        return most;
    size_t share = all / self->peers.count;
    return share < most ? share : most;
}

bool peers_wait_full (const struct station *self, const struct peer_load *load)
{
    return load->waiting_bytes >= peer_bytes_limit (self);
}

bool peers_send (struct station *self, struct span identity, const struct message *message,
                 enum reply_kind kind)
{
    struct peer_load *load = NULL;
    bool counted = message_size (message) >= COUNTED_MIN, sent;
    if (counted) {
        load = find_or_create_load (self, identity);
        if (kind == REPLY_MADE && atomic_load (&load->unread.bytes) >= peer_bytes_limit (self))
            return false; // it reads its replies too slowly
        sent = watch_send_counted (&self->request_watch, self->request_socket, identity, message,
                                   &load->unread);
    } else {
        sent = watch_send (&self->request_watch, self->request_socket, identity, message);
    }
    if (!sent && errno == EHOSTUNREACH && (load || (load = peers_find (self, identity))))
        load->gone = true;
    return sent;
}

// -- all peers

void peers_tick (struct station *self, int64_t now_us)
{
    if (now_us - self->loads_swept_us < SWEEP_US)
        return;
    self->loads_swept_us = now_us;
    for (struct table_node *node = table_step (&self->peers, NULL), *next; node; node = next) {
        next = table_step (&self->peers, node);
        peers_free_if_idle (self, (struct peer_load *)node);
    }
}

void peers_stop (struct station *self)
{
    for (struct table_node *node = table_step (&self->peers, NULL), *next; node; node = next) {
        next = table_step (&self->peers, node);
        free (node);
    }
    table_free (&self->peers);
}
