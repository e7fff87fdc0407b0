// zplan-web: read the settings, serve HTTP until a signal.
#include <sodium.h>
#include <stdio.h>
#include <sys/resource.h>

#include "daemon.h"
#include "server.h"

enum { FILES = 8192 };

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

static const struct configured_program program = {.name = "zplan-web",
                                                  .table = &web_setting_table,
                                                  .usage_head = usage_head,
                                                  .usage_tail = usage_tail,
                                                  .check = web_settings_check};

// Raise the limit of open files, as each connection needs a descriptor.
static void raise_file_limit (void)
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
    const struct daemon_station station = {settings->connect, settings->server_key, settings->key};
    struct zplan_client *client = daemon_connect (&station, reason);
    return client ? gateway_new (reactor, client) : NULL;
}

static void print_ready (const struct web_settings *settings, int port)
{
    const char *colon = strrchr (settings->listen, ':');
    if (web_listener_path (settings->listen))
        printf ("zplan-web: ready at %s\n", settings->listen);
    else
        printf ("zplan-web: ready at %s://%.*s:%d%s%s\n", settings->tls_cert[0] ? "https" : "http",
                (int)(colon - settings->listen), settings->listen, port, settings->root,
                settings->root[1] ? "/" : "");
    fflush (stdout);
}

static void stop_reactor (void *reactor)
{
    reactor_stop (reactor);
}

static int run_gateway (void *values, struct reason *reason)
{
    const struct web_settings *settings = values;
    struct daemon daemon;
    bool started = daemon_start (&daemon, program.name, settings->log_level, settings->log_format);
    raise_file_limit ();
    struct gateway *gateway =
        started && sodium_init () >= 0 ? open_gateway (daemon.reactor, settings, reason) : NULL;
    bool unusable = false;
    struct server *server =
        gateway ? server_new (daemon.reactor, settings, gateway, &unusable, reason) : NULL;
    if (server) {
        print_ready (settings, server->listener.port);
        daemon_serve (&daemon, stop_reactor, daemon.reactor);
    }
    int code = server ? CONFIGURED_STOPPED : unusable ? CONFIGURED_MISUSED : CONFIGURED_NOT_STARTED;
    server_destroy (&server);
    daemon_end (&daemon);
    return code;
}

int main (int argc, char **argv)
{
    static struct web_settings settings;
    return configured_main (&program, argc, argv, &settings, run_gateway);
}
