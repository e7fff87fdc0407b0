#include "peers.h"

#include <stdlib.h>

#include "memory.h"

struct load {
    struct span identity; // of `bytes`, or of who asks
    int64_t count;
    uint8_t bytes[];
};

static size_t hash_identity (const void *key)
{
    const struct load *load = key;
    size_t hash = 14695981039346656037U; // FNV-1a
    for (size_t i = 0; i < load->identity.size; i++)
        hash = (hash ^ load->identity.data[i]) * 1099511628211U;
    return hash;
}

static int compare_identities (const void *a, const void *b)
{
    return !span_equal (((const struct load *)a)->identity, ((const struct load *)b)->identity);
}

static zhashx_t *table_of (struct station *self)
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

static struct load *find (const struct station *self, struct span identity)
{
    const struct load key = {.identity = identity};
    return self->peers ? zhashx_lookup (self->peers, &key) : NULL;
}

void peers_enter (struct station *self, struct span identity)
{
    struct load *load = find (self, identity);
    if (!load) {
        load = memory_new (sizeof *load + identity.size);
        if (identity.size)
            memcpy (load->bytes, identity.data, identity.size);
        load->identity = span_of (load->bytes, identity.size);
        zhashx_insert (table_of (self), load, load);
    }
    load->count++;
}

void peers_leave (struct station *self, struct span identity)
{
    struct load *load = find (self, identity);
    if (!load || --load->count > 0)
        return;
    zhashx_delete (self->peers, load);
    free (load);
}

bool peers_full (const struct station *self, struct span identity)
{
    const struct load *load = find (self, identity);
    return load && load->count >= self->settings->limits.requests_peer;
}

void peers_stop (struct station *self)
{
    if (!self->peers)
        return;
    for (struct load *load = zhashx_first (self->peers); load; load = zhashx_next (self->peers))
        free (load);
    zhashx_destroy (&self->peers);
}
