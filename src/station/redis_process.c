#include "redis_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "memory.h"

static void schedule_respawn (struct station *self)
{
    self->redis_ended = true;
    self->respawn_us = clock_mono_us () + self->respawn_delay_us;
    self->respawn_delay_us = self->respawn_delay_us * 2 < REDIS_RESPAWN_LAST_US
                                 ? self->respawn_delay_us * 2
                                 : REDIS_RESPAWN_LAST_US;
}

void redis_process_respawn (struct station *self)
{
    struct reason reason;
    self->redis_ended = false;
    if (embedded_start (self->embedded, &reason)) {
        log_event (LEVEL_ERROR, "redis.start_failed", "reason=\"%s\"", reason.text);
        schedule_respawn (self);
    }
}

void redis_process_ended (struct station *self)
{
    struct reason reason;
    if (!self->embedded || !embedded_ended (self->embedded, &reason))
        return;
    bool starting = self->phase == PHASE_STARTING;
    enum data_state data =
        embedded_repair (self->embedded, starting && self->settings->repair, &reason);
    if (data == DATA_CUT) {
        redis_process_respawn (self);
    } else if (starting) {
        self->fault = data == DATA_DAMAGED ? STATION_FAULT_DATA : STATION_FAULT_NOW;
        station_fail (self, reason.text);
    } else {
        if (embedded_disk_full (self->embedded, &self->redis_trouble))
            reason = self->redis_trouble;
        log_event (LEVEL_ERROR, "redis.ended", "reason=\"%s\"", reason.text);
        schedule_respawn (self);
    }
}

void redis_process_watch_disk (struct station *self)
{
    struct reason reason;
    if (self->redis_trouble.text[0] && station_store_up (self) &&
        !embedded_disk_full (self->embedded, &reason))
        self->redis_trouble.text[0] = '\0';
}

// -- which Redis, for the start

const char *redis_data_folder (const struct station_settings *settings, char out[DATA_FOLDER_MAX])
{
    const char *state = getenv ("XDG_STATE_HOME");
    const char *home = getenv ("HOME");
    if (settings->data[0])
        return settings->data;
    if (state && state[0] == '/')
        snprintf (out, DATA_FOLDER_MAX, "%s/zplan", state);
    else
        snprintf (out, DATA_FOLDER_MAX, "%s/.local/state/zplan", home && *home ? home : "");
    return out;
}

// -- the password and the user of Redis: from a file that nobody else can read, or from the
// environment; never from the command line, where everybody on the machine could see them

// Read the password: the first line of the file, which only its owner may read.
static int read_password_file (const char *path, char *out, size_t room, struct reason *reason)
{
    struct stat entry;
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat (fd, &entry)) {
        reason_set (reason, "redis_password_file: %s: %s", path, strerror (errno));
        if (fd >= 0)
            close (fd);
        return -1;
    }
    ssize_t size = S_ISREG (entry.st_mode) ? read (fd, out, room - 1) : -1;
    close (fd);
    if (entry.st_mode & 077)
        return reason_set (reason, "redis_password_file: %s can be read by others; chmod 600 it",
                           path);
    if (size < 0)
        return reason_set (reason, "redis_password_file: %s is not a file", path);
    out[size] = '\0';
    size_t length = strcspn (out, "\r\n");
    if (length == 0 || length == room - 1)
        return reason_set (reason, "redis_password_file: %s: want one line of 1..%zu bytes", path,
                           room - 2);
    out[length] = '\0';
    return 0;
}

static int copy_secret (const char *text, const char *name, char *out, size_t room,
                        struct reason *reason)
{
    size_t size = strlen (text);
    if (size >= room)
        return reason_set (reason, "%s: at most %zu bytes", name, room - 1);
    memcpy (out, text, size + 1);
    return 0;
}

// Read the password of redis_addr, else of redis_password_file, else of the environment; empty if
// none has one.
static int read_password (const struct station_settings *settings, const char *given,
                          struct link_config *ret, struct reason *reason)
{
    if (ret->address.password[0])
        given = ret->address.password;
    else if (settings->redis_password_file[0])
        return read_password_file (settings->redis_password_file, ret->password,
                                   sizeof ret->password, reason);
    return given ? copy_secret (given, "ZPLAN_REDIS_PASSWORD", ret->password, sizeof ret->password,
                                reason)
                 : 0;
}

// Copy the variable, then remove it, so that children do not inherit it, and overwrite it, as
// /proc/PID/environ shows the initial environment of the process.
static char *take_from_environment (const char *name)
{
    char *value = getenv (name);
    if (!value)
        return NULL;
    char *copy = memory_text (value);
    explicit_bzero (value, strlen (value));
    unsetenv (name);
    return copy;
}

// Fill in user and password: of redis_addr, else of redis_password_file, else of the environment
// (ZPLAN_REDIS_USER, ZPLAN_REDIS_PASSWORD), which are removed and overwritten there. 0, or -1 with
// a reason that holds no secret.
static int read_secrets (const struct station_settings *settings, struct link_config *ret,
                         struct reason *reason)
{
    // Kept because a fenced station is created again, as a standby.
    static struct {
        bool taken;
        char *user, *password;
    } environment;
    if (!environment.taken) {
        environment.taken = true;
        environment.user = take_from_environment ("ZPLAN_REDIS_USER");
        environment.password = take_from_environment ("ZPLAN_REDIS_PASSWORD");
    }
    if (ret->address.kind == ADDRESS_EMBEDDED) // it has neither
        return 0;
    const char *user = settings->redis_user[0] ? settings->redis_user : environment.user;
    if (user && copy_secret (user, "redis_user", ret->user, sizeof ret->user, reason))
        return -1;
    return read_password (settings, environment.password, ret, reason);
}

// -- the connection

int redis_config_read (const struct station_settings *settings, struct link_config *config,
                       struct reason *reason)
{
    char shown[300];
    *config = (struct link_config){.db = settings->redis_defdb,
                                   .accept_loss = settings->accept_loss,
                                   .durable = settings->durable,
                                   .replicas = settings->replicas,
                                   .replica_timeout_ms = settings->replica_timeout_ms,
                                   .window = settings->limits.requests};
    if (address_parse (settings->redis_addr, &config->address, reason) ||
        read_secrets (settings, config, reason))
        return -1;
    if (config->address.kind != ADDRESS_EMBEDDED)
        log_event (LEVEL_INFO, "redis.given", "address=%s", address_text (&config->address, shown));
    return 0;
}

int redis_config_embed (struct station *self, struct link_config *config, struct reason *reason)
{
    char folder[DATA_FOLDER_MAX];
    bool damaged;
    if (config->address.kind != ADDRESS_EMBEDDED)
        return 0;
    self->embedded =
        embedded_new (redis_data_folder (self->settings, folder), config->db + 1, &damaged, reason);
    if (!self->embedded) {
        self->fault = damaged ? STATION_FAULT_DATA : STATION_FAULT_NOW;
        return -1;
    }
    config->address.kind = ADDRESS_UNIX;
    snprintf (config->address.host, sizeof config->address.host, "%s",
              embedded_socket (self->embedded));
    return 0;
}
