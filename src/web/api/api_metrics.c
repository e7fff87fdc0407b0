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

static void answer_scrape (struct exchange *exchange)
{
    const struct scrape *scrape = &exchange->server->scrape;
    char *copy = memory_copy (scrape->text, scrape->size);
    exchange_answer_bytes (exchange, 200, type, copy, scrape->size);
}

static void finish_scrape (struct server *server, const json_t *stats)
{
    struct scrape *scrape = &server->scrape;
    free (scrape->text);
    FILE *out = open_memstream (&scrape->text, &scrape->size);
    metrics_write (out, scrape->health, stats, TARGETS);
    write_web_metrics (server, out);
    fclose (out);
    json_decref (scrape->health);
    scrape->health = NULL;
    scrape->asking = false;
    scrape->made_us = clock_mono_us ();
    while (scrape->waiting) {
        struct exchange *first = scrape->waiting;
        scrape->waiting = first->next;
        answer_scrape (first);
    }
}

static void on_stats (void *owner, const struct station_answer *answer)
{
    finish_scrape (owner, answer->json);
}

static void on_health (void *owner, const struct station_answer *answer)
{
    static const struct question question = {.command = "stats", .deadline_ms = GATEWAY_SOON_MS};
    struct server *server = owner;
    if (answer->error != ZPLAN_OK || !answer->json) {
        finish_scrape (server, NULL);
        return;
    }
    server->scrape.health = json_incref ((json_t *)(uintptr_t)answer->json);
    gateway_ask (server->gateway, &question, on_stats, server);
}

static void answer_or_wait_for_scrape (struct exchange *self)
{
    static const struct question question = {.command = "health", .deadline_ms = GATEWAY_SOON_MS};
    struct server *server = self->server;
    struct scrape *scrape = &server->scrape;
    if (scrape->text && !scrape->asking && clock_mono_us () - scrape->made_us < FRESH_US) {
        answer_scrape (self);
        return;
    }
    self->state = EXCHANGE_ASKING;
    self->next = scrape->waiting;
    scrape->waiting = self;
    if (scrape->asking)
        return;
    scrape->asking = true;
    gateway_ask (server->gateway, &question, on_health, server);
}

void api_metrics (struct exchange *self)
{
    api_ask_observer (self, answer_or_wait_for_scrape);
}

void api_end (struct server *server)
{
    api_import_end (server);
    free (server->scrape.text);
    server->scrape.text = NULL;
}
