// zplan-web: read the settings, serve HTTP until a signal.
#include <signal.h>
#include <stdio.h>
#include <sodium.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "log.h"
#include "notify.h"
#include "process.h"
#include "server.h"
#include "station.h"

enum { EXIT_STOPPED = 0, EXIT_NOT_STARTED = 1, EXIT_USAGE = 2, FILES = 8192 };

static const char usage_head[] =
    "Usage: zplan-web [options]\n"
    "\n"
    "The HTTP gateway of zpland: a REST interface below /v1, its description at\n"
    "/v1/openapi.json, metrics for Prometheus at /metrics, and pages for a browser. It is a "
    "client\n"
    "of the station like any other. Runs in the foreground, logs to stderr, and prints\n"
    "'zplan-web: ready at http://ADDRESS:PORT/' when it serves.\n"
    "\n"
    "Without users it serves this machine only, and whoever reaches it, every user of this\n"
    "machine, may do what its key may at the station.\n"
    "\n"
    "Each setting is an option and a line of the settings file (its name there is in "
    "parentheses).\n";

static const char usage_tail[] =
    "\n"
    "Options:\n"
    "  -c FILE                     read settings from a ZPL file first\n"
    "  --set NAME=VALUE            set any setting by its name in the file\n"
    "  --settings                  print all settings as JSON, for programs\n"
    "  --help, --version\n"
    "\n"
    "Examples:\n"
    "  zplan-web\n"
    "  curl http://127.0.0.1:7924/v1/plans?state=error\n"
    "  curl --json '{\"target\": \"jobs\", \"command\": \"report\", \"spec\": {\"plan_type\": "
    "\"minute\",\n"
    "      \"plan_value\": 5, \"plan_repet\": -1}}' http://127.0.0.1:7924/v1/plans\n"
    "  curl -X POST http://127.0.0.1:7924/v1/plans/2a/pause\n";

static bool is_fixed (const struct setting *setting)
{
    (void)setting;
    return true;
}

static const struct configured_program program = {.name = "zplan-web",
                                                  .table = &web_setting_table,
                                                  .usage_head = usage_head,
                                                  .usage_tail = usage_tail,
                                                  .fixed = is_fixed,
                                                  .check = web_settings_check};

struct running {
    struct reactor *reactor;
    int signal_fd;
};

static void on_signal (void *owner, uint32_t events)
{
    struct running *self = owner;
    (void)events;
    for (int number; (number = process_next_signal (self->signal_fd));)
        if (number != SIGCHLD && number != SIGHUP) {
            notify_stopping ();
            log_event (LEVEL_INFO, "stopping", "signal=%d", number);
            reactor_stop (self->reactor);
        }
}

// Each connection is a descriptor.
static void allow_files (void)
{
    struct rlimit limit;
    if (getrlimit (RLIMIT_NOFILE, &limit) || limit.rlim_cur >= FILES)
        return;
    limit.rlim_cur = limit.rlim_max < FILES ? limit.rlim_max : FILES;
    setrlimit (RLIMIT_NOFILE, &limit);
}

static struct gateway *open_gateway (struct reactor *reactor, const struct web_settings *settings,
                                     struct reason *reason)
{
    struct zplan_client *client =
        station_open (settings, settings->key[0] ? settings->key : NULL, reason);
    return client ? gateway_new (reactor, client) : NULL;
}

static void serve (struct running *self, const struct server *server,
                   const struct web_settings *settings)
{
    const char *colon = strrchr (settings->listen, ':');
    struct source signals = {.call = on_signal, .owner = self};
    source_set (&signals, self->reactor, self->signal_fd, EPOLLIN);
    printf ("zplan-web: ready at http://%.*s:%d%s%s\n", (int)(colon - settings->listen),
            settings->listen, server->port, settings->root, settings->root[1] ? "/" : "");
    fflush (stdout);
    notify_ready ();
    reactor_run (self->reactor);
    source_end (&signals);
}

static int run (const struct web_settings *settings, struct reason *reason)
{
    enum log_level level;
    enum log_format format;
    struct running self = {.signal_fd = process_prepare ()};
    log_level_parse (settings->log_level, &level);
    log_format_parse (settings->log_format, &format);
    log_start ("zplan-web", level);
    log_use (format);
    process_confine ();
    allow_files ();
    notify_start ();
    self.reactor = reactor_new ();
    struct gateway *gateway =
        self.reactor && sodium_init () >= 0 ? open_gateway (self.reactor, settings, reason) : NULL;
    struct server *server = gateway ? server_new (self.reactor, settings, gateway, reason) : NULL;
    if (server)
        serve (&self, server, settings);
    int code = server ? EXIT_STOPPED : EXIT_NOT_STARTED;
    server_destroy (&server);
    reactor_destroy (&self.reactor);
    close (self.signal_fd);
    return code;
}

int main (int argc, char **argv)
{
    static struct web_settings settings;
    struct reason reason = {""};
    int code = EXIT_STOPPED;
    process_reset_signals (HANGUP_RESET);
    enum configured configured = configure (&program, argc, argv, &settings, &reason);
    if (configured == CONFIGURED)
        code = run (&settings, &reason);
    else if (configured != CONFIGURED_DONE)
        code = EXIT_USAGE;
    if (code)
        fprintf (stderr, "zplan-web: %s\n", reason.text);
    if (configured == CONFIGURED_USAGE)
        fputs ("Try 'zplan-web --help'.\n", stderr);
    return code;
}
