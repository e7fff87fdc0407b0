#include "sender_settings.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon.h"
#include "log.h"
#include "station_name.h"
#include "workers_rule.h"

// The value without the name that it has in the file: "office = 10.0.0.0/8" below `allow`.
static const char *value_after_equals (const char *text)
{
    const char *equals = strchr (text, '=');
    return equals ? equals + 1 : text;
}

typedef int networks_add_fn (struct networks *self, const char *text, struct reason *reason);

// Add a value of the setting `name` to its networks. 0, or -1 with the reason.
static int add_network (networks_add_fn *add, struct networks *networks, const char *name,
                        const char *text, struct reason *reason)
{
    struct reason why;
    return add (networks, value_after_equals (text), &why)
               ? reason_set (reason, "%s: %s", name, why.text)
               : 0;
}

// Add a value of `allow`: HOST:PORT, as in a URL, or without a port an address or a network. 0, or
// -1 with the reason.
static int add_allowed_place (void *values, const char *text, struct reason *reason)
{
    struct sender_settings *self = values;
    struct callback_url url;
    struct reason why;
    char as_url[SETTING_TEXT_MAX + 16];
    const char *value = value_after_equals (text);
    const char *colon = strrchr (value, ':');
    bool one_colon =
        colon && (strchr (value, ':') == colon || (value[0] == '[' && colon[-1] == ']'));
    if (!one_colon)
        return add_network (networks_add, &self->rules.allow, "allow", text, reason);
    snprintf (as_url, sizeof as_url, "http://%s", value);
    if (callback_url_read (span_text (as_url), &url, &why))
        return reason_set (reason, "allow: %s", why.text);
    if (self->port_count == PORTS_MAX)
        return reason_set (reason, "allow: want at most %d of HOST:PORT", PORTS_MAX);
    snprintf (self->ports[self->port_count++], sizeof *self->ports, "%s:%d", url.host, url.port);
    return 0;
}

static int add_denied_network (void *values, const char *text, struct reason *reason)
{
    struct sender_settings *self = values;
    return add_network (networks_add, &self->rules.deny, "deny", text, reason);
}

static int add_nat64_prefix (void *values, const char *text, struct reason *reason)
{
    struct sender_settings *self = values;
    return add_network (networks_add_nat64, &self->rules.nat64, "nat64", text, reason);
}

#define FIELD(name) offsetof (struct sender_settings, name)

static const struct setting rows[] = {
    {"connect", "--connect", "ENDPOINTS", "tcp://127.0.0.1:7920", SETTING_TEXT, FIELD (connect), 0,
     0, NULL,
     "request sockets of the stations on one database, with commas\n"
     "                              between them"},
    {"key", "--key", "FILE", "", SETTING_TEXT, FIELD (key), 0, 0, NULL,
     "own CURVE certificate (NAME.key_secret); it needs the role result"},
    {"server_key", "--server-key", "KEY", "", SETTING_TEXT, FIELD (server_key), 0, 0, NULL,
     "the station's public key"},
    {"target", "--target", "NAME", "callbacks", SETTING_TEXT, FIELD (target), 0, 0, NULL,
     "pull target whose plans are callbacks"},
    {"name", "--name", "NAME", "", SETTING_TEXT, FIELD (name), 0, 0, NULL,
     "own name at the station; empty: the station gives one. Each\n"
     "                              sender needs one of its own"},
    {"in_flight", "--in-flight", "N", "256", SETTING_NUMBER, FIELD (in_flight), 1, 256, NULL,
     "callbacks at a time; of one target at most a quarter, of one\n"
     "                              host 8"},
    {"secrets", "--secrets", "FOLDER", "", SETTING_TEXT, FIELD (secrets), 0, 0, NULL,
     "files with the secrets that plans name"},
    {"receivers", "--receivers", "FOLDER", "", SETTING_TEXT, FIELD (receivers), 0, 0, NULL,
     "files with the URLs that plans name as @NAME"},
    {"only_named", "--only-named", NULL, "0", SETTING_FLAG, FIELD (only_named), 0, 0, NULL,
     "send to receivers of that folder only"},
    {"allow", "--allow", "NETWORK", NULL, SETTING_LIST, 0, 0, 0, add_allowed_place,
     "also connect to this network (10.0.0.0/8); or HOST:PORT:\n"
     "                              to this port; repeatable"},
    {"deny", "--deny", "NETWORK", NULL, SETTING_LIST, 0, 0, 0, add_denied_network,
     "never connect to this network; repeatable"},
    {"nat64", "--nat64", "PREFIX", NULL, SETTING_LIST, 0, 0, 0, add_nat64_prefix,
     "the network's prefix of NAT64 besides 64:ff9b::/96; repeatable"},
    {"allow_http", "--allow-http", NULL, "0", SETTING_FLAG, FIELD (allow_http), 0, 0, NULL,
     "also send to http://, at the ports 80 and 8080"},
    {"keep_answers", "--keep-answers", NULL, "0", SETTING_FLAG, FIELD (keep_answers), 0, 0, NULL,
     "keep the begin of answers from networks of --allow as well"},
    {"ca_file", "--ca-file", "FILE", "", SETTING_TEXT, FIELD (ca_file), 0, 0, NULL,
     "certificates of the authorities to trust; empty: the system's"},
    {"log_level", "--log-level", "LEVEL", "info", SETTING_TEXT, FIELD (log_level), 0, 0, NULL,
     "error, warn, info or debug"},
    {"log_format", "--log-format", "FORMAT", "logfmt", SETTING_TEXT, FIELD (log_format), 0, 0, NULL,
     "logfmt, or json: one object per line"},
};

static const struct setting_topic topics[] = {
    {"connect", "Station"}, {"secrets", "Receivers"}, {"allow", "Networks"}, {"log_level", "Log"}};

const struct setting_table sender_setting_table = {rows, sizeof rows / sizeof *rows, topics,
                                                   sizeof topics / sizeof *topics};

// Whether the folder or file that a setting names can be used. Also true for "", which names
// nothing. False: with a reason.
static bool is_path_usable (const char *setting, const char *path, bool folder,
                            struct reason *reason)
{
    char within[SETTING_TEXT_MAX + 3]; // "/." fails unless it is a folder
    snprintf (within, sizeof within, "%s%s", path, folder ? "/." : "");
    if (!path[0] || access (within, folder ? X_OK : R_OK) == 0)
        return true;
    reason_set (reason, "%s: %s: %s", setting, quoted (span_text (path)), strerror (errno));
    return false;
}

int sender_settings_check (const void *values, struct reason *reason)
{
    const struct sender_settings *self = values;
    const struct daemon_station station = {self->connect, self->server_key, self->key};
    if (!log_level_known (self->log_level))
        reason_set (reason, "log_level: want error, warn, info or debug");
    else if (!log_format_known (self->log_format))
        reason_set (reason, "log_format: want logfmt or json");
    else if (!self->key[0] != !self->server_key[0])
        reason_set (reason, "key and server_key go together");
    else if (self->only_named && !self->receivers[0])
        reason_set (reason, "only_named: needs receivers");
    else if (!station_name_valid (span_text (self->target)))
        reason_set (reason, "target: want 1..64 of A-Z a-z 0-9 _ . -");
    else if (self->name[0] && !worker_name_valid (span_text (self->name)))
        reason_set (reason, "name: want 1..64 of A-Z a-z 0-9 _ . : @ -");
    else if (is_path_usable ("secrets", self->secrets, true, reason) &&
             is_path_usable ("receivers", self->receivers, true, reason) &&
             is_path_usable ("ca_file", self->ca_file, false, reason))
        return daemon_check (&station, "connect", reason);
    return -1;
}

int sender_url_check (const struct sender_settings *self, const struct callback_url *url,
                      struct reason *reason)
{
    char place[sizeof *self->ports];
    if (!url->https && !self->allow_http)
        return reason_set (reason, "url: http is not allowed");
    if (url->https ? url->port == 443 || url->port == 8443 : url->port == 80 || url->port == 8080)
        return 0;
    snprintf (place, sizeof place, "%s:%d", url->host, url->port);
    for (size_t i = 0; i < self->port_count; i++)
        if (strcmp (self->ports[i], place) == 0)
            return 0;
    return reason_set (reason, "url: port %d is not allowed", url->port);
}
