#include "peers.h"

#include <czmq.h>
#include <errno.h>
#include <stdlib.h>

#include "memory.h"

enum {
    UNREAD_PART = 8,       // all peers may leave max_memory / UNREAD_PART unread
    UNREAD_PEER_PART = 16, // one peer may leave 1/UNREAD_PEER_PART of that unread
    COUNTED_MIN = 256,     // bytes; smaller replies are bounded by max_replies_peer only
    SWEEP_US = 1000000
};

static size_t hash_identity (const void *key)
{
    const struct peer_load *load = key;
    size_t hash = 14695981039346656037U; // FNV-1a
    for (size_t i = 0; i < load->identity.size; i++)
        hash = (hash ^ load->identity.data[i]) * 1099511628211U;
    return hash;
}

static int compare_identities (const void *a, const void *b)
{
    return !span_equal (((const struct peer_load *)a)->identity,
                        ((const struct peer_load *)b)->identity);
}

static zhashx_t *peers_table (struct station *self)
{
    if (self->peers)
        return self->peers;
    self->peers = zhashx_new ();
    zhashx_set_key_hasher (self->peers, hash_identity);
    zhashx_set_key_comparator (self->peers, compare_identities);
    zhashx_set_key_duplicator (self->peers, NULL); // the key is the load itself
    zhashx_set_key_destructor (self->peers, NULL);
    return self->peers;
}

struct peer_load *peers_find (const struct station *self, struct span identity)
{
    const struct peer_load key = {.identity = identity};
    return self->peers ? zhashx_lookup (self->peers, &key) : NULL;
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
    load->next = self->loads;
    load->place = &self->loads;
    if (load->next)
        load->next->place = &load->next;
    self->loads = load;
    zhashx_insert (peers_table (self), load, load);
    return load;
}

void peers_free_if_idle (struct station *self, struct peer_load *load)
{
    if (load->count || load->reads || load->first || atomic_load (&load->unread.bytes))
        return;
    zhashx_delete (self->peers, load);
    *load->place = load->next;
    if (load->next)
        load->next->place = load->place;
    free (load);
}

struct peer_load *peers_count_request (struct station *self, struct span identity)
{
    struct peer_load *load = find_or_create_load (self, identity);
    load->count++;
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
    size_t share = all / zhashx_size (self->peers);
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
    for (struct peer_load *load = self->loads, *next; load; load = next) {
        next = load->next;
        peers_free_if_idle (self, load);
    }
}

void peers_stop (struct station *self)
{
    for (struct peer_load *load = self->loads, *next; load; load = next) {
        next = load->next;
        free (load);
    }
    self->loads = NULL;
    zhashx_destroy (&self->peers);
}
