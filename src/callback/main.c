// zplan-callback: read the settings, send callbacks until a signal.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "curve.h"
#include "endpoints.h"
#include "log.h"
#include "notify.h"
#include "process.h"
#include "sender.h"

enum { EXIT_STOPPED = 0, EXIT_NOT_STARTED = 1, EXIT_USAGE = 2 };

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

static bool is_fixed (const struct setting *setting)
{
    (void)setting;
    return true;
}

static const struct configured_program program = {.name = "zplan-callback",
                                                  .table = &sender_setting_table,
                                                  .usage_head = usage_head,
                                                  .usage_tail = usage_tail,
                                                  .fixed = is_fixed,
                                                  .check = sender_settings_check};

struct running {
    struct sender *sender;
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
            sender_stop (self->sender);
        }
}

static struct zplan_client *open_client (const struct sender_settings *settings,
                                         struct reason *reason)
{
    struct curve_cert cert = {0};
    const struct zplan_curve curve = {.server_key = settings->server_key,
                                      .public_key = cert.keys.public_key,
                                      .secret_key = cert.keys.secret_key};
    if (settings->key[0] && curve_cert_load (settings->key, CURVE_SECRET, &cert, reason))
        return NULL;
    struct zplan_client *client = settings->key[0]
                                      ? zplan_client_new_curve (settings->connect, &curve)
                                      : zplan_client_new (settings->connect);
    if (!client)
        reason_set (reason, "connect: %s: %s", quoted (span_text (settings->connect)),
                    errno == EINVAL ? "want endpoints as tcp://HOST:7920, and a valid server_key"
                                    : strerror (errno));
    explicit_bzero (&cert, sizeof cert);
    return client;
}

static int run (struct sender_settings *settings, struct reason *reason)
{
    enum log_level level;
    enum log_format format;
    struct running self = {.signal_fd = process_prepare ()};
    log_level_parse (settings->log_level, &level);
    log_format_parse (settings->log_format, &format);
    log_start ("zplan-callback", level);
    log_use (format);
    process_confine ();
    notify_start ();
    struct reactor *reactor = reactor_new ();
    struct zplan_client *client = reactor ? open_client (settings, reason) : NULL;
    self.sender = client ? sender_new (reactor, settings, client) : NULL;
    if (client && !self.sender)
        reason_set (reason, "libcurl cannot be started");
    struct source signals = {.call = on_signal, .owner = &self};
    if (self.sender) {
        source_set (&signals, reactor, self.signal_fd, EPOLLIN);
        notify_ready ();
        reactor_run (reactor);
        source_end (&signals);
    }
    int code = self.sender ? EXIT_STOPPED : EXIT_NOT_STARTED;
    sender_destroy (&self.sender);
    reactor_destroy (&reactor);
    close (self.signal_fd);
    return code;
}

int main (int argc, char **argv)
{
    static struct sender_settings settings;
    struct reason reason = {""};
    int code = EXIT_STOPPED;
    process_reset_signals (HANGUP_RESET);
    enum configured configured = configure (&program, argc, argv, &settings, &reason);
    if (configured == CONFIGURED)
        code = run (&settings, &reason);
    else if (configured != CONFIGURED_DONE)
        code = EXIT_USAGE;
    if (code)
        fprintf (stderr, "zplan-callback: %s\n", reason.text);
    if (configured == CONFIGURED_USAGE)
        fputs ("Try 'zplan-callback --help'.\n", stderr);
    return code;
}
