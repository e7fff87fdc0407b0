#include "resolver.h"

#include <netdb.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "clock.h"
#include "ip.h"
#include "memory.h"
#include "table.h"

enum {
    THREADS = 8,
    SOURCE_THREADS_MAX = 2,
    CACHED_MAX = 1024,
    CACHED_US = 30000000,
    UNKNOWN_US = 5000000
};

struct name_waiter {
    struct name_waiter *next;
    resolved_fn *call;
    void *owner;
};

struct name_lookup {
    struct name_lookup *next;
    struct name_waiter *waiters; // used by the main thread only
    struct resolved_addresses resolved;
    char source[256];
    char host[CALLBACK_HOST_SIZE];
};

struct resolved_name {
    struct table_node node;
    int64_t until_us;
    struct resolved_addresses resolved;
    char host[];
};

// The threads share `queued`, `done` and `running`, under `lock`; everything else is for the main
// thread only.
static struct {
    struct source wake;
    int fd;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct name_lookup *queued, *done;
    const char *running[THREADS];            // the source of the lookup of each thread; NULL = none
    struct name_lookup *open[CALLBACKS_MAX]; // unfinished: in `queued`, running, or in `done`
    size_t open_count;
    struct table cache;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

// -- the threads

static void resolve_host (struct name_lookup *lookup)
{
    struct addrinfo *found = NULL, hints = {.ai_family = AF_UNSPEC,
                                            .ai_socktype = SOCK_STREAM,
                                            .ai_flags = AI_ADDRCONFIG};
    struct resolved_addresses *resolved = &lookup->resolved;
    if (getaddrinfo (lookup->host, NULL, &hints, &found))
        return;
    for (struct addrinfo *at = found; at && resolved->count < RESOLVED_MAX; at = at->ai_next)
        resolved->count += ip_of_socket (at->ai_addr, resolved->addresses[resolved->count]);
    freeaddrinfo (found);
}

// Take the first lookup whose source uses fewer threads than its limit. NULL: there is none. Called
// under the lock.
static struct name_lookup *next_allowed_lookup (void)
{
    for (struct name_lookup **at = &self.queued; *at; at = &(*at)->next) {
        struct name_lookup *lookup = *at;
        size_t same = 0;
        for (size_t i = 0; i < THREADS; i++)
            same += self.running[i] && strcmp (self.running[i], lookup->source) == 0;
        if (same < SOURCE_THREADS_MAX) {
            *at = lookup->next;
            return lookup;
        }
    }
    return NULL;
}

static void *resolver_run (void *owner)
{
    const char **source = owner;
    pthread_mutex_lock (&self.lock);
    for (;;) {
        struct name_lookup *lookup = next_allowed_lookup ();
        if (!lookup) {
            pthread_cond_wait (&self.changed, &self.lock);
            continue;
        }
        *source = lookup->source;
        pthread_mutex_unlock (&self.lock);
        resolve_host (lookup);
        pthread_mutex_lock (&self.lock);
        *source = NULL;
        lookup->next = self.done;
        self.done = lookup;
        pthread_cond_broadcast (&self.changed); // its source may use another thread now
        eventfd_write (self.fd, 1);
    }
    return NULL;
}

// -- the main thread

static void drop_cached_name (struct resolved_name *cached)
{
    table_remove (&self.cache, &cached->node);
    free (cached);
}

static struct resolved_name *cached_name_of (struct table_node *node)
{
    return (struct resolved_name *)((uint8_t *)node - offsetof (struct resolved_name, node));
}

static struct resolved_name *find_cached_name (const char *host)
{
    struct table_node *node = table_find (&self.cache, table_hash (span_text (host)));
    while (node && strcmp (cached_name_of (node)->host, host) != 0)
        node = table_next (node);
    if (node && cached_name_of (node)->until_us > clock_mono_us ())
        return cached_name_of (node);
    if (node)
        drop_cached_name (cached_name_of (node));
    return NULL;
}

static void drop_cached_names (void)
{
    for (struct table_node *node; (node = table_any (&self.cache));)
        drop_cached_name (cached_name_of (node));
}

static void cache_addresses (const struct name_lookup *lookup)
{
    if (self.cache.count >= CACHED_MAX)
        drop_cached_names ();
    if (find_cached_name (lookup->host))
        return;
    size_t size = strlen (lookup->host) + 1;
    struct resolved_name *cached = memory_new (sizeof *cached + size);
    cached->until_us = clock_mono_us () + (lookup->resolved.count ? CACHED_US : UNKNOWN_US);
    cached->resolved = lookup->resolved;
    memcpy (cached->host, lookup->host, size);
    table_add (&self.cache, &cached->node, table_hash (span_text (cached->host)));
}

static void finish_lookup (struct name_lookup *lookup)
{
    for (size_t i = 0; i < self.open_count; i++)
        if (self.open[i] == lookup) {
            self.open[i] = self.open[--self.open_count];
            break;
        }
    for (struct name_waiter *waiter; (waiter = lookup->waiters);) {
        lookup->waiters = waiter->next;
        waiter->call (waiter->owner, &lookup->resolved);
        free (waiter);
    }
    free (lookup);
}

static void on_lookups_done (void *owner, uint32_t events)
{
    eventfd_t count;
    (void)owner, (void)events;
    if (eventfd_read (self.fd, &count))
        return;
    pthread_mutex_lock (&self.lock);
    struct name_lookup *done = self.done;
    self.done = NULL;
    pthread_mutex_unlock (&self.lock);
    for (struct name_lookup *next; done; done = next) {
        next = done->next;
        cache_addresses (done);
        finish_lookup (done);
    }
}

static struct name_lookup *find_open_lookup (const char *host, const char *source)
{
    for (size_t i = 0; i < self.open_count; i++)
        if (strcmp (self.open[i]->host, host) == 0 && strcmp (self.open[i]->source, source) == 0)
            return self.open[i];
    return NULL;
}

bool resolver_find (const char *host, const char *source, struct resolved_addresses *ret,
                    resolved_fn *call, void *owner)
{
    const struct resolved_name *cached = find_cached_name (host);
    struct name_lookup *lookup = find_open_lookup (host, source);
    if (cached) {
        *ret = cached->resolved;
        return true;
    }
    struct name_waiter *waiter = memory_new (sizeof *waiter);
    waiter->call = call;
    waiter->owner = owner;
    if (lookup) {
        waiter->next = lookup->waiters;
        lookup->waiters = waiter;
        return false;
    }
    lookup = memory_new (sizeof *lookup);
    snprintf (lookup->host, sizeof lookup->host, "%s", host);
    snprintf (lookup->source, sizeof lookup->source, "%s", source);
    lookup->waiters = waiter;
    self.open[self.open_count++] = lookup;
    pthread_mutex_lock (&self.lock);
    struct name_lookup **end = &self.queued;
    while (*end)
        end = &(*end)->next;
    *end = lookup;
    pthread_cond_signal (&self.changed);
    pthread_mutex_unlock (&self.lock);
    return false;
}

bool resolver_start (struct reactor *reactor)
{
    pthread_t thread;
    self.fd = eventfd (0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (self.fd < 0)
        return false;
    self.wake = (struct source){.call = on_lookups_done};
    source_set (&self.wake, reactor, self.fd, EPOLLIN);
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create (&thread, NULL, resolver_run, &self.running[i]) ||
            pthread_detach (thread))
            return false;
    return true;
}

void resolver_stop (void)
{
    source_end (&self.wake);
    drop_cached_names ();
    table_free (&self.cache);
}
