// Answer the metrics of the station and of this program for Prometheus.
//
// A request that arrives while the station is being queried waits for the same answer, which is
// then reused for a second.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api.h"
#include "clock.h"
#include "memory.h"
#include "metrics_text.h"
#include "process.h"
#include "server.h"

enum { FRESH_US = 1000000, TARGETS = 64 };

struct scrape {
    struct server *server;
    char *text; // NULL: none yet
    size_t size;
    int64_t made_us;
    bool asking;
    json_t *health;
    struct exchange *waiting;
};

static const char type[] = "text/plain; version=0.0.4; charset=utf-8";

static void write_web_metrics (const struct server *server, FILE *out)
{
    fputs ("# HELP zplan_web_requests_total Requests, by route and status.\n"
           "# TYPE zplan_web_requests_total counter\n",
           out);
    for (size_t i = 0; i < ROUTE_ROWS; i++) {
        const struct route_count *row = &server->counts[i];
        for (size_t at = 0; at < ROUTE_CODES_MAX && row->codes[at].count; at++)
            fprintf (out,
                     "zplan_web_requests_total{route=\"%s\",method=\"%s\",code=\"%u\"} %" PRIu64
                     "\n",
                     i < ROUTES ? routes[i].path : "other", i < ROUTES ? routes[i].method : "any",
                     row->codes[at].code, row->codes[at].count);
    }
    fputs ("# HELP zplan_web_request_seconds_total Time until the answer, by route.\n"
           "# TYPE zplan_web_request_seconds_total counter\n",
           out);
    for (size_t i = 0; i < ROUTES; i++)
        if (server->counts[i].codes[0].count)
            fprintf (out, "zplan_web_request_seconds_total{route=\"%s\",method=\"%s\"} %.6f\n",
                     routes[i].path, routes[i].method, (double)server->counts[i].sum_us / 1e6);
    fprintf (out,
             "# HELP zplan_web_connections Open connections.\n"
             "# TYPE zplan_web_connections gauge\nzplan_web_connections %zu\n"
             "# HELP zplan_web_memory_bytes Resident memory.\n"
             "# TYPE zplan_web_memory_bytes gauge\nzplan_web_memory_bytes %" PRId64 "\n",
             server->connections.count, process_memory ());
}

static void answer_scrape (struct scrape *self, struct exchange *exchange)
{
    char *copy = memory_copy (self->text, self->size);
    exchange_bytes (exchange, 200, type, copy, self->size);
}

static void finish_scrape (struct scrape *self, const json_t *stats)
{
    free (self->text);
    FILE *out = open_memstream (&self->text, &self->size);
    metrics_write (out, self->health, stats, TARGETS);
    write_web_metrics (self->server, out);
    fclose (out);
    json_decref (self->health);
    self->health = NULL;
    self->asking = false;
    self->made_us = clock_mono_us ();
    while (self->waiting) {
        struct exchange *first = self->waiting;
        self->waiting = first->next;
        answer_scrape (self, first);
    }
}

static void on_stats (void *owner, const struct station_answer *got)
{
    finish_scrape (owner, got->json);
}

static void on_health (void *owner, const struct station_answer *got)
{
    static const struct question question = {.word = "stats", .deadline_ms = GATEWAY_SOON_MS};
    struct scrape *self = owner;
    if (got->error != ZPLAN_OK || !got->json) {
        finish_scrape (self, NULL);
        return;
    }
    self->health = json_incref ((json_t *)(uintptr_t)got->json);
    gateway_ask (self->server->gateway, &question, on_stats, self);
}

static void answer_or_wait_for_scrape (struct exchange *self)
{
    static const struct question question = {.word = "health", .deadline_ms = GATEWAY_SOON_MS};
    struct server *server = self->server;
    if (!server->scrape) {
        server->scrape = memory_new (sizeof *server->scrape);
        server->scrape->server = server;
    }
    struct scrape *scrape = server->scrape;
    if (scrape->text && !scrape->asking && clock_mono_us () - scrape->made_us < FRESH_US) {
        answer_scrape (scrape, self);
        return;
    }
    self->state = EXCHANGE_ASKING;
    self->next = scrape->waiting;
    scrape->waiting = self;
    if (scrape->asking)
        return;
    scrape->asking = true;
    gateway_ask (server->gateway, &question, on_health, scrape);
}

void api_metrics (struct exchange *self)
{
    api_ask_observer (self, answer_or_wait_for_scrape);
}

void api_end (struct server *server)
{
    api_import_end (server);
    if (!server->scrape)
        return;
    free (server->scrape->text);
    free (server->scrape);
    server->scrape = NULL;
}
