#include "web_settings.h"

#include <stdio.h>

#include "web_listener.h"
#include "daemon.h"
#include "forwarded.h"
#include "log.h"
#include "socket.h"

#define FIELD(name) offsetof (struct web_settings, name)

static const struct setting rows[] = {
    {"listen", "--listen", "ADDRESS", "127.0.0.1:7924", SETTING_TEXT, FIELD (listen), 0, 0, NULL,
     "where to serve HTTP: ADDRESS:PORT, or unix:PATH for a proxy on\n"
     "                              this machine; port 0 takes a free one. Another address\n"
     "                              than loopback needs users, and tls_cert or behind_proxy"},
    {"root", "--root", "PATH", "/", SETTING_TEXT, FIELD (root), 0, 0, NULL,
     "prefix of all paths, as a proxy passes it"},
    {"host", "--host", "NAMES", "", SETTING_TEXT, FIELD (host), 0, 0, NULL,
     "names to be served besides localhost and addresses, with\n"
     "                              commas between them"},
    {"tls_cert", "--tls-cert", "FILE", "", SETTING_TEXT, FIELD (tls_cert), 0, 0, NULL,
     "serve HTTPS, TLS 1.2 and later: its certificate and those\n"
     "                              between it and the authority, PEM. Read again within\n"
     "                              15 seconds when it or the key changes"},
    {"tls_key", "--tls-key", "FILE", "", SETTING_TEXT, FIELD (tls_key), 0, 0, NULL,
     "the private key of tls_cert, PEM, with mode 0600 or 0640"},
    {"behind_proxy", "--behind-proxy", "ADDRESSES", "", SETTING_TEXT, FIELD (behind_proxy), 0, 0,
     NULL,
     "proxies in front of it that do TLS, as 10.0.0.5,10.1.0.0/16: who\n"
     "                              asks is the last of X-Forwarded-For that is none of them.\n"
     "                              That header of another peer counts on unix:PATH only"},
    {"connect", "--connect", "ENDPOINTS", "tcp://127.0.0.1:7920", SETTING_TEXT, FIELD (connect), 0,
     0, NULL,
     "request sockets of the stations on one database, with commas\n"
     "                              between them"},
    {"events", "--events", "ENDPOINTS", "tcp://127.0.0.1:7922", SETTING_TEXT, FIELD (events), 0, 0,
     NULL, "events sockets of the same stations"},
    {"server_key", "--server-key", "KEY", "", SETTING_TEXT, FIELD (server_key), 0, 0, NULL,
     "the station's public key"},
    {"key", "--key", "FILE", "", SETTING_TEXT, FIELD (key), 0, 0, NULL,
     "own CURVE certificate (NAME.key_secret): for its stream and\n"
     "                              metrics; without users for all requests"},
    {"users", "--users", "FOLDER", "", SETTING_TEXT, FIELD (users), 0, 0, NULL,
     "a file for each user ('zplan web user' makes them); empty:\n"
     "                              whoever reaches it may do what its key may"},
    {"audit", "--audit", "FILE", "", SETTING_TEXT, FIELD (audit), 0, 0, NULL,
     "log of what users changed, NDJSON; empty: .audit.ndjson in the\n"
     "                              folder of users"},
    {"readonly", "--readonly", NULL, "0", SETTING_FLAG, FIELD (readonly), 0, 0, NULL,
     "reject every request that changes something"},
    {"allow_targets", "--allow-targets", NULL, "0", SETTING_FLAG, FIELD (allow_targets), 0, 0, NULL,
     "users with the role manage may add targets, to which the station\n"
     "                              then connects, and remove them"},
    {"log_level", "--log-level", "LEVEL", "info", SETTING_TEXT, FIELD (log_level), 0, 0, NULL,
     "error, warn, info or debug"},
    {"log_format", "--log-format", "FORMAT", "logfmt", SETTING_TEXT, FIELD (log_format), 0, 0, NULL,
     "logfmt, or json: one object per line"},
};

static const struct setting_topic topics[] = {
    {"listen", "HTTP"}, {"connect", "Station"}, {"users", "Users"}, {"log_level", "Log"}};

const struct setting_table web_setting_table = {rows, sizeof rows / sizeof *rows, topics,
                                                sizeof topics / sizeof *topics};

int web_settings_check (const void *values, struct reason *reason)
{
    const struct web_settings *self = values;
    const struct daemon_station station = {self->connect, self->server_key, self->key};
    const struct daemon_station events = {self->events, self->server_key, self->key};
    struct reason why;
    char endpoint[SETTING_TEXT_MAX + 8];
    snprintf (endpoint, sizeof endpoint, "tcp://%s", self->listen);
    size_t root = strlen (self->root);
    if (!log_level_known (self->log_level))
        reason_set (reason, "log_level: want error, warn, info or debug");
    else if (!log_format_known (self->log_format))
        reason_set (reason, "log_format: want logfmt or json");
    else if (self->server_key[0] && !self->key[0])
        reason_set (reason, "server_key: needs key");
    else if (self->key[0] && !self->server_key[0])
        reason_set (reason, "key: needs server_key");
    else if (self->root[0] != '/' || (root > 1 && self->root[root - 1] == '/'))
        reason_set (reason, "root: want a path, as /zplan");
    else if (!self->tls_cert[0] != !self->tls_key[0])
        reason_set (reason,
                    self->tls_key[0] ? "tls_key: needs tls_cert" : "tls_cert: needs tls_key");
    else if (web_listener_check (self->listen, reason))
        return -1;
    else if (!web_listener_path (self->listen) && !endpoint_is_local (endpoint) &&
             !(self->users[0] && (self->tls_cert[0] || self->behind_proxy[0])))
        reason_set (reason, "listen: %s is not loopback: needs users, and tls_cert or behind_proxy",
                    quoted (span_text (self->listen)));
    else if (forwarded_check (self->behind_proxy, &why))
        reason_set (reason, "behind_proxy: %s", why.text);
    else if (self->audit[0] && !self->users[0])
        reason_set (reason, "audit: needs users");
    else if (daemon_check (&station, "connect", reason) == 0)
        return daemon_check (&events, "events", reason);
    return -1;
}
