#include "settings_table.h"

#include "log.h"

// A name that is there already is overridden: the command line wins over the file.
static int add_station (void *values, const char *text, struct reason *reason)
{
    struct station_settings *self = values;
    struct target_settings target = {.origin = ORIGIN_SETTINGS};
    size_t at = 0;
    if (target_settings_parse (text, &target, reason))
        return -1;
    while (at < self->target_count && strcmp (self->targets[at].name, target.name) != 0)
        at++;
    if (at == TARGETS_MAX) {
        reason_set (reason, "stations: at most %d", TARGETS_MAX);
        return -1;
    }
    self->targets[at] = target;
    self->target_count += at == self->target_count;
    return 0;
}

static int set_center (void *values, const char *text, struct reason *reason)
{
    struct station_settings *self = values;
    return center_settings_parse (text, &self->center, reason);
}

#define FIELD(name) offsetof (struct station_settings, name)

static const struct setting rows[] = {
    {"request", "--request", "ENDPOINT", "tcp://127.0.0.1:7920", SETTING_TEXT, FIELD (request), 0,
     0, NULL, "where clients send plans and targets send results"},
    {"publish", "--publish", "ENDPOINT", "tcp://127.0.0.1:7921", SETTING_TEXT, FIELD (publish), 0,
     0, NULL, "where results are broadcast"},
    {"events", "--events", "ENDPOINT", "tcp://127.0.0.1:7922", SETTING_TEXT, FIELD (events), 0, 0,
     NULL, "where events are broadcast"},
    {"redis_addr", "--redis", "ADDR", "embedded", SETTING_TEXT, FIELD (redis_addr), 0, 0, NULL,
     "embedded, HOST:PORT[:PASSWORD] or unix:PATH"},
    {"redis_defdb", "--redis-db", "N", "0", SETTING_NUMBER, FIELD (redis_defdb), 0, 1023, NULL,
     "the Redis database that holds the plans"},
    {"accept_loss", "--accept-loss", NULL, "0", SETTING_FLAG, FIELD (accept_loss), 0, 0, NULL,
     "take a Redis that may lose or evict plans"},
    {"data", "--data", "DIR", "", SETTING_TEXT, FIELD (data), 0, 0, NULL,
     "the folder of the embedded Redis [$XDG_STATE_HOME/zplan]"},
    {"stations", "--station", "NAME=TYPE@ENDPOINT", NULL, SETTING_LIST, 0, 0, 0, add_station,
     "a target station; TYPE is api, pub or vote; may end with\n"
     "                              ,dialect=microzero,mailbox=identity,key=TEXT; repeatable"},
    {"center", "--center", "ENDPOINT", NULL, SETTING_OWN, 0, 0, 0, set_center,
     "a MicroZero center whose stations become targets; may end with ,key=TEXT"},
    {"history_count", "--history-count", "N", "100000", SETTING_NUMBER, FIELD (history_count), 0,
     100000000, NULL, "outcomes of runs that are kept; 0 = none"},
    {"history_age", "--history-age", "SECONDS", "2592000", SETTING_NUMBER, FIELD (history_age_s), 1,
     3153600000, NULL, "how long they are kept"},
    {"plan_exec_timeout", "--exec-timeout", "SECONDS", "300", SETTING_NUMBER,
     FIELD (exec_timeout_s), 1, 31536000, NULL,
     "a run without a sign of life is sent again after this"},
    {"plan_send_timeout", "--send-timeout", "MS", "3000", SETTING_NUMBER, FIELD (send_timeout_ms),
     10, 3600000, NULL, "a target that gives no status within this has failed"},
    {"dialect", "--dialect", "NAME", "zeronet", SETTING_TEXT, FIELD (dialect), 0, 0, NULL,
     "the numbers of the request and publish sockets: zeronet or microzero"},
    {"timezone", "--timezone", "NAME", "UTC", SETTING_TEXT, FIELD (timezone), 0, 0, NULL,
     "the zone that times of day are read in"},
    {"log_level", "--log-level", "LEVEL", "info", SETTING_TEXT, FIELD (log_level), 0, 0, NULL,
     "error, warn, info or debug"},
};

const struct setting_table station_setting_table = {rows, sizeof rows / sizeof *rows};

int station_settings_check (const struct station_settings *self, struct reason *reason)
{
    enum log_level level;
    enum dialect dialect;
    if (!dialect_parse (self->dialect, &dialect)) {
        reason_set (reason, "dialect: want zeronet or microzero, got %s",
                    quoted (span_text (self->dialect)));
        return -1;
    }
    if (!log_level_parse (self->log_level, &level)) {
        reason_set (reason, "log_level: want error, warn, info or debug, got %s",
                    quoted (span_text (self->log_level)));
        return -1;
    }
    return 0;
}
