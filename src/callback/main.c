// zplan-callback: read the settings, send callbacks until a signal.
#include "daemon.h"
#include "sender.h"

static const char usage_head[] =
    "Usage: zplan-callback [options]\n"
    "\n"
    "Sends callbacks: takes the plans of a pull target of zpland, sends each to its URL by HTTPS,\n"
    "and reports how that ended. Runs in the foreground, logs to stderr, and prints 'ready' once\n"
    "the station has answered. Any number of them may run beside each other.\n"
    "\n"
    "It connects to public addresses only: not to this machine, the networks on its links, "
    "private\n"
    "networks, or those of --deny. Internal networks that have public addresses, as with IPv6, "
    "must\n"
    "be named by --deny.\n"
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
    "  zplan-callback --secrets /etc/zplan/secrets\n"
    "  zplan-callback --receivers /etc/zplan/receivers --only-named --allow 10.1.0.0/16\n";

static const struct configured_program program = {.name = "zplan-callback",
                                                  .table = &sender_setting_table,
                                                  .usage_head = usage_head,
                                                  .usage_tail = usage_tail,
                                                  .check = sender_settings_check};

static void stop_sender (void *sender)
{
    sender_stop (sender);
}

static int run_sender (void *values, struct reason *reason)
{
    struct sender_settings *settings = values;
    struct daemon daemon;
    const struct daemon_station station = {settings->connect, settings->server_key, settings->key};
    bool started = daemon_start (&daemon, program.name, settings->log_level, settings->log_format);
    struct zplan_client *client = started ? daemon_connect (&station, reason) : NULL;
    struct sender *sender = client ? sender_new (daemon.reactor, settings, client) : NULL;
    if (client && !sender)
        reason_set (reason, "libcurl cannot be started");
    if (sender)
        daemon_serve (&daemon, stop_sender, sender);
    int code = sender ? CONFIGURED_STOPPED : CONFIGURED_NOT_STARTED;
    sender_destroy (&sender);
    daemon_end (&daemon);
    return code;
}

int main (int argc, char **argv)
{
    static struct sender_settings settings;
    return configured_main (&program, argc, argv, &settings, run_sender);
}
