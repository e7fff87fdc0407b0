// zplan metrics: prints the station's numbers in the format of Prometheus, or serves them.
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "call.h"
#include "metrics_http.h"
#include "metrics_text.h"
#include "options.h"
#include "print.h"

// LOOK_MS: timeout of each of two requests, so that a scrape takes below 1 s.
enum { TARGETS_DEFAULT = 64, LOOK_MS = 400 };

struct metrics_wanted {
    const char *listen;
    bool insecure;
    int64_t targets;
};

static const struct option rows[] = {
    TEXT_OPTION (struct metrics_wanted, listen, "--listen", "ADDRESS:PORT",
                 "serve GET /metrics there until a signal: 127.0.0.1:9924;\n"
                 "port 0 takes a free one"),
    FLAG_OPTION (struct metrics_wanted, insecure, "--insecure",
                 "also on an address that other machines reach: whoever\n"
                 "reaches it reads the metrics"),
    NUMBER_OPTION (struct metrics_wanted, targets, "--targets", "N", 1, METRIC_TARGETS_MAX,
                   "targets with series of their own; the others are one,\n"
                   "\"other\"; default 64"),
};

static const char about[] =
    "Print the station's numbers in the text format of Prometheus: plans, runs by target and\n"
    "outcome, histograms of lateness and duration, Redis. With --listen serve them instead; each\n"
    "scrape is answered within a second, from numbers that are at most a second old. If the\n"
    "station does not answer, zplan_up is 0. Needs the role observe.\n\n"
    "  zplan metrics\n"
    "  zplan metrics --listen 127.0.0.1:9924\n\n"
    "docker/monitoring has rules of alerts, and a dashboard of Grafana. Exit status without\n"
    "--listen: 3 if the station does not answer.\n";

struct metrics {
    const struct cli *cli;
    const struct metrics_wanted *wanted;
    struct zplan_client *client;
    struct verdict health; // the result of its last request
};

static char *make_metrics (void *owner)
{
    struct metrics *self = owner;
    struct verdict ignored; // if Redis is away, `health` reports it
    char *text;
    size_t size;
    FILE *out = text_open (&text, &size);
    json_t *health = call_with_filter (self->cli, self->client, "health", NULL, &self->health);
    json_t *stats =
        health ? call_with_filter (self->cli, self->client, "stats", NULL, &ignored) : NULL;
    metrics_write (out, health, stats, (size_t)self->wanted->targets);
    fclose (out);
    json_decref (health);
    json_decref (stats);
    return text;
}

static int print_metrics (struct metrics *self)
{
    char *text = make_metrics (self);
    fputs (text, stdout);
    free (text);
    return verdict_print (&self->health, NULL);
}

static int serve_metrics (struct metrics *self)
{
    struct reason reason;
    int listener, port;
    int code = metrics_bind (self->wanted->listen,
                             self->wanted->insecure ? METRICS_ANYBODY : METRICS_LOCAL, &listener,
                             &port, &reason);
    if (code == EXIT_USAGE)
        return usage_error (self->cli->argv[0], &reason);
    if (code != EXIT_DONE)
        return complain (NULL, span_text (reason.text));
    sigset_t set;
    sigemptyset (&set);
    sigaddset (&set, SIGTERM);
    sigaddset (&set, SIGINT);
    sigprocmask (SIG_BLOCK, &set, NULL);
    int stop_fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    const char *colon = strrchr (self->wanted->listen, ':');
    printf ("http://%.*s:%d/metrics\n", (int)(colon - self->wanted->listen), self->wanted->listen,
            port);
    fflush (stdout);
    zplan_client_set_timeout (self->client, LOOK_MS);
    zplan_client_set_interrupt (self->client, stop_fd);
    metrics_serve (listener, stop_fd, make_metrics, self);
    close (stop_fd);
    close (listener);
    return EXIT_DONE;
}

int verb_metrics (const struct cli *cli)
{
    struct metrics_wanted wanted = {.targets = TARGETS_DEFAULT};
    const struct usage usage = {
        .synopsis = "zplan metrics [--listen ADDRESS:PORT]",
        .about = about,
        .groups = {OPTION_GROUP ("Metrics", rows, &wanted)},
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    if (cli->json) {
        struct reason reason;
        reason_set (&reason, "--json: the metrics are text; zplan stats --json has the numbers");
        return usage_error (cli->argv[0], &reason);
    }
    struct metrics self = {.cli = cli, .wanted = &wanted, .client = call_open (cli, &code)};
    if (self.client)
        code = wanted.listen ? serve_metrics (&self) : print_metrics (&self);
    zplan_client_destroy (&self.client);
    return code;
}
