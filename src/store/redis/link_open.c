// Opens the link: AUTH, SELECT, the schema, INFO, CONFIG GET, the scripts; only then is it up. Also
// the periodic checks whether it may stay up.
#include <stdlib.h>

#include "clock.h"
#include "link_private.h"
#include "redis_info.h"
#include "redis_keys.h"

enum {
    CHECK_US = 5000000,
    SENTINEL_US = 1000000 // interval at which the sentinels are asked for the master
};

// Reject this Redis: it is up, but must not hold plans.
static void refuse_redis (struct link *self, const char *why)
{
    self->refused = true;
    link_mark_broken (self, why);
    link_set_state (self, LINK_REFUSED);
}

// Permanent errors: a wrong password, or a missing permission.
static const char *const permanent_errors[] = {"NOAUTH", "WRONGPASS", "NOPERM", NULL};

static void on_setup_reply (redisAsyncContext *context, void *data, void *arg)
{
    const redisReply *reply = data;
    (void)context;
    if (!reply || reply->type != REDIS_REPLY_ERROR)
        return;
    if (link_error_is (reply, permanent_errors))
        refuse_redis (arg, reply->str);
    else
        link_mark_broken (arg, reply->str);
}

void link_load_script (struct link *self, enum script script)
{
    connection_send (self->connection, on_setup_reply, self, "SCRIPT LOAD %s",
                     script_texts[script].text);
}

// Reject a Redis whose plans have a schema that this version does not know.
static void on_schema_read (redisAsyncContext *context, void *data, void *arg)
{
    struct reason reason;
    const redisReply *reply = data;
    // A plan:meta of a wrong type is no error here: the store replaces it later.
    if (reply && reply->type == REDIS_REPLY_ERROR && !link_is_wrong_type (reply))
        on_setup_reply (context, data, arg);
    if (!reply || reply->type != REDIS_REPLY_STRING)
        return;
    struct link *self = arg;
    const int *schemas = self->config.schemas;
    long schema = strtol (reply->str, NULL, 10);
    if (schema == schemas[0] || schema == schemas[1])
        return;
    reason_set (&reason, "holds plans of another version of zplan (plan:meta schema %s, not %d)",
                quoted (span_of (reply->str, reply->len)), schemas[0]);
    refuse_redis (arg, reason.text);
}

// Check INFO, and keep the facts from it.
static void on_info_read (redisAsyncContext *context, void *data, void *arg)
{
    struct link *self = arg;
    const redisReply *reply = data;
    struct reason reason;
    (void)context;
    if (!reply || reply->type == REDIS_REPLY_ERROR) {
        on_setup_reply (context, data, arg);
        return;
    }
    if (reply->type != REDIS_REPLY_STRING) {
        link_mark_broken (self, "does not answer like Redis");
        return;
    }
    struct span info = span_of (reply->str, reply->len);
    redis_info_read (info, &self->facts.redis);
    enum info_verdict verdict =
        redis_info_check (info, self->config.accept_loss ? LOSS_ACCEPTED : LOSS_REFUSED, &reason);
    if (verdict == INFO_REFUSED)
        refuse_redis (self, reason.text);
    else if (verdict == INFO_NOT_NOW)
        link_mark_broken (self, reason.text);
}

// Compare Redis' clock with this machine's, assuming that it was read in the middle of the round
// trip.
static void on_time_read (redisAsyncContext *context, void *data, void *arg)
{
    struct link *self = arg;
    int64_t redis_us = link_time_us (data);
    (void)context;
    self->facts.clock_known = redis_us != 0;
    if (!redis_us)
        return;
    int64_t half_us = (clock_mono_us () - self->time_asked_us) / 2;
    self->facts.clock_ahead_ms = (redis_us + half_us - clock_wall_us ()) / 1000;
    self->io.time (self->io.owner, self->time_asked_us, redis_us);
}

// Process appendfsync, which determines how safe acknowledged data are. It is unknown if this user
// may not use CONFIG.
static void on_appendfsync (redisAsyncContext *context, void *data, void *arg)
{
    struct link *self = arg;
    const redisReply *reply = data;
    struct reason reason;
    (void)context;
    if (!reply)
        return;
    bool known = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
    snprintf (self->fsync, sizeof self->fsync, "%s",
              !self->facts.redis.keeps_file ? "none"
              : known                       ? reply->element[1]->str
                                            : "unknown");
    if (self->config.durable && strcmp (self->fsync, "always") != 0) {
        reason_set (&reason,
                    "appendfsync is %s, but durable requires always: an acknowledged plan "
                    "could be lost",
                    self->fsync);
        refuse_redis (self, reason.text);
    }
}

// Check whether Redis may hold plans, and in which schema; on connecting, and periodically.
void link_check_redis (struct link *self)
{
    connection_send (self->connection, on_schema_read, self, "HGET " KEY_META " schema");
    connection_send (self->connection, on_info_read, self, "INFO");
    connection_send (self->connection, on_appendfsync, self, "CONFIG GET appendfsync");
    self->time_asked_us = clock_mono_us ();
    connection_send (self->connection, on_time_read, self, "TIME");
    self->check_us = clock_mono_us () + CHECK_US;
}

static void on_scripts_loaded (redisAsyncContext *context, void *data, void *arg)
{
    struct link *self = arg;
    const redisReply *reply = data;
    if (!reply || reply->type == REDIS_REPLY_ERROR || self->broken) {
        on_setup_reply (context, data, arg);
        return;
    }
    link_set_up (self);
}

// Send all commands that a new connection needs. The link is up when the last one is answered.
static void send_setup (struct link *self)
{
    const struct link_config *config = &self->config;
    connection_log_in (self->connection, config->user, config->password, config->db, on_setup_reply,
                       self);
    link_check_redis (self);
    for (int script = 0; script < SCRIPTS; script++)
        link_load_script (self, (enum script)script);
    connection_send (self->connection, on_scripts_loaded, self, "PING");
}

// Connect to this address, and send the setup.
static void open_connection_to (struct link *self, const struct address *address)
{
    struct reason reason;
    if (connection_open (self->connection, address, &reason)) {
        link_mark_broken (self, reason.text);
        link_close_and_retry (self);
        return;
    }
    self->opened_us = clock_mono_us ();
    send_setup (self);
    link_check_connection (self);
}

void link_on_master (void *owner, const struct address *master, const char *reason)
{
    struct link *self = owner;
    struct reason why;
    self->sentinel_us = clock_mono_us () + SENTINEL_US;
    bool same = master && strcmp (master->host, self->master.host) == 0 &&
                master->port == self->master.port;
    if (master)
        self->master = *master;
    if (self->connection->context) {
        // While the link is connected, sentinels that do not answer change nothing.
        if (master && !same)
            link_mark_broken (self, "the sentinels name another master");
        link_check_connection (self);
    } else if (master) {
        open_connection_to (self, &self->master);
    } else {
        reason_set (&why, "the sentinels name no master: %s", reason);
        link_mark_broken (self, why.text);
        link_close_and_retry (self);
    }
}

void link_open (struct link *self)
{
    self->refused = false;
    self->opened_us = 0;
    if (self->state != LINK_REFUSED)
        link_set_state (self, LINK_OPENING);
    if (self->sentinel)
        sentinel_ask (self->sentinel);
    else
        open_connection_to (self, &self->config.address);
}
