// Only hosts with failures are stored. When 4096 are, failures of further hosts are not counted.
#include "breaker.h"

#include <stddef.h>
#include <stdlib.h>

#include "memory.h"

enum { OPEN_MS = 30000, OPEN_MAX_MS = 900000, PROBE_MS = 5000 };

struct breaker {
    struct table_node node;
    int failures;    // consecutive failures
    int64_t open_ms; // duration of the last opening; 0 = never opened
    int64_t until_ms;
    bool probing; // a probe is in flight
    char host[];
};

static struct breaker *breaker_of (struct table_node *node)
{
    return (struct breaker *)((uint8_t *)node - offsetof (struct breaker, node));
}

static struct breaker *find_breaker (const struct breakers *self, const char *host)
{
    struct table_node *node = table_find (&self->table, table_hash (span_text (host)));
    while (node && strcmp (breaker_of (node)->host, host) != 0)
        node = table_next (node);
    return node ? breaker_of (node) : NULL;
}

int64_t breaker_wait (struct breakers *self, const char *host, int64_t now_ms, bool *probes)
{
    struct breaker *breaker = find_breaker (self, host);
    if (!breaker || !breaker->open_ms || *probes)
        return 0;
    if (now_ms < breaker->until_ms)
        return breaker->until_ms - now_ms;
    if (breaker->probing)
        return PROBE_MS;
    breaker->probing = *probes = true;
    return 0;
}

static void breaker_remove (struct breakers *self, struct breaker *breaker)
{
    table_remove (&self->table, &breaker->node);
    free (breaker);
}

void breaker_end (struct breakers *self, const char *host, enum breaker_end end, int64_t now_ms)
{
    struct breaker *breaker = find_breaker (self, host);
    if (breaker && end == BREAKER_WORKS)
        breaker_remove (self, breaker);
    else if (breaker && end == BREAKER_UNKNOWN)
        breaker->probing = false;
    if (end != BREAKER_FAILED)
        return;
    if (!breaker) {
        size_t size = strlen (host) + 1;
        if (self->table.count >= BREAKER_HOSTS_MAX)
            return;
        breaker = memory_new (sizeof *breaker + size);
        memcpy (breaker->host, host, size);
        table_add (&self->table, &breaker->node, table_hash (span_text (host)));
    }
    breaker->failures++;
    // Failures of callbacks that were sent before the breaker opened do not extend its opening.
    if (breaker->failures < BREAKER_FAILURES || now_ms < breaker->until_ms)
        return;
    int64_t twice_ms = breaker->open_ms ? 2 * breaker->open_ms : OPEN_MS;
    breaker->open_ms = twice_ms < OPEN_MAX_MS ? twice_ms : OPEN_MAX_MS;
    breaker->until_ms = now_ms + breaker->open_ms;
    breaker->probing = false;
}

void breakers_free (struct breakers *self)
{
    for (struct table_node *node; (node = table_any (&self->table));)
        breaker_remove (self, breaker_of (node));
    table_free (&self->table);
}
